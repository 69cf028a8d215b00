#include <bloomery/redis/redis_set.hpp>

#include <hiredis/hiredis.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <chrono>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include <bloomery/detail/bits/block.hpp>
#include <bloomery/detail/hash/budget.hpp>
#include <bloomery/redis/slots.hpp>

namespace bloomery::inline v0 {

using namespace detail;
namespace {

// Keys whose commands are in memory at once.
constexpr std::size_t keys_at_once = 16384;
// New keys that the server need not know of yet.
constexpr std::uint64_t most_untold = 1000;
// Above this share of repeats, asking first spares more than it costs.
constexpr double many_repeats = 0.25;
constexpr std::uint32_t shard_known_seconds = 1;
// More changes of epoch than this during one call are a mistake of some client.
constexpr int most_epoch_changes = 5;

std::uint32_t seconds_now() {
  using namespace std::chrono;
  // Never 0, which stands for never.
  return static_cast<std::uint32_t>(
             duration_cast<seconds>(steady_clock::now().time_since_epoch()).count()) +
         2;
}

struct Spot {
  std::uint64_t shard;
  std::uint64_t block;  // in the shard
};

Spot spot_of(Hash hash, const RedisLaw& law) {
  const std::uint64_t block = mulhi(hash.bits, law.shape.blocks);
  return {block / law.shard_blocks, block % law.shard_blocks};
}

LineMask mask_of(Hash hash, const RedisLaw& law) {
  return line_mask(remix(hash, 0), remix(hash, 1), law.shape.probes);
}

// What BITFIELD answers: old bits, and at the end the seal.
bool are_numbers(const redisReply& reply) {
  return reply.type == REDIS_REPLY_ARRAY && reply.elements >= 2 &&
         std::all_of(reply.element, reply.element + reply.elements,
                     [](const redisReply* one) { return one->type == REDIS_REPLY_INTEGER; });
}

bool is_sealed(const redisReply& reply) {
  return reply.type == REDIS_REPLY_STRING && reply.len == 1 &&
         static_cast<std::uint8_t>(reply.str[0]) == redis_seal;
}

}  // namespace

void RedisSet::request_block(Hash hash, Effect effect) {
  const Spot spot = spot_of(hash, law_);
  const std::uint64_t first = spot.block * line_bytes;
  requests_.add(names_.slot(spot.shard), effect, "GETRANGE", names_.shard(spot.shard), first,
                first + line_bytes - 1);
}

// BITFIELD name SET u1 bit 1 ... GET u8 seal
void RedisSet::request_bits(Hash hash) {
  const Spot spot = spot_of(hash, law_);
  const LineMask mask = mask_of(hash, law_);
  std::size_t bits = 0;
  for (const std::uint64_t lane : mask.lanes) bits += static_cast<std::size_t>(std::popcount(lane));
  requests_.begin(names_.slot(spot.shard), Effect::writes, 2 + 4 * bits + 3);
  requests_.word("BITFIELD");
  requests_.word(names_.shard(spot.shard));
  for (std::size_t lane = 0; lane < lanes_per_line; ++lane)
    for (std::uint64_t left = mask.lanes[lane]; left != 0; left &= left - 1) {
      const auto bit = static_cast<std::uint64_t>(std::countr_zero(left));
      const std::uint64_t byte = spot.block * line_bytes + lane * 8 + bit / 8;
      requests_.word("SET");
      requests_.word("u1");
      requests_.word(byte * 8 + 7 - bit % 8);
      requests_.word("1");
    }
  requests_.word("GET");
  requests_.word("u8");
  requests_.word((law_.bytes_of(spot.shard) - 1) * 8);
  requests_.end();
}

Result<void> RedisSet::ask(std::span<const Hash> hashes, bool* answers) {
  Effect effect = Effect::reads;
  for (int change = 0; change < most_epoch_changes; ++change) {
    requests_.plan(hashes.size(),
                   [&](std::size_t i, RedisRequests&) { request_block(hashes[i], effect); });
    std::optional<std::uint64_t> missing;
    auto done = run([&](std::size_t i, RedisReply& reply) {
      if (reply->type != REDIS_REPLY_STRING || reply->len != line_bytes) {
        missing = spot_of(hashes[i], law_).shard;
        return;
      }
      std::uint64_t line[lanes_per_line];
      std::memcpy(line, reply->str, line_bytes);
      answers[i] = line_has(line, mask_of(hashes[i], law_));
    });
    if (!done) return done.error();
    if (!missing) return {};
    // A replica may not have it yet; its master has, or it is gone.
    if (address_.rules.read_replicas && effect == Effect::reads) {
      effect = Effect::writes;
      continue;
    }
    if (auto found = look_again(*missing); !found) return found.error();
  }
  return Error{Code::io, address_.shown() + " is cleared again and again while it is asked"};
}

Result<void> RedisSet::mark(std::span<const Hash> hashes, std::span<const std::uint32_t> absent,
                            RemoteAdd* answers, std::vector<std::uint32_t>& strays) {
  for (const std::uint32_t i : absent) answers[i] = RemoteAdd::not_done;
  requests_.plan(absent.size(),
                 [&](std::size_t r, RedisRequests&) { request_bits(hashes[absent[r]]); });
  bool nonsense = false;
  std::vector<std::uint32_t> doubtful;
  auto done = run([&](std::size_t r, RedisReply& reply) {
    const std::uint32_t i = absent[r];
    if (!are_numbers(*reply)) {
      nonsense = true;
      doubtful.push_back(i);
      return;
    }
    const long long seal = reply->element[reply->elements - 1]->integer;
    if (seal != redis_seal) {
      strays.push_back(i);
      return;
    }
    bool fresh = false;
    for (std::size_t bit = 0; bit + 1 < reply->elements; ++bit)
      fresh |= reply->element[bit]->integer == 0;
    answers[i] = fresh ? RemoteAdd::fresh : RemoteAdd::seen;
    // Its bits may be those of the first try, whose answer is lost.
    if (!fresh && requests_[r].repeated) doubtful.push_back(i);
  });
  if (!done)
    for (std::size_t r = 0; r < absent.size(); ++r)
      if (requests_[r].fate == Fate::sent) doubtful.push_back(absent[r]);
  if (!doubtful.empty()) settle(hashes, absent, doubtful, answers);
  if (done && nonsense)
    return Error{Code::not_ours,
                 address_.shown_server() + " does not answer BITFIELD as Redis does"};
  return done;
}

bool RedisSet::must_ask(Hash hash, std::uint32_t now) const {
  if (repeats_ > many_repeats || shard_seen_.empty()) return true;
  return now - shard_seen_[spot_of(hash, law_).shard] > shard_known_seconds;
}

// A key that is given more than once is reported as fresh or in doubt only once.
void RedisSet::settle(std::span<const Hash> hashes, std::span<const std::uint32_t> absent,
                      std::span<const std::uint32_t> doubtful, RemoteAdd* answers) {
  std::vector<std::uint64_t> told;
  for (const std::uint32_t i : absent)
    if (answers[i] == RemoteAdd::fresh) told.push_back(hashes[i].bits);
  std::sort(told.begin(), told.end());
  for (const std::uint32_t i : doubtful) {
    const std::uint64_t bits = hashes[i].bits;
    const auto at = std::lower_bound(doubted_.begin(), doubted_.end(), bits);
    const bool before = at != doubted_.end() && *at == bits;
    answers[i] = before || std::binary_search(told.begin(), told.end(), bits) ? RemoteAdd::seen
                                                                              : RemoteAdd::in_doubt;
    if (!before) doubted_.insert(at, bits);
  }
}

// Their shards went away between asking and adding, and BITFIELD made new ones, too short and
// without a seal: they must not be taken for whole ones. One that has its seal by now was made
// again.
Result<void> RedisSet::remove_strays(std::span<const Hash> hashes,
                                     std::span<const std::uint32_t> strays) {
  std::vector<std::uint64_t> shards;
  for (const std::uint32_t i : strays) shards.push_back(spot_of(hashes[i], law_).shard);
  std::sort(shards.begin(), shards.end());
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
  requests_.clear();
  for (const std::uint64_t shard : shards)
    requests_.add(names_.slot(shard), Effect::writes, "GETRANGE", names_.shard(shard),
                  law_.bytes_of(shard) - 1, law_.bytes_of(shard));
  std::vector<std::uint64_t> open;
  auto done = run([&](std::size_t i, RedisReply& reply) {
    if (!is_sealed(*reply)) open.push_back(shards[i]);
  });
  if (!done) return done;
  requests_.clear();
  for (const std::uint64_t shard : open)
    requests_.add(names_.slot(shard), Effect::writes, "UNLINK", names_.shard(shard));
  return run([](std::size_t, RedisReply&) {});
}

// Those that are there are seen; of the others the answer of BITFIELD decides.
Result<void> RedisSet::add_some(std::span<const Hash> hashes, RemoteAdd* answers, KeyForm form) {
  std::vector<std::uint32_t> left(hashes.size());
  for (std::uint32_t i = 0; i < left.size(); ++i) left[i] = i;
  std::vector<Hash> asked;
  std::vector<std::uint32_t> asked_at;
  std::vector<unsigned char> there;
  std::vector<std::uint32_t> absent;
  std::vector<std::uint32_t> strays;
  for (int change = 0; change < most_epoch_changes; ++change) {
    asked.clear();
    asked_at.clear();
    absent.clear();
    const std::uint32_t now = seconds_now();
    for (const std::uint32_t i : left) {
      if (!must_ask(hashes[i], now)) continue;
      asked.push_back(hashes[i]);
      asked_at.push_back(i);
      if (repeats_ <= many_repeats && !shard_seen_.empty())
        shard_seen_[spot_of(hashes[i], law_).shard] = now;
    }
    there.assign(asked.size(), 0);
    if (auto done = ask(asked, reinterpret_cast<bool*>(there.data())); !done) {
      std::fill(shard_seen_.begin(), shard_seen_.end(), 0U);
      return done;
    }
    std::size_t next = 0;
    for (const std::uint32_t i : left) {
      const bool was_asked = next < asked_at.size() && asked_at[next] == i;
      if (was_asked && there[next++] != 0)
        answers[i] = RemoteAdd::seen;
      else
        absent.push_back(i);
    }
    strays.clear();
    // Another epoch may have begun, whose keys are others.
    if (auto noted = note_form(form); !noted) return noted;
    if (auto done = mark(hashes, absent, answers, strays); !done) return done;
    if (strays.empty()) return {};
    const std::uint64_t shard = spot_of(hashes[strays.front()], law_).shard;
    if (auto removed = remove_strays(hashes, strays); !removed) return removed;
    if (auto found = look_again(shard); !found) return found;
    left = strays;
  }
  return Error{Code::io, address_.shown() + " is cleared again and again while it is added to"};
}

Result<RemoteCounts> RedisSet::add_all(std::span<const Hash> hashes, std::span<RemoteAdd> answers,
                                       KeyForm form) {
  assert((answers.empty() || answers.size() == hashes.size()) && "one answer for each key");
  std::fill(answers.begin(), answers.end(), RemoteAdd::not_done);
  if (hashes.empty()) return RemoteCounts{};
  if (auto noted = note_form(form); !noted) return noted.error();
  RemoteCounts counts;
  std::vector<RemoteAdd> own;
  for (std::size_t first = 0; first < hashes.size(); first += keys_at_once) {
    const std::size_t count = std::min(keys_at_once, hashes.size() - first);
    if (answers.empty()) own.assign(count, RemoteAdd::not_done);
    RemoteAdd* const into = answers.empty() ? own.data() : answers.data() + first;
    const auto added = add_some(hashes.subspan(first, count), into, form);
    std::size_t seen = 0;
    for (std::size_t i = 0; i < count; ++i) {
      counts.fresh += into[i] == RemoteAdd::fresh;
      counts.in_doubt += into[i] == RemoteAdd::in_doubt;
      seen += into[i] == RemoteAdd::seen;
    }
    const double weight = std::min(0.5, static_cast<double>(count) / 1000);
    repeats_ += weight * (static_cast<double>(seen) / static_cast<double>(count) - repeats_);
    if (!added) {
      untold_.keys += counts.fresh;
      in_doubt_ += counts.in_doubt;
      return added.error();
    }
  }
  untold_.keys += counts.fresh;
  in_doubt_ += counts.in_doubt;
  if (address_.rules.wait_replicas > 0)
    if (auto waited = router_.wait_for_replicas(address_.rules.wait_replicas); !waited)
      return named(waited.error());
  if (untold_.keys >= most_untold)
    if (auto told = tell_adds(); !told) return told.error();
  return counts;
}

Result<RemoteCounts> RedisSet::add_all(std::span<const std::string_view> keys,
                                       std::span<RemoteAdd> answers) {
  hashes_.clear();
  for (const std::string_view key : keys) hashes_.push_back(law_.hasher(key));
  return add_all(hashes_, answers, KeyForm::text);
}

Result<void> RedisSet::may_contain_all(std::span<const Hash> hashes, std::span<bool> answers,
                                       KeyForm form) {
  assert(answers.size() == hashes.size() && "one answer for each key");
  if (form_ != KeyForm::none)
    if (auto fits = expect_form(form); !fits) return fits.error();
  for (std::size_t first = 0; first < hashes.size(); first += keys_at_once) {
    const std::size_t count = std::min(keys_at_once, hashes.size() - first);
    if (auto done = ask(hashes.subspan(first, count), answers.data() + first); !done)
      return done.error();
  }
  return {};
}

Result<void> RedisSet::may_contain_all(std::span<const std::string_view> keys,
                                       std::span<bool> answers) {
  hashes_.clear();
  for (const std::string_view key : keys) hashes_.push_back(law_.hasher(key));
  return may_contain_all(hashes_, answers, KeyForm::text);
}

Result<void> RedisSet::note_form(KeyForm form) {
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
    auto done = run([&](std::size_t i, RedisReply& reply) {
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

Result<void> RedisSet::expect_form(KeyForm form) const {
  if (form_ == form) return {};
  return Error{Code::mismatch, "the keys of " + address_.shown() + " are of the form '" +
                                   std::string(name_of(form_)) + "', not '" +
                                   std::string(name_of(form)) + "'; they would never meet"};
}

Result<void> RedisSet::tell_adds() {
  if (untold_.keys == 0) return {};
  requests_.clear();
  requests_.add(meta_slot_, Effect::writes, "HINCRBY", meta_key_, "adds:" + std::to_string(epoch_),
                untold_.keys);
  requests_.add(meta_slot_, Effect::writes, "HEXISTS", meta_key_, "law:" + std::to_string(epoch_));
  bool there = true;
  auto done = run([&](std::size_t i, RedisReply& reply) {
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
Result<void> RedisSet::take_back(const char* field, std::uint64_t epoch) {
  requests_.clear();
  requests_.add(meta_slot_, Effect::writes, "HDEL", meta_key_,
                std::string(field) + ":" + std::to_string(epoch));
  return run([](std::size_t, RedisReply&) {});
}

Error RedisSet::changes_too_often() const {
  return {Code::io, address_.shown() + " is cleared again and again while it is read"};
}

Result<RedisSet::Estimate> RedisSet::estimate() {
  for (int change = 0; change < most_epoch_changes; ++change) {
    auto found = estimate_epoch();
    if (!found) return found.error();
    if (*found) return **found;
  }
  return changes_too_often();
}

Result<std::vector<std::byte>> RedisSet::download() {
  for (int change = 0; change < most_epoch_changes; ++change) {
    auto found = download_epoch();
    if (!found) return found.error();
    if (*found) return std::move(**found);
  }
  return changes_too_often();
}

Result<std::optional<RedisSet::Estimate>> RedisSet::estimate_epoch() {
  constexpr std::uint64_t most_read = 256;
  const std::uint64_t shards = law_.shards();
  const std::uint64_t step = (shards + most_read - 1) / most_read;
  double ones = 0;
  double passing = 0;
  double lines = 0;
  Estimate found;
  for (std::uint64_t first = 0; first < shards; first += 16 * step) {
    requests_.clear();
    for (std::uint64_t i = 0; i < 16 && first + i * step < shards; ++i)
      requests_.add(names_.slot(first + i * step), Effect::writes, "GET",
                    names_.shard(first + i * step));
    std::optional<std::uint64_t> missing;
    auto done = run([&](std::size_t i, RedisReply& reply) {
      const std::uint64_t shard = first + i * step;
      if (reply->type != REDIS_REPLY_STRING || reply->len != law_.bytes_of(shard)) {
        missing = shard;
        return;
      }
      ++found.shards_read;
      for (std::uint64_t block = 0; block < law_.blocks_of(shard); ++block) {
        std::uint64_t line[lanes_per_line];
        std::memcpy(line, reply->str + block * line_bytes, line_bytes);
        for (const std::uint64_t lane : line) ones += std::popcount(lane);
        passing += line_passing(line, law_.shape.probes);
        ++lines;
      }
    });
    if (!done) return done.error();
    if (missing) {
      if (auto again = look_again(*missing); !again) return again.error();
      return std::optional<Estimate>();
    }
  }
  found.fill = ones / (lines * line_bits);
  found.rate = passing / lines;
  found.keys = BlockedBloom::keys_at_fill(law_.shape, found.fill);
  return std::optional(found);
}

Result<std::optional<std::vector<std::byte>>> RedisSet::download_epoch() {
  // The shards that the law names must exist before memory for them is allocated.
  if (auto whole = verify(); !whole) return whole.error();
  std::vector<std::byte> bytes(law_.shape.blocks * line_bytes);
  for (std::uint64_t first = 0; first < law_.shards(); first += 16) {
    requests_.clear();
    const std::uint64_t end = std::min(first + 16, law_.shards());
    for (std::uint64_t shard = first; shard < end; ++shard)
      requests_.add(names_.slot(shard), Effect::writes, "GET", names_.shard(shard));
    std::optional<std::uint64_t> missing;
    auto done = run([&](std::size_t i, RedisReply& reply) {
      const std::uint64_t shard = first + i;
      if (reply->type != REDIS_REPLY_STRING || reply->len != law_.bytes_of(shard))
        missing = shard;
      else
        std::memcpy(bytes.data() + shard * law_.shard_blocks * line_bytes, reply->str,
                    reply->len - 1);
    });
    if (!done) return done.error();
    if (!missing) continue;
    if (auto again = look_again(*missing); !again) return again.error();
    return std::optional<std::vector<std::byte>>();
  }
  return std::optional(std::move(bytes));
}

Result<void> RedisSet::verify() {
  for (std::uint64_t first = 0; first < law_.shards(); first += keys_at_once) {
    requests_.clear();
    const std::uint64_t end = std::min<std::uint64_t>(first + keys_at_once, law_.shards());
    for (std::uint64_t shard = first; shard < end; ++shard)
      requests_.add(names_.slot(shard), Effect::writes, "GETRANGE", names_.shard(shard),
                    law_.bytes_of(shard) - 1, law_.bytes_of(shard));
    std::optional<std::uint64_t> missing;
    auto done = run([&](std::size_t i, RedisReply& reply) {
      if (!is_sealed(*reply) && !missing) missing = first + i;
    });
    if (!done) return done;
    if (missing) return look_again(*missing);
  }
  return {};
}

}  // namespace bloomery::inline v0
