#include <tools/redis/cf/cuckoo_order.hpp>

#include <array>
#include <string>
#include <utility>

#include <bloomery/served/native/native_cuckoo.hpp>
#include <bloomery/served/redisbloom/compat_cuckoo.hpp>
#include <tools/redis/cf/cf_type.hpp>
#include <tools/redis/server/filter_type.hpp>
#include <tools/redis/server/replies.hpp>
#include <tools/redis/server/secret.hpp>
#include <tools/redis/server/words.hpp>

namespace bloomery::redis {
namespace {

constexpr const char* no_memory = "ERR Insufficient memory";
constexpr const char* not_made = "ERR Could not create filter";

struct Option {
  const char* word;
  long long CuckooOrder::*value;
  long long least;
  long long most;
  const char* unread;
  const char* outside;
};

const std::array options = {
    Option{"MAXITERATIONS", &CuckooOrder::max_iterations, 1, 65535, "Couldn't parse MAXITERATIONS",
           "MAXITERATIONS: value must be in the range [1, 65535]"},
    Option{"BUCKETSIZE", &CuckooOrder::bucket_size, 1, 255, "Couldn't parse BUCKETSIZE",
           "BUCKETSIZE: value must be in the range [1, 255]"},
    Option{"EXPANSION", &CuckooOrder::expansion, 0, most_expansion, "Couldn't parse EXPANSION",
           "EXPANSION: value must be in the range [0, 32768]"},
};

// A word with a value that RedisBloom does not have.
const char* read_own_word(std::string_view word, const Str* value, CuckooOrder& order) {
  if (same_word(word, "ERROR")) {
    double rate;
    if (api.string_to_double(value, &rate) != ok || !(rate > 0 && rate < 1)) {
      return "Bad error rate";
    }
    order.rate = rate;
  } else {
    return read_engine_or_secret(word, value, order);
  }
  return nullptr;
}

// -- making ---------------------------------------------------------------------------------------

CuckooBody* make_native(Ctx* ctx, OpenedKey& key, Str* name, CuckooOrder& order) {
  if (!order.hasher) order.hasher = fresh_hasher();
  if (!order.hasher) {
    api.reply_with_error(ctx, not_made);
    return nullptr;
  }
  const double rate = order.rate.value_or(settings.bf_rate);
  auto set = NativeCuckoo::make({.rate = rate,
                                 .capacity = static_cast<std::uint64_t>(order.capacity),
                                 .expansion = static_cast<std::uint32_t>(order.expansion),
                                 .bucket_size = static_cast<std::uint32_t>(order.bucket_size),
                                 .max_iterations = static_cast<std::uint32_t>(order.max_iterations),
                                 .hasher = *order.hasher,
                                 .memory_cap = native_cap_for(ctx)});
  if (!set) {
    const Error& error = set.error();
    const std::string sentence = std::string(not_made) + ": " + error.sentence;
    api.reply_with_error(ctx, error.code == Code::impossible ? sentence.c_str() : no_memory);
    return nullptr;
  }
  auto body = std::make_unique<NativeCuckoo>(std::move(*set));
  CuckooBody* const made = body.get();
  key.set(native_cuckoo_type(), std::move(body));
  const std::string digits = all_digits_of(rate);
  const std::string secret = secret_of(*order.hasher);
  api.replicate(ctx, "CF.RESERVE", "slclclclcccccc", name, order.capacity, "BUCKETSIZE",
                order.bucket_size, "MAXITERATIONS", order.max_iterations, "EXPANSION",
                order.expansion, "ERROR", digits.c_str(), "ENGINE", "native", "SECRET",
                secret.c_str());
  return made;
}

CuckooBody* make_compat(Ctx* ctx, OpenedKey& key, Str* name, const CuckooOrder& order) {
  auto cuckoo =
      CompatCuckoo::make({.capacity = static_cast<std::uint64_t>(order.capacity),
                          .bucket_size = static_cast<std::uint16_t>(order.bucket_size),
                          .max_iterations = static_cast<std::uint16_t>(order.max_iterations),
                          .expansion = static_cast<std::uint16_t>(order.expansion),
                          .cap_bytes = cap_for(ctx)});
  if (!cuckoo) {
    api.reply_with_error(ctx, cuckoo.error().code == Code::no_memory ? no_memory : not_made);
    return nullptr;
  }
  CuckooBody* const made = cuckoo->get();
  key.set(compat_cuckoo_type(), std::move(*cuckoo));
  replicate_first_piece(ctx, "CF.LOADCHUNK", name, *made);
  return made;
}

}  // namespace

const char* read_reserve(Str** argv, int argc, CuckooOrder& order) {
  if (api.string_to_long_long(argv[2], &order.capacity) != ok) return "Bad capacity";
  for (int n = 3; n < argc; n += 2) {
    const Option* known = nullptr;
    for (const Option& option : options) {
      if (same_word(text_of(argv[n]), option.word)) known = &option;
    }
    if (known == nullptr) {
      if (const char* why = read_own_word(text_of(argv[n]), argv[n + 1], order)) return why;
      continue;
    }
    long long& value = order.*known->value;
    if (api.string_to_long_long(argv[n + 1], &value) != ok) return known->unread;
    if (value < known->least || value > known->most) return known->outside;
  }
  if (order.capacity < 2 * order.bucket_size || order.capacity > most_capacity) {
    return "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]";
  }
  if (order.engine == Engine::compat && (order.rate || order.hasher)) {
    return "ERR ERROR and SECRET need the native engine";
  }
  return nullptr;
}

const char* read_insert(Str** argv, int argc, CuckooInsert& insert) {
  CuckooOrder& order = insert.order;
  for (int n = 2; n < argc; ++n) {
    const std::string_view word = text_of(argv[n]);
    if (same_word(word, "ITEMS")) {
      if (n + 1 < argc) insert.first_item = n + 1;
      break;
    }
    if (same_word(word, "NOCREATE")) {
      insert.create = false;
    } else if (same_word(word, "CAPACITY")) {
      if (++n == argc || api.string_to_long_long(argv[n], &order.capacity) != ok) {
        return "Bad capacity";
      }
      if (order.capacity < 2 * order.bucket_size || order.capacity > most_capacity) {
        return "Capacity must be in the range [cf-bucket-size * 2, 1073741824]";
      }
    } else {
      return unknown_word;
    }
  }
  return nullptr;
}

CuckooBody* cuckoo_in(const OpenedKey& key) {
  return static_cast<CuckooBody*>(key.value_of(cf_types()));
}

CuckooBody* make_cuckoo(Ctx* ctx, OpenedKey& key, Str* name, CuckooOrder order) {
  return order.engine == Engine::native ? make_native(ctx, key, name, order)
                                        : make_compat(ctx, key, name, order);
}

const char* make_cuckoo_from(Ctx* ctx, OpenedKey& key, std::string_view piece) {
  constexpr const char* refused = "Couldn't create filter!";
  if (NativeCuckoo::is_first_chunk(piece)) {
    auto set = NativeCuckoo::load(piece, native_cap_for(ctx));
    if (!set) return refused;
    key.set(native_cuckoo_type(), std::make_unique<NativeCuckoo>(std::move(*set)));
    return nullptr;
  }
  if (!CompatCuckoo::is_header_length(piece.size())) return "Invalid header";
  auto cuckoo = CompatCuckoo::from_header(piece, cap_for(ctx));
  if (!cuckoo) return refused;
  key.set(compat_cuckoo_type(), std::move(*cuckoo));
  return nullptr;
}

}  // namespace bloomery::redis
