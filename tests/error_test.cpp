#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <bloomery/error.hpp>

namespace bloomery::detail {
namespace {

Error full() { return {Code::full, "the set is full"}; }

// Not inlined: GCC 12 warns of the Error that a Result known to hold a value might destroy.
[[gnu::noinline]] Result<int> seven_if(bool good) {
  if (good) return 7;
  return full();
}

[[gnu::noinline]] Result<std::unique_ptr<int>> owned_seven_if(bool good) {
  if (good) return std::make_unique<int>(7);
  return full();
}

// What a function throws, if it throws at all.
template <class Use>
std::string thrown_by(Use&& use) {
  try {
    use();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "nothing";
}

TEST(Failure, CarriesTheCodeAndSaysTheSentence) {
  const Failure failure(full());
  EXPECT_EQ(failure.code, Code::full);
  EXPECT_STREQ(failure.what(), "the set is full");
  static_assert(std::is_base_of_v<std::runtime_error, Failure>);
}

TEST(Result, HoldsAValue) {
  Result<std::string> result(std::string("seen"));
  EXPECT_TRUE(result);
  EXPECT_TRUE(result.has_value());
  EXPECT_EQ(*result, "seen");
  EXPECT_EQ(result->size(), 4U);
  EXPECT_EQ(result.value(), "seen");
  *result += " before";
  EXPECT_EQ(std::as_const(result)->size(), 11U);
  EXPECT_EQ(*std::as_const(result), "seen before");
}

TEST(Result, HoldsAnError) {
  const Result<int> result = seven_if(false);
  EXPECT_FALSE(result);
  EXPECT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::full);
  EXPECT_EQ(result.error().sentence, "the set is full");
}

TEST(Result, ValueOfAnErrorThrowsIt) {
  Result<int> result = seven_if(false);
  EXPECT_EQ(thrown_by([&] { result.value(); }), "the set is full");
  EXPECT_EQ(thrown_by([] { seven_if(false).value(); }), "the set is full");
  EXPECT_EQ(thrown_by([] { EXPECT_EQ(seven_if(true).value(), 7); }), "nothing");
}

TEST(Result, GivesAwayValuesThatOnlyMove) {
  auto result = owned_seven_if(true);
  const std::unique_ptr<int> starred = *std::move(result);
  EXPECT_EQ(*starred, 7);
  const std::unique_ptr<int> valued = owned_seven_if(true).value();
  EXPECT_EQ(*valued, 7);
  EXPECT_EQ(thrown_by([] { owned_seven_if(false).value(); }), "the set is full");
}

TEST(Result, IsInert) {
  static_assert(std::is_nothrow_destructible_v<Result<void>>);
  static_assert(std::is_nothrow_destructible_v<Result<std::string>>);
  EXPECT_EQ(thrown_by([] { [[maybe_unused]] const auto dropped = seven_if(false); }), "nothing");
  EXPECT_EQ(thrown_by([] { [[maybe_unused]] const Result<void> dropped(full()); }), "nothing");
  EXPECT_EQ(thrown_by([] {
              Result<void> overwritten(full());
              overwritten = Result<void>();
              EXPECT_TRUE(overwritten);
            }),
            "nothing");
}

TEST(Result, IsCopiedWhereItsValueIs) {
  static_assert(std::is_copy_constructible_v<Result<std::string>>);
  static_assert(std::is_copy_assignable_v<Result<void>>);
  static_assert(std::is_nothrow_move_constructible_v<Result<void>>);
  static_assert(!std::is_copy_constructible_v<Result<std::unique_ptr<int>>>);
  static_assert(std::is_move_constructible_v<Result<std::unique_ptr<int>>>);
  const Result<void> refused(full());
  Result<void> copy = refused;
  EXPECT_EQ(copy.error().sentence, "the set is full");
  EXPECT_EQ(refused.error().sentence, "the set is full");
  copy = Result<void>();
  EXPECT_TRUE(copy);
  EXPECT_FALSE(refused);
}

TEST(ResultOfNothing, IsGoodByDefault) {
  const Result<void> result;
  EXPECT_TRUE(result);
  EXPECT_TRUE(result.has_value());
  result.value();
}

TEST(ResultOfNothing, HoldsAnErrorAndThrowsItWhenToldTo) {
  const Result<void> result(full());
  EXPECT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::full);
  EXPECT_EQ(thrown_by([&] { result.value(); }), "the set is full");
  EXPECT_EQ(thrown_by([] { Result<void>(full()).value(); }), "the set is full");
}

}  // namespace
}  // namespace bloomery::detail
