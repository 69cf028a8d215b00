// Every kind beside a std::unordered_set, through random operations.
#include <gtest/gtest.h>

#include <bloomery/bloomery.hpp>
#include <tests/laws/law_keys.hpp>
#include <tests/oracle.hpp>

namespace bloomery::detail {
namespace {

TEST(OracleLaws, EveryKindAgreesWithAnUnorderedSetThroughRandomOperations) {
  for_all_kinds([]<class K>() {
    // The others have a model of their own in their tests: cuckoo a multiset, windows a queue.
    if constexpr (takes_any_number<K>) {
      constexpr std::uint64_t distinct = 600;
      for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        Want want{.keys = 50 * seed, .rate = 0.01};
        want.removal = true;
        if constexpr (is_ranged<K>) want = {.range = {77, 77 + distinct - 1}};
        Oracle<K>(want, distinct, seed).expect_agreement(400);
      }
    }
  });
}

}  // namespace
}  // namespace bloomery::detail
