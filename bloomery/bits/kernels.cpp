#include <bloomery/bits/kernels.hpp>

#include <cstdlib>
#include <cstring>
#include <string>

#include <bloomery/bits/block.hpp>
#include <bloomery/hash/budget.hpp>

namespace bloomery {
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
[[gnu::always_inline]] inline void prefetch(const LinesView& view, std::uint64_t hash) {
  const LinesSlot slot = locate(view, Hash{hash});
  __builtin_prefetch(slot.first, 1);
  if (view.lines == 2) __builtin_prefetch(slot.second, 1);
}

std::size_t lines_add(const LinesView& view, const std::uint64_t* hashes, std::size_t n,
                      bool* fresh) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n && i < kernel_lookahead; ++i) prefetch(view, hashes[i]);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kernel_lookahead < n) prefetch(view, hashes[i + kernel_lookahead]);
    const Hash hash{hashes[i]};
    const LinesSlot slot = locate(view, hash);
    bool is_new = add_line(slot.first, line_mask(remix(hash, 0), remix(hash, 1), view.probes));
    if (view.lines == 2)
      is_new |= add_line(slot.second, line_mask(remix(hash, 3), remix(hash, 4), view.probes));
    count += is_new;
    if (fresh != nullptr) fresh[i] = is_new;
  }
  return count;
}

void lines_ask(const LinesView& view, const std::uint64_t* hashes, std::size_t n, bool* answers) {
  for (std::size_t i = 0; i < n && i < kernel_lookahead; ++i) prefetch(view, hashes[i]);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kernel_lookahead < n) prefetch(view, hashes[i + kernel_lookahead]);
    const Hash hash{hashes[i]};
    const LinesSlot slot = locate(view, hash);
    answers[i] = line_has(slot.first, line_mask(remix(hash, 0), remix(hash, 1), view.probes)) &&
                 (view.lines == 1 ||
                  line_has(slot.second, line_mask(remix(hash, 3), remix(hash, 4), view.probes)));
  }
}

std::uint32_t* locate(const SplitView& view, std::uint64_t hash) {
  return view.words + split_words * (((hash >> 32) * view.blocks) >> 32);
}

[[gnu::always_inline]] inline void prefetch(const SplitView& view, std::uint64_t hash) {
  __builtin_prefetch(locate(view, hash), 1);
}

std::size_t split_add(const SplitView& view, const std::uint64_t* hashes, std::size_t n,
                      bool* fresh) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n && i < kernel_lookahead; ++i) prefetch(view, hashes[i]);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kernel_lookahead < n) prefetch(view, hashes[i + kernel_lookahead]);
    std::uint32_t* block = locate(view, hashes[i]);
    std::uint32_t missing = 0;
    for (std::size_t w = 0; w < split_words; ++w) {
      const std::uint32_t bit = split_bit(static_cast<std::uint32_t>(hashes[i]), w);
      missing |= bit & ~block[w];
      block[w] |= bit;
    }
    count += missing != 0;
    if (fresh != nullptr) fresh[i] = missing != 0;
  }
  return count;
}

void split_ask(const SplitView& view, const std::uint64_t* hashes, std::size_t n, bool* answers) {
  for (std::size_t i = 0; i < n && i < kernel_lookahead; ++i) prefetch(view, hashes[i]);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kernel_lookahead < n) prefetch(view, hashes[i + kernel_lookahead]);
    const std::uint32_t* block = locate(view, hashes[i]);
    std::uint32_t missing = 0;
    for (std::size_t w = 0; w < split_words; ++w)
      missing |= split_bit(static_cast<std::uint32_t>(hashes[i]), w) & ~block[w];
    answers[i] = missing == 0;
  }
}

const Kernels& best_row() {
  for (const char* name : {"avx512", "avx2"})
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
    const bool known = std::strcmp(forced, "avx2") == 0 || std::strcmp(forced, "avx512") == 0;
    std::string why = "BLOOMERY_CPU=" + std::string(forced);
    why += known ? ": this CPU or build has no such instructions; unset it or use scalar"
                 : " names no row of kernels; use scalar, avx2 or avx512";
    return Choice{&best_row(), std::move(why)};
  }();
  return chosen;
}

}  // namespace

const Kernels scalar_kernels{"scalar", lines_add, lines_ask, split_add, split_ask};

const Kernels& kernels() { return *choice().row; }

const char* kernels_refused() {
  const std::string& refusal = choice().refusal;
  return refusal.empty() ? nullptr : refusal.c_str();
}

const Kernels* kernels_named(const char* name) {
  if (std::strcmp(name, "scalar") == 0) return &scalar_kernels;
#ifdef BLOOMERY_X86_KERNELS
  if (std::strcmp(name, "avx2") == 0)
    return __builtin_cpu_supports("avx2") ? &avx2_kernels : nullptr;
  if (std::strcmp(name, "avx512") == 0) {
    const bool all = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                     __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    return all ? &avx512_kernels : nullptr;
  }
#endif
  return nullptr;
}

}  // namespace bloomery
