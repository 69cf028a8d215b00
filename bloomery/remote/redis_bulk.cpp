#include <bloomery/detail/remote/redis_bulk.hpp>

#include <hiredis/hiredis.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <numeric>
#include <optional>

#include <bloomery/detail/bits/block.hpp>
#include <bloomery/detail/hash/budget.hpp>
#include <bloomery/remote/redis_shards.hpp>

namespace bloomery::inline v0::detail {
namespace {

// Above this share of repeats, asking first spares more than it costs.
constexpr double many_repeats = 0.25;
constexpr std::uint32_t shard_known_seconds = 1;
constexpr std::uint64_t most_shards_noted = 1 << 20;

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

void request_block(RedisEpochs& epochs, Hash hash, Effect effect) {
  const Spot spot = spot_of(hash, epochs.law());
  const std::uint64_t first = spot.block * line_bytes;
  epochs.requests().add(epochs.names().slot(spot.shard), effect, "GETRANGE",
                        epochs.names().shard(spot.shard), first, first + line_bytes - 1);
}

// BITFIELD name SET u1 bit 1 ... GET u8 seal
void request_bits(RedisEpochs& epochs, Hash hash) {
  RedisRequests& request = epochs.requests();
  const Spot spot = spot_of(hash, epochs.law());
  const LineMask mask = mask_of(hash, epochs.law());
  std::size_t bits = 0;
  for (const std::uint64_t lane : mask.lanes) bits += static_cast<std::size_t>(std::popcount(lane));
  request.begin(epochs.names().slot(spot.shard), Effect::writes, 2 + 4 * bits + 3);
  request.word("BITFIELD");
  request.word(epochs.names().shard(spot.shard));
  for (std::size_t lane = 0; lane < lanes_per_line; ++lane)
    for (std::uint64_t left = mask.lanes[lane]; left != 0; left &= left - 1) {
      const auto bit = static_cast<std::uint64_t>(std::countr_zero(left));
      const std::uint64_t byte = spot.block * line_bytes + lane * 8 + bit / 8;
      request.word("SET");
      request.word("u1");
      request.word(byte * 8 + 7 - bit % 8);
      request.word("1");
    }
  request.word("GET");
  request.word("u8");
  request.word((epochs.law().bytes_of(spot.shard) - 1) * 8);
  request.end();
}

// Their shards went away between asking and adding, and BITFIELD made new ones, too short and
// without a seal: they must not be taken for whole ones. One that has its seal by now was made
// again.
Result<void> remove_strays(RedisEpochs& epochs, std::span<const Hash> hashes,
                           std::span<const std::uint32_t> strays) {
  const RedisLaw& law = epochs.law();
  RedisNames& names = epochs.names();
  RedisRequests& requests = epochs.requests();
  std::vector<std::uint64_t> shards;
  for (const std::uint32_t i : strays) shards.push_back(spot_of(hashes[i], law).shard);
  std::sort(shards.begin(), shards.end());
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
  requests.clear();
  for (const std::uint64_t shard : shards)
    requests.add(names.slot(shard), Effect::writes, "GETRANGE", names.shard(shard),
                 law.bytes_of(shard) - 1, law.bytes_of(shard));
  std::vector<std::uint64_t> open;
  auto done = epochs.router().run(requests, [&](std::size_t i, RedisReply& reply) {
    if (!is_sealed(*reply)) open.push_back(shards[i]);
  });
  if (!done) return done;
  requests.clear();
  for (const std::uint64_t shard : open)
    requests.add(names.slot(shard), Effect::writes, "UNLINK", names.shard(shard));
  return epochs.router().run(requests, [](std::size_t, RedisReply&) {});
}

// What BITFIELD has answered to those that were absent.
struct Marks {
  std::vector<std::uint32_t> doubtful = {};
  std::vector<std::uint32_t> strays = {};
  bool nonsense = false;

