// What the commands of both families do alike, word for word: BF.* and CF.* differ in a Family.
//
//    struct Family {
//      using Order, Insert;                               // what RESERVE and INSERT ask for
//      static Body* in(const OpenedKey&);                 // null: missing, or of another type
//      static Body* make(Ctx*, OpenedKey&, Str*, Order);  // null: it has replied why
//      static int add(Ctx*, Str*, Order, const Adding&);  // makes, adds, replies, replicates
//    };
//
// Threads: the server runs commands one at a time; scratch is kept from one to the next.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include <tools/redis/server/api.hpp>
#include <tools/redis/server/opened_key.hpp>
#include <tools/redis/server/replies.hpp>
#include <tools/redis/server/words.hpp>

namespace bloomery::redis {

// For commands that make no filter and found none.
inline int reply_absent(Ctx* ctx, const OpenedKey& key) {
  return api.reply_with_error(ctx, key.missing() ? not_found : wrong_type);
}

// The command has changed the key: replicas and listeners hear of it.
inline void tell_change(Ctx* ctx, const char* event, Str* name) {
  api.replicate_verbatim(ctx);
  announce(ctx, event, name);
}

// Good until the next call.
inline std::span<const std::string_view> texts_of(std::span<Str* const> words) {
  static std::vector<std::string_view> texts;
  texts.clear();
  for (const Str* word : words) texts.push_back(text_of(word));
  return texts;
}

// -- making and adding ----------------------------------------------------------------------------

struct Adding {
  std::span<Str* const> words;
  const char* event;
  bool many = true;         // reply with an array
  bool only_fresh = false;  // not if it is there
};

template <class Family>
int reserve(Ctx* ctx, Str* name, const typename Family::Order& order, const char* event) {
  OpenedKey key(ctx, name, key_mode::read | key_mode::write);
  if (!key.missing()) {
    return api.reply_with_error(ctx, Family::in(key) != nullptr ? item_exists : wrong_type);
  }
  if (Family::make(ctx, key, name, order) == nullptr) return ok;
  announce(ctx, event, name);
  return api.reply_with_simple_string(ctx, "OK");
}

// The filter in the key, or one made there; nullptr when it has replied with an error.
template <class Family>
auto* found_or_made(Ctx* ctx, OpenedKey& key, Str* name, const typename Family::Order& order) {
  auto* body = Family::in(key);
  if (body != nullptr) return body;
  if (key.missing()) return Family::make(ctx, key, name, order);
  api.reply_with_error(ctx, wrong_type);
  return body;
}

// INSERT key [options] ITEMS words; `adding` lacks the words.
template <class Family>
int insert_words(Ctx* ctx, Str** argv, int argc, Adding adding) {
  if (argc < 4) return api.wrong_arity(ctx);
  typename Family::Insert insert;
  if (const char* why = read_insert(argv, argc, insert)) return api.reply_with_error(ctx, why);
  if (insert.first_item == 0) return api.wrong_arity(ctx);
  adding.words = {argv + insert.first_item, argv + argc};
  if (!insert.create) {
    OpenedKey key(ctx, argv[1], key_mode::read);
    if (key.missing()) return api.reply_with_error(ctx, not_found);
  }
  return Family::add(ctx, argv[1], insert.order, adding);
}

// -- asking ---------------------------------------------------------------------------------------

inline constexpr std::size_t asked_at_once = 256;

// A missing key and one of another type contain nothing, as in RedisBloom.
template <class Family>
void ask_words(Ctx* ctx, Str* name, std::span<Str* const> words) {
  static std::array<bool, asked_at_once> answers;
  OpenedKey key(ctx, name, key_mode::read);
  const auto* body = Family::in(key);
  while (!words.empty()) {
    const std::size_t count = std::min(words.size(), answers.size());
    if (body != nullptr) {
      body->may_contain_all(texts_of(words.first(count)), std::span(answers).first(count));
    } else {
      answers.fill(false);
    }
    for (std::size_t n = 0; n < count; ++n) api.reply_with_bool(ctx, answers[n]);
    words = words.subspan(count);
  }
}

template <class Family>
int exists(Ctx* ctx, Str** argv, int argc) {
  if (argc != 3) return api.wrong_arity(ctx);
  const OpenedKey key(ctx, argv[1], key_mode::read);
  const auto* const body = Family::in(key);
  bool answer = false;
  if (body != nullptr) {
    const std::string_view text = text_of(argv[2]);
    body->may_contain_all({&text, 1}, {&answer, 1});
  }
  return api.reply_with_bool(ctx, answer);
}

template <class Family>
int mexists(Ctx* ctx, Str** argv, int argc) {
  if (argc < 3) return api.wrong_arity(ctx);
  const std::span<Str* const> words{argv + 2, argv + argc};
  texts_of(words.first(std::min(words.size(), asked_at_once)));  // has memory before the reply
  api.reply_with_array(ctx, argc - 2);
  ask_words<Family>(ctx, argv[1], words);
  return ok;
}

}  // namespace bloomery::redis
