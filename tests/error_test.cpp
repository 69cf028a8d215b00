#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <bloomery/error.hpp>

namespace bloomery::detail {
namespace {

Error full() { return {Code::full, "the set is full"}; }

// Not inlined: GCC 12 warns of the Error that a Result known to hold a value might destroy.
[[gnu::noinline]] Result<int> seven_if(bool good) {
  if (good) return 7;
  return full();
}

[[gnu::noinline]] Result<std::unique_ptr<int>> owned_seven_if(bool good) {
  if (good) return std::make_unique<int>(7);
  return full();
}

// What a dropped Result throws, if it throws at all.
template <class Drop>
std::string thrown_by(Drop&& drop) {
  try {
    drop();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "nothing";
}

TEST(Failure, CarriesTheCodeAndSaysTheSentence) {
  const Failure failure(full());
  EXPECT_EQ(failure.code, Code::full);
  EXPECT_STREQ(failure.what(), "the set is full");
  static_assert(std::is_base_of_v<std::runtime_error, Failure>);
}

TEST(Result, HoldsAValue) {
  Result<std::string> result(std::string("seen"));
  EXPECT_TRUE(result);
  EXPECT_TRUE(result.has_value());
  EXPECT_EQ(*result, "seen");
  EXPECT_EQ(result->size(), 4U);
  EXPECT_EQ(result.value(), "seen");
  *result += " before";
  EXPECT_EQ(std::as_const(result)->size(), 11U);
  EXPECT_EQ(*std::as_const(result), "seen before");
}

TEST(Result, HoldsAnError) {
  const Result<int> result = seven_if(false);
  EXPECT_FALSE(result);
  EXPECT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::full);
  EXPECT_EQ(result.error().sentence, "the set is full");
}

TEST(Result, ValueOfAnErrorThrowsIt) {
  Result<int> result = seven_if(false);
  EXPECT_EQ(thrown_by([&] { result.value(); }), "the set is full");
  EXPECT_EQ(thrown_by([] { seven_if(false).value(); }), "the set is full");
  EXPECT_EQ(thrown_by([] { EXPECT_EQ(seven_if(true).value(), 7); }), "nothing");
}

TEST(Result, GivesAwayValuesThatOnlyMove) {
  auto result = owned_seven_if(true);
  const std::unique_ptr<int> starred = *std::move(result);
  EXPECT_EQ(*starred, 7);
  const std::unique_ptr<int> valued = owned_seven_if(true).value();
  EXPECT_EQ(*valued, 7);
  EXPECT_EQ(thrown_by([] { owned_seven_if(false).value(); }), "the set is full");
}

TEST(Result, DroppedWithAnErrorIsSilent) {
  EXPECT_EQ(thrown_by([] { const auto dropped = seven_if(false); }), "nothing");
}

TEST(ResultOfNothing, IsGoodByDefault) {
  const Result<void> result;
  EXPECT_TRUE(result);
  EXPECT_TRUE(result.has_value());
  result.value();
}

TEST(ResultOfNothing, DroppedWithAnErrorThrowsIt) {
  EXPECT_EQ(thrown_by([] { Result<void> dropped(full()); }), "the set is full");
  try {
    static_cast<void>(Result<void>(full()));
    FAIL() << "nothing was thrown";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code, Code::full);
  }
}

TEST(ResultOfNothing, DroppedWithoutAnErrorIsSilent) {
  EXPECT_EQ(thrown_by([] { Result<void> dropped; }), "nothing");
}

TEST(ResultOfNothing, TestedInAnyWayIsSilentAfterwards) {
  EXPECT_EQ(thrown_by([] { EXPECT_FALSE(Result<void>(full())); }), "nothing");
  EXPECT_EQ(thrown_by([] { EXPECT_FALSE(Result<void>(full()).has_value()); }), "nothing");
  EXPECT_EQ(thrown_by([] { EXPECT_EQ(Result<void>(full()).error().code, Code::full); }), "nothing");
}

TEST(ResultOfNothing, ValueThrowsTheErrorOnceAndNotAgainWhenDropped) {
  EXPECT_EQ(thrown_by([] { Result<void>(full()).value(); }), "the set is full");
}

TEST(ResultOfNothing, MovedFromIsSilentAndTheNewOwnerIsNot) {
  EXPECT_EQ(thrown_by([] {
              Result<void> first(full());
              const Result<void> second(std::move(first));
              EXPECT_EQ(second.error().sentence, "the set is full");
            }),
            "nothing");
  EXPECT_EQ(thrown_by([] {
              Result<void> first(full());
              const Result<void> second(std::move(first));
            }),
            "the set is full");
}

TEST(ResultOfNothing, AssignedToTakesTheErrorOver) {
  EXPECT_EQ(thrown_by([] {
              Result<void> first;
              first = Result<void>(full());
            }),
            "the set is full");
  EXPECT_EQ(thrown_by([] {
              Result<void> first;
              first = Result<void>(full());
              EXPECT_FALSE(first);
              first = Result<void>();
              EXPECT_TRUE(first);
            }),
            "nothing");
}

TEST(ResultOfNothing, OverwrittenBeforeAnyoneLookedThrowsTheErrorThatWouldVanish) {
  EXPECT_EQ(thrown_by([] {
              Result<void> first(full());
              first = Result<void>();
            }),
            "the set is full");
}

TEST(ResultOfNothing, HandedOnMustBeLookedAtAgain) {
  const auto looks_and_hands_on = [] {
    Result<void> result(full());
    EXPECT_FALSE(result);
    Result<void> handed_on(std::move(result));
    return handed_on;
  };
  EXPECT_EQ(thrown_by([&] { looks_and_hands_on(); }), "the set is full");
  EXPECT_EQ(thrown_by([&] { EXPECT_FALSE(looks_and_hands_on()); }), "nothing");
}

TEST(ResultOfNothing, ReturnedThroughFunctionsStaysUnread) {
  const auto inner = [] { return Result<void>(full()); };
  const auto outer = [&] { return inner(); };
  EXPECT_EQ(thrown_by([&] { outer(); }), "the set is full");
}

TEST(ResultOfNothing, DroppedWhileAnotherExceptionFliesLetsThatOneThrough) {
  try {
    const Result<void> dropped(full());
    throw std::logic_error("first");
  } catch (const std::logic_error& first) {
    EXPECT_STREQ(first.what(), "first");
  }
}

}  // namespace
}  // namespace bloomery::detail
