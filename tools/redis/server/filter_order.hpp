// What the orders of both command families share: INSERT, and the words that RedisBloom has not.
//
//    RESERVE ... [ENGINE native|compat] [SECRET digits]
#pragma once

#include <string>
#include <string_view>

#include <tools/redis/server/api.hpp>
#include <tools/redis/server/secret.hpp>
#include <tools/redis/server/settings.hpp>
#include <tools/redis/server/words.hpp>

namespace bloomery::redis {

inline constexpr const char* unknown_word = "Unknown argument received";

// What BF.INSERT or CF.INSERT asks for.
template <class Order>
struct InsertOf {
  Order order;
  bool create = true;
  int first_item = 0;  // stays 0 without items
};

// The reason why the word and its value are neither ENGINE nor SECRET, or nullptr.
template <class Order>
const char* read_engine_or_secret(std::string_view word, const Str* value, Order& order) {
  if (same_word(word, "ENGINE")) {
    const auto engine = engine_named(text_of(value));
    if (!engine) return "ERR engine must be native or compat";
    order.engine = *engine;
  } else if (same_word(word, "SECRET")) {
    order.hasher = hasher_from(text_of(value));
    if (!order.hasher) return "ERR secret must be 32 hex digits";
  } else {
    return unknown_word;
  }
  return nullptr;
}

// As many digits of a rate as bring the same number back.
std::string all_digits_of(double rate);

}  // namespace bloomery::redis
