// Which sets of keys fit together, and what the refusal names.
#include <gtest/gtest.h>

#include <string>

#include <bloomery/key_rules.hpp>

namespace bloomery::detail {
namespace {

TEST(KeyRules, FormsJoinToMixedUnlessEqualOrNone) {
  using enum KeyForm;
  for (const KeyForm form : {none, text, u64, number, hash, mixed}) {
    EXPECT_EQ(joined(form, form), form);
    EXPECT_EQ(joined(form, none), form);
    EXPECT_EQ(joined(none, form), form);
    EXPECT_EQ(joined(mixed, form), mixed);
  }
  EXPECT_EQ(joined(text, u64), mixed);
  EXPECT_EQ(joined(hash, text), mixed);
}

// Written into files: red means that old files are read as something else.
TEST(KeyRules, GoldenNumbersOfFormsNeverChange) {
  const KeyForm forms[] = {KeyForm::none,   KeyForm::text, KeyForm::u64,
                           KeyForm::number, KeyForm::hash, KeyForm::mixed};
  const char* names[] = {"none", "text", "u64", "number", "hash", "mixed"};
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(static_cast<int>(forms[i]), i);
    EXPECT_EQ(name_of(forms[i]), names[i]);
  }
  EXPECT_EQ(name_of(static_cast<KeyForm>(99)), "unknown");
}

TEST(KeyRules, WhatDiffersIsNamed) {
  const Hasher plain;
  const KeyRules text{.form = KeyForm::text};
  const auto expect_named = [](const Result<void>& fits, const std::string& word) {
    ASSERT_FALSE(fits);
    EXPECT_EQ(fits.error().code, Code::mismatch);
    EXPECT_NE(fits.error().sentence.find(word), std::string::npos) << fits.error().sentence;
  };
  EXPECT_TRUE(keys_fit(plain, text, plain, text));
  EXPECT_TRUE(keys_fit(plain, text, plain, {}));
  EXPECT_TRUE(keys_fit(plain, {}, plain, text));
  expect_named(keys_fit(plain, text, Hasher(7), text), "seed 0 in one, 7");
  expect_named(keys_fit(plain, text, Hasher::hardened({1, 2}), text), "hardened");
  expect_named(keys_fit(Hasher::hardened({1, 3}), text, Hasher::hardened({1, 2}), text), "keys");
  expect_named(keys_fit(plain, text, plain, {.form = KeyForm::u64}), "u64");
  expect_named(keys_fit(plain, text, plain, {.form = KeyForm::text, .strip_cr = true}), "carriage");
  expect_named(keys_fit(plain, text, plain, {.form = KeyForm::text, .normalisation = "url/1"}),
               "url/1");
}

}  // namespace
}  // namespace bloomery::detail
