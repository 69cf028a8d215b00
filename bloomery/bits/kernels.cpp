#include <bloomery/detail/bits/kernels.hpp>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <string>

#include <bloomery/bits/quotient_law.hpp>
#include <bloomery/detail/bits/block.hpp>
#include <bloomery/detail/bits/fuse.hpp>
#include <bloomery/detail/bits/ribbon.hpp>
#include <bloomery/detail/hash/budget.hpp>

namespace bloomery::inline v0::detail {
namespace {

struct LinesSlot {
  std::uint64_t* first;
  std::uint64_t* second;
};

LinesSlot locate(const LinesView& view, Hash hash) {
  return {view.words + lanes_per_line * mulhi(hash.bits, view.blocks),
          view.words + lanes_per_line * mulhi(remix(hash, 2), view.blocks)};
}

bool add_line(std::uint64_t* line, const LineMask& mask) {
  if (line_has(line, mask)) return false;
  line_mark(line, mask);
  return true;
}

// Always inlined: GCC takes a function whose only act is a prefetch for one without effect, and
// drops the call (docs/dead_ends.md).
[[gnu::always_inline]] inline void call_for(const LinesView& view, std::uint64_t hash) {
  const LinesSlot slot = locate(view, Hash{hash});
  __builtin_prefetch(slot.first, 0, 2);
  if (view.lines == 2) __builtin_prefetch(slot.second, 0, 2);
}

std::uint64_t lines_add(const LinesView& view, const std::uint64_t* hashes, std::size_t n,
                        std::size_t ahead) {
  std::uint64_t fresh = 0;
  for (std::size_t i = 0; i < n; ++i) {
    call_for(view, hashes[i + ahead]);
    const Hash hash{hashes[i]};
    const LinesSlot slot = locate(view, hash);
    bool is_new = add_line(slot.first, line_mask(remix(hash, 0), remix(hash, 1), view.probes));
    if (view.lines == 2)
      is_new |= add_line(slot.second, line_mask(remix(hash, 3), remix(hash, 4), view.probes));
    fresh |= std::uint64_t{is_new} << i;
  }
  return fresh;
}

std::uint64_t lines_ask(const LinesView& view, const std::uint64_t* hashes, std::size_t n,
                        std::size_t ahead) {
  std::uint64_t there = 0;
  for (std::size_t i = 0; i < n; ++i) {
    call_for(view, hashes[i + ahead]);
    const Hash hash{hashes[i]};
    const LinesSlot slot = locate(view, hash);
    const bool has =
        line_has(slot.first, line_mask(remix(hash, 0), remix(hash, 1), view.probes)) &&
        (view.lines == 1 ||
         line_has(slot.second, line_mask(remix(hash, 3), remix(hash, 4), view.probes)));
    there |= std::uint64_t{has} << i;
  }
  return there;
}

// No branch on loaded bits: a misprediction there would throw away the loads that the CPU has
// started for later keys.
bool round_mark(std::uint64_t* line, std::uint64_t hash, std::uint64_t constant,
                const Round& round) {
  std::uint64_t all = 1;
  each_place_of_round(hash * constant, round.probes, [&](unsigned lane, std::uint64_t place) {
    all &= line[lane] >> place;
    line[lane] |= std::uint64_t{1} << place;
    return true;
  });
  return all == 0;
}

bool round_has(const std::uint64_t* line, std::uint64_t hash, std::uint64_t constant,
               const Round& round) {
  std::uint64_t all = 1;
  each_place_of_round(hash * constant, round.probes, [&](unsigned lane, std::uint64_t place) {
    all &= line[lane] >> place;
    return true;
  });
  return all != 0;
}

std::uint64_t* locate(const LoneView& view, std::uint64_t hash) {
  return view.words + lanes_per_line * mulhi(hash, view.blocks);
}

bool lone_mark(const LoneView& view, std::uint64_t hash) {
  return round_mark(locate(view, hash), hash, remix_constants[0], view.round);
}

bool lone_has(const LoneView& view, std::uint64_t hash) {
  return round_has(locate(view, hash), hash, remix_constants[0], view.round);
}

std::uint32_t* locate(const SplitView& view, std::uint64_t hash) {
  return view.words + split_words * (((hash >> 32) * view.blocks) >> 32);
}

[[gnu::always_inline]] inline void call_for(const SplitView& view, std::uint64_t hash) {
  __builtin_prefetch(locate(view, hash), 0, 2);
}

bool split_mark(std::uint32_t* block, std::uint32_t low_half) {
  std::uint32_t missing = 0;
  for (std::size_t w = 0; w < split_words; ++w) {
    const std::uint32_t bit = split_bit(low_half, w);
    missing |= bit & ~block[w];
    block[w] |= bit;
  }
  return missing != 0;
}

bool split_has(const std::uint32_t* block, std::uint32_t low_half) {
  std::uint32_t missing = 0;
  for (std::size_t w = 0; w < split_words; ++w) missing |= split_bit(low_half, w) & ~block[w];
  return missing == 0;
}

std::uint64_t split_add(const SplitView& view, const std::uint64_t* hashes, std::size_t n,
                        std::size_t ahead) {
  std::uint64_t fresh = 0;
  for (std::size_t i = 0; i < n; ++i) {
    call_for(view, hashes[i + ahead]);
    const bool is_new = split_mark(locate(view, hashes[i]), static_cast<std::uint32_t>(hashes[i]));
    fresh |= std::uint64_t{is_new} << i;
  }
  return fresh;
}

std::uint64_t split_ask(const SplitView& view, const std::uint64_t* hashes, std::size_t n,
                        std::size_t ahead) {
  std::uint64_t there = 0;
  for (std::size_t i = 0; i < n; ++i) {
    call_for(view, hashes[i + ahead]);
    const bool found = split_has(locate(view, hashes[i]), static_cast<std::uint32_t>(hashes[i]));
    there |= std::uint64_t{found} << i;
  }
  return there;
}

void stream_lines(std::uint64_t* to, const std::uint64_t* from, std::size_t lines) {
  std::memcpy(to, from, lines * line_bytes);
}

void stream_end() {}

std::size_t find_byte(const unsigned char* bytes, std::size_t n, unsigned char wanted,
                      std::uint32_t* places) {
  return find_byte_from(bytes, 0, n, wanted, places, 0);
}

std::uint64_t ones_among(const std::uint64_t* words, std::size_t n) {
  std::uint64_t ones = 0;
  for (std::size_t i = 0; i < n; ++i) ones += static_cast<std::uint64_t>(std::popcount(words[i]));
  return ones;
}

void ones_in_lanes(const std::uint64_t* line, std::uint8_t* ones) {
  for (std::size_t i = 0; i < lanes_per_line; ++i)
    ones[i] = static_cast<std::uint8_t>(std::popcount(line[i]));
}

std::uint64_t quotient_add(const QuotientView& view, const std::uint64_t* hashes, std::size_t n,
                           std::size_t ahead, std::size_t* taken) {
  return quotient::add_step(quotient::place_of_one, view, hashes, n, ahead, taken);
}

std::uint64_t quotient_ask(const QuotientView& view, const std::uint64_t* hashes, std::size_t n,
                           std::size_t ahead) {
  return quotient::ask_step(quotient::place_of_one, view, hashes, n, ahead);
}

// Those that some CPU has, the best of each family first.
constexpr const char* vector_rows[] = {"avx512", "avx2", "neon"};

#if defined(BLOOMERY_X86_KERNELS)
constexpr const char* rows_of_this_build = "scalar, avx2 or avx512";
#elif defined(BLOOMERY_NEON_KERNELS)
constexpr const char* rows_of_this_build = "scalar or neon";
#else
constexpr const char* rows_of_this_build = "scalar";
#endif

const Kernels& best_row() {
  for (const char* name : vector_rows)
    if (const Kernels* row = kernels_named(name)) return *row;
  return scalar_kernels;
}

struct Choice {
  const Kernels* row;
  std::string refusal;
};

const Choice& choice() {
  static const Choice chosen = [] {
    const char* forced = std::getenv("BLOOMERY_CPU");
    if (forced == nullptr || *forced == '\0') return Choice{&best_row(), {}};
    if (const Kernels* row = kernels_named(forced)) return Choice{row, {}};
    bool known = false;
    for (const char* name : vector_rows) known |= std::strcmp(forced, name) == 0;
    std::string why = "BLOOMERY_CPU=" + std::string(forced);
    if (known)
      why += ": this CPU or build has no such instructions; unset it or use scalar";
    else
      why += std::string(" is not a known set of instructions; use ") + rows_of_this_build;
    return Choice{&best_row(), std::move(why)};
  }();
  return chosen;
}

}  // namespace

void hash_words_one_by_one(const std::uint64_t* words, std::size_t n, std::uint64_t seed,
                           std::uint64_t* hashes) {
  const Hasher hasher(seed);
  for (std::size_t i = 0; i < n; ++i) hashes[i] = hasher(words[i]).bits;
}

std::size_t find_byte_from(const unsigned char* bytes, std::size_t first, std::size_t n,
                           unsigned char wanted, std::uint32_t* places, std::size_t found) {
  while (first < n) {
    const void* next = std::memchr(bytes + first, wanted, n - first);
    if (next == nullptr) break;
    first = static_cast<std::size_t>(static_cast<const unsigned char*>(next) - bytes);
    places[found++] = static_cast<std::uint32_t>(first++);
  }
  return found;
}

void find_lines_one_by_one(const std::uint64_t* hashes, std::size_t n, std::uint64_t blocks,
                           std::uint64_t* lines) {
  for (std::size_t i = 0; i < n; ++i) lines[i] = mulhi(hashes[i], blocks);
}

void fuse_locate_from(const FuseView& view, const std::uint64_t* hashes, std::size_t first,
                      std::size_t n, FuseSlots& slots) {
  const FuseView mine = view;  // a copy, which stores to the slots cannot alias
  const std::uint64_t segment_fields = std::uint64_t{1} << mine.segment_bits;
  for (std::size_t i = first; i < n; ++i) {
    const auto [shard, local] = fuse::split(fuse::mix({hashes[i]}, mine.seed), mine.shards);
    std::uint64_t shard_seed;
    std::memcpy(&shard_seed, mine.seeds + shard * sizeof shard_seed, sizeof shard_seed);
    const std::uint64_t spread = fuse::spread(local, shard_seed);
    const std::uint64_t start = shard * mine.shard_fields + mulhi(local, mine.first_fields);
    const auto places = fuse::places<4>(segment_fields, start, spread);
    for (unsigned j = 0; j < mine.arity; ++j) {
      slots.bit[j][i] = places[j] * mine.width;
      __builtin_prefetch(mine.fields + slots.bit[j][i] / 8, 0, 2);
    }
    slots.fingerprint[i] = static_cast<std::uint32_t>(fuse::fingerprint(spread, mine.width));
  }
}

void fuse_locate_one_by_one(const FuseView& view, const std::uint64_t* hashes, std::size_t n,
                            FuseSlots& slots) {
  fuse_locate_from(view, hashes, 0, n, slots);
}

std::uint64_t ribbon_ask_one_by_one(const RibbonView& view, const RibbonSlot* slots,
                                    std::size_t n) {
  std::uint64_t there = 0;
  for (std::size_t i = 0; i < n; ++i)
    there |= std::uint64_t{slots[i].columns != 0 && ribbon_has(view, slots[i])} << i;
  return there;
}

const Kernels scalar_kernels{"scalar",
                             hash_words_one_by_one,
                             find_lines_one_by_one,
                             lines_add,
                             lines_ask,
                             nullptr,
                             nullptr,
                             nullptr,
                             round_mark,
                             round_has,
                             lone_mark,
                             lone_has,
                             split_mark,
                             split_has,
                             split_add,
                             split_ask,
                             nullptr,
                             nullptr,
                             nullptr,
                             fuse_locate_one_by_one,
                             ribbon_ask_one_by_one,
                             ribbon_insert_by_fours,
                             ribbon_substitute_by_bytes,
                             stream_lines,
                             stream_end,
                             ones_among,
                             ones_in_lanes,
                             nullptr,
                             nullptr,
                             find_byte,
                             quotient_add,
                             quotient_ask};

const Kernels& kernels() { return *choice().row; }

const char* kernels_refused() {
  const std::string& refusal = choice().refusal;
  return refusal.empty() ? nullptr : refusal.c_str();
}

const Kernels* kernels_named(const char* name) {
  if (std::strcmp(name, "scalar") == 0) return &scalar_kernels;
#ifdef BLOOMERY_X86_KERNELS
  if (std::strcmp(name, "avx2") == 0)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
                   __builtin_cpu_supports("popcnt")
               ? &avx2_kernels
               : nullptr;
  if (std::strcmp(name, "avx512") == 0) {
    const bool all = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                     __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                     __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi2");
    return all ? &avx512_kernels : nullptr;
  }
#endif
#ifdef BLOOMERY_NEON_KERNELS
  if (std::strcmp(name, "neon") == 0) return &neon_kernels;
#endif
  return nullptr;
}

}  // namespace bloomery::inline v0::detail
