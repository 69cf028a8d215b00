#include <bloomery/detail/remote/redis_epochs.hpp>

#include <hiredis/hiredis.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <random>

#include <bloomery/redis/slots.hpp>

namespace bloomery::inline v0::detail {
namespace {

constexpr std::string_view format = "bloomery 1";
constexpr std::uint64_t shards_at_once = 4096;
// Filled shards are large: a megabyte at a time.
constexpr std::uint64_t filled_shards_at_once = 16;
// Clocks of servers may differ.
constexpr std::uint64_t clock_slack_ms = 5000;
// Other clients do not interfere this often by chance.
constexpr int most_tries = 1000;

std::uint64_t now_ms() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(
      duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Keys that were hashed for one of them fit the other.
bool spells_alike(const RedisLaw& one, const RedisLaw& other) {
  return one.hasher == other.hasher && one.strip_cr == other.strip_cr &&
         one.normalisation == other.normalisation;
}

// Eight random hexadecimal digits: an earlier set of this name had the same with a chance of one in
// four billion.
std::string new_born() {
  char digits[9] = "00000000";
  std::random_device device;
  char end[9];
  const char* const last = std::to_chars(end, end + 8, device() & 0xffffffffU, 16).ptr;
  std::copy(static_cast<const char*>(end), last, digits + 8 - (last - end));
  return {digits, 8};
}

std::string numbered(std::string_view name, std::uint64_t epoch) {
  return std::string(name) + ":" + std::to_string(epoch);
}

}  // namespace

RedisEpochs::RedisEpochs(RedisAddress address, RedisRouter router)
    : address_(std::move(address)),
      router_(std::move(router)),
      meta_key_(redis_meta_key(address_.name)),
      meta_slot_(slot_of(meta_key_)) {}

Error RedisEpochs::named(const Error& error) const {
  return {error.code, address_.shown() + ": " + error.sentence};
}

Result<void> RedisEpochs::run() {
  return router_.run(requests_, [](std::size_t, RedisReply&) {});
}

std::string_view RedisEpochs::Meta::field(std::string_view name, std::uint64_t epoch) const {
  const std::string wanted = epoch == 0 ? std::string(name) : numbered(name, epoch);
  for (const auto& [key, value] : fields)
    if (key == wanted) return value;
  return {};
}

Result<RedisEpochs> RedisEpochs::connect(const RedisAddress& address) {
  auto router = RedisRouter::connect(address);
  if (!router) return Error{router.error().code, address.shown() + ": " + router.error().sentence};
  return RedisEpochs(address, std::move(*router));
}

Result<RedisEpochs::Meta> RedisEpochs::read_meta() {
  requests_.clear();
  // From the master: a replica may not know the newest epoch.
  requests_.add(meta_slot_, Effect::writes, "HGETALL", meta_key_);
  const auto reply = router_.call(requests_);
  if (!reply && reply.error().sentence.find("WRONGTYPE") != std::string::npos)
    return Error{Code::not_ours, address_.shown() + " is not a Bloomery set: the key " + meta_key_ +
                                     " holds something else; choose another name"};
  if (!reply) return reply.error();
  if ((*reply)->type != REDIS_REPLY_ARRAY || (*reply)->elements % 2 != 0)
    return Error{Code::not_ours,
                 address_.shown_server() + " does not answer HGETALL as Redis does"};
  Meta meta;
  for (std::size_t i = 0; i + 1 < (*reply)->elements; i += 2) {
    const redisReply* key = (*reply)->element[i];
    const redisReply* value = (*reply)->element[i + 1];
    if (key->type != REDIS_REPLY_STRING || value->type != REDIS_REPLY_STRING) continue;
    meta.fields.emplace_back(std::string(key->str, key->len), std::string(value->str, value->len));
  }
  for (const auto& [key, value] : meta.fields) {
    // Clients of a dropped set may still write fields late.
    meta.there |= !key.starts_with("adds:") && !key.starts_with("form:");
    if (!key.starts_with("law:")) continue;
    const std::uint64_t epoch = number(std::string_view(key).substr(4));
    meta.epochs.push_back(epoch);
    meta.newest = std::max(meta.newest, epoch);
    if (!meta.field("ready", epoch).empty()) meta.current = std::max(meta.current, epoch);
  }
  if (meta.there && meta.field("format", 0) != format)
    return Error{Code::not_ours, address_.shown() +
                                     " is not a Bloomery set of this version: the hash " +
                                     meta_key_ + " says '" + std::string(meta.field("format", 0)) +
                                     "' where '" + std::string(format) + "' is expected"};
  return meta;
}

Result<void> RedisEpochs::adopt(const Meta& meta, std::uint64_t epoch, const SecretKey* key) {
  const auto law = decode_law(meta.field("law", epoch), key);
  if (!law) return named(law.error());
  if (epoch_ != 0 && !spells_alike(*law, law_))
    return Error{Code::mismatch, address_.shown() +
                                     " was replaced by a set that hashes or spells its keys "
                                     "differently; open it again"};
  if (key != nullptr) key_ = std::make_unique<SecretKey>(*key);
  law_ = *law;
  epoch_ = epoch;
  ++adoptions_;
  born_ = meta.field("born", 0);
  names_ = RedisNames(stem(), epoch, law_.shards());
  adds_ = number(meta.field("adds", epoch));
  untold_.keys = 0;
  form_ = KeyForm::none;
  for (const KeyForm one : {KeyForm::text, KeyForm::u64, KeyForm::hash})
    if (meta.field("form", epoch) == name_of(one)) form_ = one;
  return {};
}

Result<void> RedisEpochs::expect_no_eviction(bool expires) {
  RedisRequests one;
  one.add(0, Effect::reads, "INFO", "memory");
  auto checked =
      router_.on_masters(one.bytes(0), [&](const std::string& node, const redisReply& reply) {
        const std::string_view info =
            reply.type == REDIS_REPLY_STRING ? std::string_view(reply.str, reply.len) : "";
        const std::string_view policy = info_field(info, "maxmemory_policy");
        if (policy.starts_with("allkeys-") || (expires && policy.starts_with("volatile-")))
          return Result<void>(Error{
              Code::mismatch,
              "the server " + node + " evicts keys when memory is short (maxmemory-policy " +
                  std::string(policy) +
                  "), and a set that has lost a part would miss its keys; set it to noeviction"});
        return Result<void>();
      });
  if (!checked) return named(checked.error());
  return {};
}

// Checked before anything is made: a server without memory refuses all its clients.
Result<void> RedisEpochs::expect_room(const RedisLaw& law) {
  constexpr std::uint64_t beside_a_shard = 170;  // its name, its place, and what rounds it up
  RedisRequests one;
  one.add(0, Effect::reads, "INFO", "memory");
  const std::uint64_t masters = std::max<std::size_t>(1, router_.masters().size());
  const std::uint64_t wanted =
      (law.shape.blocks * line_bytes + law.shards() * beside_a_shard) / masters;
  auto checked =
      router_.on_masters(one.bytes(0), [&](const std::string& node, const redisReply& reply) {
        const std::string_view info =
            reply.type == REDIS_REPLY_STRING ? std::string_view(reply.str, reply.len) : "";
        const std::uint64_t used = number(info_field(info, "used_memory"));
        const std::uint64_t cap = number(info_field(info, "maxmemory"));
        const std::uint64_t most = cap > 0 ? cap : number(info_field(info, "total_system_memory"));
        if (most == 0 || (used < most && wanted <= most - used)) return Result<void>();
        return Result<void>(
            Error{Code::no_memory,
                  "the set takes " + std::to_string(wanted >> 20) + " MiB of the server " + node +
                      ", which has " + std::to_string((used < most ? most - used : 0) >> 20) +
                      " MiB left; plan it for fewer keys, at a higher rate, or on more servers"});
      });
  if (!checked) return named(checked.error());
  return {};
}

Result<bool> RedisEpochs::exists() {
  const auto meta = read_meta();
  if (!meta) return meta.error();
  return meta->current > 0;
}

Result<void> RedisEpochs::open(const SecretKey* key) {
  const auto meta = read_meta();
  if (!meta) return meta.error();
  if (!meta->there)
    return Error{Code::io, "the set " + address_.shown() + " does not exist; make it first"};
  if (meta->current == 0)
    return Error{
        Code::io,
        address_.shown() + " is being made, or making it was interrupted; wait, or make it again"};
  if (auto adopted = adopt(*meta, meta->current, key); !adopted) return adopted;
  return expect_no_eviction(law_.expires_at != 0);
}

RedisLaw RedisEpochs::timed(RedisLaw law) const {
  if (address_.rules.ttl.count() > 0)
    law.expires_at = now_ms() + static_cast<std::uint64_t>(address_.rules.ttl.count());
  return law;
}

// The client that claims the number of an epoch is the only one to have it.
Result<bool> RedisEpochs::claim(std::uint64_t epoch, const RedisLaw& law) {
  requests_.clear();
  requests_.add(meta_slot_, Effect::writes, "HSETNX", meta_key_, "format", format);
  requests_.add(meta_slot_, Effect::writes, "HSETNX", meta_key_, "born", new_born());
  requests_.add(meta_slot_, Effect::writes, "HSETNX", meta_key_, numbered("law", epoch),
                encode_law(law));
  bool claimed = false;
  bool repeated = false;
  auto done = router_.run(requests_, [&](std::size_t i, RedisReply& reply) {
    if (i == 2) claimed = reply->type == REDIS_REPLY_INTEGER && reply->integer == 1;
    repeated |= requests_[i].repeated;
  });
  if (!done) return done.error();
  if (!claimed && repeated) {
    // It may still be ours. Another client can have written the same text only for a reserve, where
    // it does not matter whose it is.
    const auto meta = read_meta();
    if (!meta) return meta.error();
    claimed = meta->field("law", epoch) == encode_law(law);
  }
  return claimed;
}

Result<void> RedisEpochs::make_shards(const RedisLaw& law, std::uint64_t epoch,
                                      std::span<const std::byte> payload) {
  RedisNames names(stem(), epoch, law.shards());
  const char seal = static_cast<char>(redis_seal);
  const std::uint64_t step = payload.empty() ? shards_at_once : filled_shards_at_once;
  std::string filled;
  for (std::uint64_t first = 0; first < law.shards(); first += step) {
    requests_.clear();
    for (std::uint64_t shard = first; shard < std::min(first + step, law.shards()); ++shard) {
      const unsigned slot = names.slot(shard);
      const std::string_view name = names.shard(shard);
      if (payload.empty()) {
        // May be repeated: bits that are there stay.
        requests_.add(slot, Effect::writes, "SETRANGE", name, law.bytes_of(shard) - 1,
                      std::string_view(&seal, 1));
      } else {
        const auto part = payload.subspan(shard * law.shard_blocks * line_bytes,
                                          law.blocks_of(shard) * line_bytes);
        filled.assign(reinterpret_cast<const char*>(part.data()), part.size());
        filled += seal;
        requests_.add(slot, Effect::writes, "SET", name, std::string_view(filled));
      }
      if (law.expires_at != 0)
        requests_.add(slot, Effect::writes, "PEXPIREAT", name, law.expires_at);
    }
    if (auto done = run(); !done) return done;
  }
  return {};
}

Result<void> RedisEpochs::publish(const RedisLaw& law, std::uint64_t epoch, std::uint64_t adds,
                                  KeyForm form) {
  requests_.clear();
  if (form != KeyForm::none)
    requests_.add(meta_slot_, Effect::writes, "HSETNX", meta_key_, numbered("form", epoch),
                  name_of(form));
  if (adds > 0)
    requests_.add(meta_slot_, Effect::writes, "HSET", meta_key_, numbered("adds", epoch), adds);
  requests_.add(meta_slot_, Effect::writes, "HSET", meta_key_, numbered("ready", epoch), "1");
  if (law.expires_at != 0)
    requests_.add(meta_slot_, Effect::writes, "PEXPIREAT", meta_key_, law.expires_at);
  else
    requests_.add(meta_slot_, Effect::writes, "PERSIST", meta_key_);
  return run();
}

Result<void> RedisEpochs::open_or_make(const RedisLaw& law) {
  const SecretKey secret = law.hasher.key();
  const SecretKey* const key = law.key_is_elsewhere ? &secret : nullptr;
  if (auto kept = expect_no_eviction(law.expires_at != 0); !kept) return kept;
  bool ours = false;
  for (int tries = 0; tries < most_tries; ++tries) {
    auto meta = read_meta();
    if (!meta) return meta.error();
    if (meta->current > 0) {
      if (auto adopted = adopt(*meta, meta->current, key); !adopted) return adopted;
      return expect_no_eviction(law_.expires_at != 0);
    }
    if (meta->newest == 0) {
      if (auto room = expect_room(law); !room) return room;
      const auto claimed = claim(1, law);
      if (!claimed) return claimed.error();
      ours |= *claimed;
      continue;  // it is there now, by us or by another
    }
    if (auto adopted = adopt(*meta, meta->newest, key); !adopted) return adopted;
    return finish_making(law, ours);
  }
  return Error{Code::io, address_.shown() + " was made again and again, and is not there"};
}

// Begun, and not ready: perhaps its maker was cut off. Empty shards may be made twice.
Result<void> RedisEpochs::finish_making(const RedisLaw& wanted, bool ours) {
  if (law_.making == RedisMaking::upload)
    return Error{Code::exists, address_.shown() +
                                   " is being built by another program, or its build was "
                                   "interrupted; wait for it, or build it again"};
  if (law_.capacity != wanted.capacity || law_.rate != wanted.rate)
    return Error{Code::exists,
                 address_.shown() + " is being made by another program for " +
                     std::to_string(law_.capacity) +
                     " keys, or making it was interrupted; wait for it, give the same keys and "
                     "rate, or replace it"};
  if (const auto made = make_shards(law_, epoch_, {}); !made) {
    const Error why = made.error();
    // Shards that cannot be used must not stay on the server.
    if (ours) static_cast<void>(drop_epoch(law_, epoch_).has_value());
    epoch_ = 0;
    return why;
  }
  return publish(law_, epoch_, 0, KeyForm::none);
}

// The number of an epoch that nobody else has.
Result<std::uint64_t> RedisEpochs::claim_next(const RedisLaw& law, Overwrite overwrite) {
  const auto meta = read_meta();
  if (!meta) return meta.error();
  std::uint64_t epoch = meta->newest + 1;
  const auto taken = [&] {
    return Error{Code::exists, address_.shown() + " exists, or is being made by another"};
  };
  // Only the first epoch replaces nothing, and only one client can make it.
  if (overwrite == Overwrite::refuse && epoch != 1) return taken();
  for (int tries = 0;; ++tries, ++epoch) {
    const auto claimed = claim(epoch, law);
    if (!claimed) return claimed.error();
    if (*claimed) return epoch;
    if (overwrite == Overwrite::refuse) return taken();
    if (tries == most_tries)
      return Error{Code::io, address_.shown() + " is replaced by others again and again"};
  }
}

Result<void> RedisEpochs::replace(RedisLaw law, std::span<const std::byte> payload,
                                  std::uint64_t adds, KeyForm form, Overwrite overwrite) {
  if (auto kept = expect_no_eviction(law.expires_at != 0); !kept) return kept;
  if (auto room = expect_room(law); !room) return room;
  const auto claimed = claim_next(law, overwrite);
  if (!claimed) return claimed.error();
  const std::uint64_t epoch = *claimed;
  auto meta = read_meta();
  if (!meta) return meta.error();
  born_ = meta->field("born", 0);
  if (const auto made = make_shards(law, epoch, payload); !made) {
    const Error why = made.error();
    static_cast<void>(drop_epoch(law, epoch).has_value());
    return why;
  }
  if (auto done = publish(law, epoch, adds, form); !done) return done;
  meta = read_meta();
  if (!meta) return meta.error();
  if (meta->current != epoch) {
    // The client that replaced it has swept, and we may have made shards after that.
    if (auto dropped = drop_epoch(law, epoch); !dropped) return dropped;
    return Error{Code::exists, address_.shown() + (meta->current > epoch
                                                       ? " was replaced by another at the same "
                                                         "time; that one stays"
                                                       : " was deleted, or has expired, while it "
                                                         "was replaced")};
  }
  // Nothing that this handle remembers of the old epoch is valid.
  epoch_ = 0;
  const SecretKey key = law.hasher.key();
  if (auto adopted = adopt(*meta, epoch, law.key_is_elsewhere ? &key : nullptr); !adopted)
    return adopted;
  return sweep(*meta, epoch);
}

Result<void> RedisEpochs::drop_shards(const RedisLaw& law, std::uint64_t epoch) {
  RedisNames names(stem(), epoch, law.shards());
  for (std::uint64_t first = 0; first < law.shards(); first += shards_at_once) {
    requests_.clear();
    for (std::uint64_t shard = first; shard < std::min(first + shards_at_once, law.shards());
         ++shard)
      requests_.add(names.slot(shard), Effect::writes, "UNLINK", names.shard(shard));
    if (auto done = run(); !done) return done;
  }
  return {};
}

Result<void> RedisEpochs::drop_epoch(const RedisLaw& law, std::uint64_t epoch) {
  if (auto dropped = drop_shards(law, epoch); !dropped) return dropped;
  requests_.clear();
  requests_.add(meta_slot_, Effect::writes, "HDEL", meta_key_, numbered("law", epoch),
                numbered("ready", epoch), numbered("adds", epoch), numbered("form", epoch));
  return run();
}

// Older epochs are no longer needed.
Result<void> RedisEpochs::sweep(const Meta& meta, std::uint64_t below) {
  for (const std::uint64_t epoch : meta.epochs) {
    if (epoch >= below) continue;
    // If its law is damaged, its number of shards is unknown.
    const auto law = decode_places(meta.field("law", epoch));
    if (auto dropped = drop_epoch(law ? *law : RedisLaw{.shard_blocks = 1}, epoch); !dropped)
      return dropped;
  }
  return {};
}

// The meta hash is deleted first: other clients then find no set, instead of one without shards.
Result<void> RedisEpochs::drop() {
  const auto meta = read_meta();
  if (!meta) return meta.error();
  requests_.clear();
  requests_.add(meta_slot_, Effect::writes, "DEL", meta_key_);
  if (auto done = run(); !done) return done;
  untold_.keys = 0;
  born_ = meta->field("born", 0);
  for (const std::uint64_t epoch : meta->epochs) {
    const auto law = decode_places(meta->field("law", epoch));
    if (!law) continue;
    if (auto dropped = drop_shards(*law, epoch); !dropped) return dropped;
  }
  return {};
}

Result<void> RedisEpochs::look_again(std::uint64_t shard) {
  const auto meta = read_meta();
  if (!meta) return meta.error();
  const bool late = law_.expires_at != 0 && now_ms() + clock_slack_ms >= law_.expires_at;
  if (!meta->there || meta->current == 0)
    return Error{Code::io, address_.shown() + (late ? " has expired" : " is gone: it was deleted")};
  if (meta->field("born", 0) != born_)
    return Error{Code::damaged,
                 address_.shown() + (late ? " has expired" : " was deleted") +
                     ", and was made again since: what was added before is not in it"};
  if (meta->current != epoch_) return adopt(*meta, meta->current, key_.get());
  if (late) return Error{Code::io, address_.shown() + " has expired"};
  return Error{Code::damaged, "shard " + std::to_string(shard) + " of " + address_.shown() + " (" +
                                  std::string(names_.shard(shard)) +
                                  ") is missing or cut short: it was deleted or evicted, and its "
                                  "keys would be missed. Build the set again"};
}

// -- what clients tell each other about an epoch --------------------------------------------------

Result<void> RedisEpochs::note_form(KeyForm form) {
  if (form_ == KeyForm::none) {
    requests_.clear();
    const std::string field = "form:" + std::to_string(epoch_);
    requests_.add(meta_slot_, Effect::writes, "HSETNX", meta_key_, field, name_of(form));
    // From the master, as all that is about the meta hash.
    requests_.add(meta_slot_, Effect::writes, "HGET", meta_key_, field);
    requests_.add(meta_slot_, Effect::writes, "HEXISTS", meta_key_,
                  "law:" + std::to_string(epoch_));
    std::string noted;
    bool there = true;
    auto done = router_.run(requests_, [&](std::size_t i, RedisReply& reply) {
      if (i == 1 && reply->type == REDIS_REPLY_STRING) noted.assign(reply->str, reply->len);
      if (i == 2) there = reply->type == REDIS_REPLY_INTEGER && reply->integer == 1;
    });
    if (!done) return done;
    if (!there) {
      if (auto back = take_back("form", epoch_); !back) return back;
      if (auto found = look_again(0); !found) return found;
      return note_form(form);
    }
    for (const KeyForm one : {KeyForm::text, KeyForm::u64, KeyForm::hash})
      if (noted == name_of(one)) form_ = one;
  }
  return expect_form(form);
}

Result<void> RedisEpochs::expect_form(KeyForm form) const {
  if (form_ == form) return {};
  return Error{Code::mismatch, "the keys of " + address_.shown() + " are of the form '" +
                                   std::string(name_of(form_)) + "', not '" +
                                   std::string(name_of(form)) + "'; they would never match"};
}

Result<void> RedisEpochs::tell_adds() {
  if (untold_.keys == 0) return {};
  requests_.clear();
  requests_.add(meta_slot_, Effect::writes, "HINCRBY", meta_key_, "adds:" + std::to_string(epoch_),
                untold_.keys);
  requests_.add(meta_slot_, Effect::writes, "HEXISTS", meta_key_, "law:" + std::to_string(epoch_));
  bool there = true;
  auto done = router_.run(requests_, [&](std::size_t i, RedisReply& reply) {
    if (reply->type != REDIS_REPLY_INTEGER) return;
    if (i == 0) adds_ = static_cast<std::uint64_t>(reply->integer);
    if (i == 1) there = reply->integer == 1;
  });
  if (!done) return done;
  untold_.keys = 0;
  if (there) return {};
  return take_back("adds", epoch_);
}

// HSETNX and HINCRBY create a missing hash. It would not be a set, but would block the name.
Result<void> RedisEpochs::take_back(const char* field, std::uint64_t epoch) {
  requests_.clear();
  requests_.add(meta_slot_, Effect::writes, "HDEL", meta_key_,
                std::string(field) + ":" + std::to_string(epoch));
  return run();
}

}  // namespace bloomery::inline v0::detail
