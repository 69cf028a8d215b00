// The pipeline: every input once, in order, whatever the length of the span.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include <bloomery/bits/memory.hpp>
#include <bloomery/sets/batch.hpp>
#include <bloomery/sets/bitmap.hpp>

namespace bloomery {
namespace {

constexpr std::uint64_t integers = 4'096;

class Batch : public testing::TestWithParam<std::size_t> {
 protected:
  Memory memory_ = Memory::make(integers / 8).value();
  Bitmap map_{{0, integers - 1}, memory_.bytes()};
};

TEST_P(Batch, VisitsEverySlotOnceAndInOrder) {
  std::vector<Ordinal> inputs(GetParam());
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = {i * 2'654'435'761 % integers};
  std::size_t next = 0;
  for_each_slot(map_, std::span<const Ordinal>(inputs), [&](std::size_t i, Bitmap::Slot slot) {
    ASSERT_EQ(i, next++);
    ASSERT_EQ(slot.bit, inputs[i].value);
  });
  EXPECT_EQ(next, inputs.size());
}

TEST_P(Batch, TellsOfDoublesInTheSameSpan) {
  std::vector<Ordinal> inputs(GetParam());
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = {i / 2};
  const auto fresh = std::make_unique<bool[]>(inputs.size() + 1);
  const auto span = std::span<const Ordinal>(inputs);
  EXPECT_EQ(add_all(map_, span, fresh.get()), (inputs.size() + 1) / 2);
  for (std::size_t i = 0; i < inputs.size(); ++i) ASSERT_EQ(fresh[i], i % 2 == 0) << i;
  EXPECT_EQ(add_all(map_, span, nullptr), 0);
  may_contain_all(map_, span, fresh.get());
  for (std::size_t i = 0; i < inputs.size(); ++i) ASSERT_TRUE(fresh[i]) << i;
  EXPECT_FALSE(fresh[inputs.size()]) << "an answer too many";
}

INSTANTIATE_TEST_SUITE_P(Lengths, Batch,
                         testing::Values(0, 1, 2, pipeline_depth - 1, pipeline_depth,
                                         pipeline_depth + 1, 2 * pipeline_depth, 1'000));

}  // namespace
}  // namespace bloomery
