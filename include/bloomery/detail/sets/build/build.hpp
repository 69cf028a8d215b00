// A static set, built as it was wanted and owned.
//
//    keys of the want are those that are given; rate and memory complete each other as for any
//    other kind (plan.hpp); the keys themselves decide the size, a little more or less than
//    planned, so a set that outgrew its memory is built again with a little less
//
// Threads: those of the crew.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/sets/build/crew.hpp>
#include <bloomery/detail/sets/build/hash_source.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/owned.hpp>
#include <bloomery/detail/sets/plan.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

template <Buildable K>
Result<Owned<K>> build_owned(const HashSource& source, const Want& want, const Crew& crew = {}) {
  if (const char* refused = kernels_refused()) return Error{Code::unsupported, refused};
  Want asked = want;
  asked.keys = std::max<std::uint64_t>(1, source.size());
  asked.range = {};
  constexpr int most_attempts = 4;
  for (int attempt = 1;; ++attempt) {
    const auto whole = complete<K>(asked);
    if (!whole) return whole.error();
    auto built = K::build(source, *whole, crew);
    if (!built) return built.error();
    const std::uint64_t bytes = built->memory.size();
    if (want.memory_bytes == 0 || bytes <= want.memory_bytes)
      return Owned<K>::from_built(std::move(*built), whole->rate);
    // Only a rate that memory gave can give way.
    if (want.rate != 0 || attempt == most_attempts)
      return Error{Code::impossible, "these keys at that rate take " + std::to_string(bytes) +
                                         " bytes, more than the memory that is allowed"};
    asked.memory_bytes -= std::min(asked.memory_bytes - 1, 2 * (bytes - want.memory_bytes));
  }
}

}  // namespace bloomery::inline v0::detail