  // `repeated`: its bits may be those of the first try, whose answer is lost.
  void take(const redisReply& reply, std::uint32_t i, bool repeated, RemoteAdd& answer) {
    if (!are_numbers(reply)) {
      nonsense = true;
      doubtful.push_back(i);
      return;
    }
    const std::size_t bits = reply.elements - 1;
    if (reply.element[bits]->integer != redis_seal) {
      strays.push_back(i);
      return;
    }
    bool fresh = false;
    for (std::size_t bit = 0; bit < bits; ++bit) fresh |= reply.element[bit]->integer == 0;
    answer = fresh ? RemoteAdd::fresh : RemoteAdd::seen;
    if (!fresh && repeated) doubtful.push_back(i);
  }
};

Error cleared_while(const RedisEpochs& epochs, const char* what) {
  return {Code::io, epochs.address().shown() + " is cleared again and again while it is " + what};
}

}  // namespace

// For a set so large that this would take more than some megabytes, every key is asked for first.
void RedisBulk::follow(const RedisEpochs& epochs) {
  if (adoption_ == epochs.adoptions()) return;
  adoption_ = epochs.adoptions();
  const std::uint64_t shards = epochs.law().shards();
  shard_seen_.assign(shards <= most_shards_noted ? shards : 0, 0);
  doubted_.clear();
}

Result<void> RedisBulk::ask(RedisEpochs& epochs, std::span<const Hash> hashes, bool* answers) {
  Effect effect = Effect::reads;
  for (int change = 0; change < most_epoch_changes; ++change) {
    epochs.requests().plan(hashes.size(), [&](std::size_t i, RedisRequests&) {
      request_block(epochs, hashes[i], effect);
    });
    std::optional<std::uint64_t> missing;
    auto done = epochs.router().run(epochs.requests(), [&](std::size_t i, RedisReply& reply) {
      if (reply->type != REDIS_REPLY_STRING || reply->len != line_bytes) {
        missing = spot_of(hashes[i], epochs.law()).shard;
        return;
      }
      std::uint64_t line[lanes_per_line];
      std::memcpy(line, reply->str, line_bytes);
      answers[i] = line_has(line, mask_of(hashes[i], epochs.law()));
    });
    if (!done) return done.error();
    if (!missing) return {};
    // A replica may not have it yet; its master has, or it is gone.
    if (epochs.address().rules.read_replicas && effect == Effect::reads) {
      effect = Effect::writes;
      continue;
    }
    if (auto found = epochs.look_again(*missing); !found) return found.error();
  }
  return cleared_while(epochs, "asked");
}

bool RedisBulk::must_ask(Hash hash, const RedisLaw& law, std::uint32_t now) const {
  if (repeats_ > many_repeats || shard_seen_.empty()) return true;
  return now - shard_seen_[spot_of(hash, law).shard] > shard_known_seconds;
}

// A key that is given more than once is reported as fresh or in doubt only once.
void RedisBulk::settle(std::span<const Hash> hashes, std::span<const std::uint32_t> absent,
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

Result<std::vector<std::uint32_t>> RedisBulk::absent_of(RedisEpochs& epochs,
                                                        std::span<const Hash> hashes,
                                                        std::span<const std::uint32_t> left,
                                                        RemoteAdd* answers) {
  std::vector<Hash> asked;
  std::vector<std::uint32_t> asked_at;
  const std::uint32_t now = seconds_now();
  follow(epochs);
  for (const std::uint32_t i : left) {
    if (!must_ask(hashes[i], epochs.law(), now)) continue;
    asked.push_back(hashes[i]);
    asked_at.push_back(i);
    if (repeats_ <= many_repeats && !shard_seen_.empty())
      shard_seen_[spot_of(hashes[i], epochs.law()).shard] = now;
  }
  std::vector<unsigned char> there(asked.size());
  if (auto done = ask(epochs, asked, reinterpret_cast<bool*>(there.data())); !done) {
    std::fill(shard_seen_.begin(), shard_seen_.end(), 0U);
    return done.error();
  }
  std::vector<std::uint32_t> absent;
  std::size_t next = 0;
  for (const std::uint32_t i : left) {
    const bool was_asked = next < asked_at.size() && asked_at[next] == i;
    if (was_asked && there[next++] != 0)
      answers[i] = RemoteAdd::seen;
    else
      absent.push_back(i);
  }
  return absent;
}

Result<void> RedisBulk::add(RedisEpochs& epochs, std::span<const Hash> hashes, RemoteAdd* answers,
                            KeyForm form) {
  RedisRequests& requests = epochs.requests();
  std::vector<std::uint32_t> left(hashes.size());
  std::iota(left.begin(), left.end(), 0U);
  for (int change = 0; change < most_epoch_changes; ++change) {
    const auto absent = absent_of(epochs, hashes, left, answers);
    if (!absent) return absent.error();
    // Another epoch may have begun, whose keys are others.
    if (auto noted = epochs.note_form(form); !noted) return noted;
    for (const std::uint32_t i : *absent) answers[i] = RemoteAdd::not_done;
    requests.plan(absent->size(), [&](std::size_t r, RedisRequests&) {
      request_bits(epochs, hashes[(*absent)[r]]);
    });
    Marks marks;
    auto done = epochs.router().run(requests, [&](std::size_t r, RedisReply& reply) {
      const std::uint32_t i = (*absent)[r];
      marks.take(*reply, i, requests[r].repeated, answers[i]);
    });
    if (!done)
      for (std::size_t r = 0; r < absent->size(); ++r)
        if (requests[r].fate == Fate::sent) marks.doubtful.push_back((*absent)[r]);
    follow(epochs);
    if (!marks.doubtful.empty()) settle(hashes, *absent, marks.doubtful, answers);
    if (!done) return done;
    if (marks.nonsense)
      return Error{Code::not_ours,
                   epochs.address().shown_server() + " does not answer BITFIELD as Redis does"};
    if (marks.strays.empty()) return {};
    const std::uint64_t shard = spot_of(hashes[marks.strays.front()], epochs.law()).shard;
    if (auto removed = remove_strays(epochs, hashes, marks.strays); !removed) return removed;
    if (auto found = epochs.look_again(shard); !found) return found;
    left = std::move(marks.strays);
  }
  return cleared_while(epochs, "added to");
}

void RedisBulk::learn_repeats(std::span<const RemoteAdd> answers) {
  const auto seen = std::ranges::count(answers, RemoteAdd::seen);
  const auto count = static_cast<double>(answers.size());
  repeats_ += std::min(0.5, count / 1000) * (static_cast<double>(seen) / count - repeats_);
}

}  // namespace bloomery::inline v0::detail
