// Bulk steps of kinds with several places a key, against one key after the other: on both sides of
// the number of places that are kept, and at every end of a step.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include <bloomery/bloomery.hpp>

namespace bloomery::detail {
namespace {

template <class K>
class ProbeStepsOf : public testing::Test {};
using ProbingKinds = testing::Types<ClassicBloom, CountingBloom, SpectralBloom>;
TYPED_TEST_SUITE(ProbeStepsOf, ProbingKinds);

TYPED_TEST(ProbeStepsOf, AnswerInBulkAsOneByOne) {
  std::mt19937_64 random(7);
  bool kept = false;
  bool found_again = false;
  for (const double rate : {0.1, 0.01, 1e-4, 1e-5, 1e-6, 1e-8})
    for (const std::size_t n : {1, 31, 32, 33, 63, 64, 65, 95, 96, 97, 128, 129, 700}) {
      SCOPED_TRACE(testing::Message() << n << " keys at " << rate);
      Set<TypeParam> bulk({.keys = 600, .rate = rate});
      Set<TypeParam> single({.keys = 600, .rate = rate});
      (bulk.kind().probes().count() <= 16 ? kept : found_again) = true;
      std::vector<std::uint64_t> keys(n);
      for (std::size_t i = 0; i < n; ++i)
        keys[i] = i > 0 && random() % 4 == 0 ? keys[random() % i] : random();
      std::vector<std::uint8_t> expected;
      for (const std::uint64_t key : keys) expected.push_back(single.add(key));
      std::vector<bool> fresh;
      bulk.add_all(keys, fresh);
      ASSERT_EQ(std::vector<std::uint8_t>(fresh.begin(), fresh.end()), expected);
      ASSERT_EQ(bulk, single);
      for (std::uint64_t& key : keys) key += random() & 1;
      std::vector<std::uint8_t> there;
      for (const std::uint64_t key : keys) there.push_back(single.may_contain(key));
      const std::vector<bool> answers = bulk.may_contain_all(keys);
      ASSERT_EQ(std::vector<std::uint8_t>(answers.begin(), answers.end()), there);
    }
  EXPECT_TRUE(kept && found_again) << "one of the two ways was not tested";
}

}  // namespace
}  // namespace bloomery::detail
