#include <tools/redis/bf/bloom_order.hpp>

#include <string>
#include <utility>

#include <bloomery/served/native/native_bloom.hpp>
#include <bloomery/served/redisbloom/compat_bloom.hpp>
#include <tools/redis/bf/bf_type.hpp>
#include <tools/redis/server/filter_type.hpp>
#include <tools/redis/server/replies.hpp>
#include <tools/redis/server/secret.hpp>
#include <tools/redis/server/words.hpp>

namespace bloomery::redis {
namespace {

constexpr const char* no_memory = "ERR Insufficient memory to create filter";
constexpr const char* not_made = "ERR could not create filter";
constexpr const char* cannot_expand = "Nonscaling filters cannot expand";

struct Growth {
  bool forbidden = false;  // NONSCALING
  bool asked = false;      // EXPANSION other than 0
};

bool scales(const Growth& growth, const BloomOrder& order) {
  return !growth.forbidden && order.expansion != 0;
}

const char* read_expansion(const Str* word, BloomOrder& order) {
  if (api.string_to_long_long(word, &order.expansion) != ok) return "ERR bad expansion";
  if (order.expansion < 0 || order.expansion > most_expansion) {
    return "ERR expansion must be in the range [0, 32768]";
  }
  return nullptr;
}

// A word with a value that RedisBloom does not have.
const char* read_own_word(std::string_view word, Str* value, BloomOrder& order) {
  if (same_word(word, "WINDOW")) {
    if (api.string_to_long_long(value, &order.window) != ok || order.window < 1 ||
        order.window > most_capacity) {
      return "ERR window must be in the range [1, 1073741824]";
    }
  } else if (same_word(word, "LIKE")) {
    order.like = value;
  } else {
    return read_engine_or_secret(word, value, order);
  }
  return nullptr;
}

const char* check_own_words(const BloomOrder& order) {
  const bool native = order.engine == Engine::native;
  if (!native && (order.window != 0 || order.like != nullptr || order.hasher)) {
    return "ERR WINDOW, LIKE and SECRET need the native engine";
  }
  return nullptr;
}

// -- making ---------------------------------------------------------------------------------------

// The hasher of the filter that the new one is to be like; nullptr when it has replied.
const Hasher* hasher_like(Ctx* ctx, Str* name, Hasher& found) {
  OpenedKey key(ctx, name, key_mode::read);
  BloomBody* body = bloom_in(key);
  if (body == nullptr || body->native() == nullptr) {
    api.reply_with_error(ctx, key.missing()     ? not_found
                              : body == nullptr ? wrong_type
                                                : "ERR LIKE needs a filter of the native engine");
    return nullptr;
  }
  found = body->native()->hasher();
  return &found;
}

void replicate_native(Ctx* ctx, Str* name, const BloomOrder& order) {
  const std::string rate = all_digits_of(order.rate);
  const std::string capacity = std::to_string(order.capacity);
  const std::string secret = secret_of(*order.hasher);
  if (order.window == 0 && !order.scaling) {
    api.replicate(ctx, "BF.RESERVE", "sccccccc", name, rate.c_str(), capacity.c_str(), "NONSCALING",
                  "ENGINE", "native", "SECRET", secret.c_str());
    return;
  }
  const bool window = order.window != 0;
  const std::string number = std::to_string(window ? order.window : order.expansion);
  api.replicate(ctx, "BF.RESERVE", "scccccccc", name, rate.c_str(), capacity.c_str(),
                window ? "WINDOW" : "EXPANSION", number.c_str(), "ENGINE", "native", "SECRET",
                secret.c_str());
}

BloomBody* make_native(Ctx* ctx, OpenedKey& key, Str* name, BloomOrder& order) {
  Hasher shared;
  if (order.like != nullptr) {
    if (hasher_like(ctx, order.like, shared) == nullptr) return nullptr;
    order.hasher = shared;
  } else if (!order.hasher) {
    order.hasher = fresh_hasher();
    if (!order.hasher) {
      api.reply_with_error(ctx, not_made);
      return nullptr;
    }
  }
  // What does not grow has none, also where the settings are others.
  const bool grows = order.scaling && order.window == 0;
  const std::uint32_t expansion = grows ? static_cast<std::uint32_t>(order.expansion) : 0;
  const BloomWant want = {.rate = order.rate,
                          .capacity = static_cast<std::uint64_t>(order.capacity),
                          .expansion = expansion,
                          .nonscaling = !order.scaling && order.window == 0,
                          .window = static_cast<std::uint64_t>(order.window),
                          .hasher = *order.hasher,
                          .memory_cap = native_cap_for(ctx)};
  if (auto sound = check(want); !sound) {
    api.reply_with_error(ctx, (std::string(not_made) + ": " + sound.error().sentence).c_str());
    return nullptr;
  }
  auto set = NativeBloom::make(want);
  if (!set) {
    api.reply_with_error(ctx, no_memory);
    return nullptr;
  }
  auto body = std::make_unique<NativeBloom>(std::move(*set));
  BloomBody* const made = body.get();
  key.set(native_bloom_type(), std::move(body));
  replicate_native(ctx, name, order);
  return made;
}

BloomBody* make_compat(Ctx* ctx, OpenedKey& key, Str* name, const BloomOrder& order) {
  auto bloom = CompatBloom::make({.rate = order.rate,
                                  .capacity = static_cast<std::uint64_t>(order.capacity),
                                  .growth = static_cast<std::uint32_t>(order.expansion),
                                  .scaling = order.scaling,
                                  .cap_bytes = cap_for(ctx)});
  if (!bloom) {
    api.reply_with_error(ctx, bloom.error().code == Code::no_memory ? no_memory : not_made);
    return nullptr;
  }
  BloomBody* const made = bloom->get();
  key.set(compat_bloom_type(), std::move(*bloom));
  replicate_first_piece(ctx, "BF.LOADCHUNK", name, *made);
  return made;
}

}  // namespace

const char* read_reserve(Str** argv, int argc, BloomOrder& order) {
  if (api.string_to_double(argv[2], &order.rate) != ok) return "ERR bad error rate";
  if (!(order.rate > 0 && order.rate < 1)) {
    return "ERR error rate must be in the range (0.000000, 1.000000)";
  }
  if (api.string_to_long_long(argv[3], &order.capacity) != ok) return "ERR bad capacity";
  if (order.capacity < 1 || order.capacity > most_capacity) {
    return "ERR capacity must be in the range [1, 1073741824]";
  }
  Growth growth;
  for (int n = 4; n < argc; ++n) {
    const std::string_view word = text_of(argv[n]);
    const bool valued = n + 1 < argc;
    if (same_word(word, "NONSCALING")) {
      growth.forbidden = true;
    } else if (same_word(word, "EXPANSION")) {
      if (!valued) return "ERR no expansion";
      if (const char* why = read_expansion(argv[++n], order)) return why;
      growth.asked = order.expansion != 0;
    } else {
      if (!valued) return unknown_word;
      if (const char* why = read_own_word(word, argv[++n], order)) return why;
    }
  }
  if (growth.forbidden && growth.asked) return cannot_expand;
  order.scaling = scales(growth, order);
  return check_own_words(order);
}

const char* read_insert(Str** argv, int argc, BloomInsert& insert) {
  BloomOrder& order = insert.order;
  Growth growth;
  for (int n = 2; n < argc; ++n) {
    const std::string_view word = text_of(argv[n]);
    const bool valued = n + 1 < argc;
    if (same_word(word, "ITEMS")) {
      if (valued) insert.first_item = n + 1;
      break;
    }
    if (same_word(word, "NOCREATE")) {
      insert.create = false;
    } else if (same_word(word, "NONSCALING")) {
      growth.forbidden = true;
    } else if (same_word(word, "CAPACITY")) {
      if (!valued || api.string_to_long_long(argv[++n], &order.capacity) != ok ||
          order.capacity < 1 || order.capacity > most_capacity) {
        return "Bad capacity";
      }
    } else if (same_word(word, "ERROR")) {
      if (!valued || api.string_to_double(argv[++n], &order.rate) != ok ||
          !(order.rate > 0 && order.rate < 1)) {
        return "Bad error rate";
      }
    } else if (same_word(word, "EXPANSION")) {
      if (!valued || api.string_to_long_long(argv[++n], &order.expansion) != ok ||
          order.expansion < 0 || order.expansion > most_expansion) {
        return "Bad expansion";
      }
    } else {
      return unknown_word;
    }
  }
  // RedisBloom's BF.RESERVE refuses NONSCALING beside EXPANSION; its BF.INSERT takes both and makes
  // a filter that does not scale.
  order.scaling = scales(growth, order);
  return nullptr;
}

BloomBody* bloom_in(const OpenedKey& key) {
  return static_cast<BloomBody*>(key.value_of(bf_types()));
}

BloomBody* make_bloom(Ctx* ctx, OpenedKey& key, Str* name, BloomOrder order) {
  return order.engine == Engine::native ? make_native(ctx, key, name, order)
                                        : make_compat(ctx, key, name, order);
}

bool make_bloom_from(Ctx* ctx, OpenedKey& key, long long next, std::string_view piece) {
  if (NativeBloom::is_first_chunk(piece)) {
    auto set = NativeBloom::load(piece, native_cap_for(ctx));
    if (!set) return false;
    key.set(native_bloom_type(), std::make_unique<NativeBloom>(std::move(*set)));
    return true;
  }
  if (next != 1) return false;
  auto bloom = CompatBloom::from_header(piece, cap_for(ctx));
  if (!bloom) return false;
  key.set(compat_bloom_type(), std::move(*bloom));
  return true;
}

}  // namespace bloomery::redis
