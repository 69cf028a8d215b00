// A block list with an allow list: no error on either, a key in both is reported, and a built set
// is neither added to nor merged. Its laws are here, since it cannot begin empty as other kinds do.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <bloomery/sets/build/sorted_hashes.hpp>
#include <tests/laws/chances.hpp>
#include <tests/laws/law_keys.hpp>

namespace bloomery::detail {
namespace {

constexpr std::uint64_t first_allowed = std::uint64_t{1} << 40;
constexpr std::uint64_t first_stranger = std::uint64_t{1} << 50;

std::vector<std::uint64_t> integers(std::uint64_t first, std::uint64_t count) {
  return numbered_keys<Cascade>({}, first, count);
}

Set<Cascade> built(std::uint64_t blocked, std::uint64_t allowed, const Want& want,
                   Hasher hasher = Hasher{}) {
  return Set<Cascade>::build(want, integers(0, blocked), integers(first_allowed, allowed), hasher)
      .value();
}

Cascade body_of(std::uint64_t blocked, std::uint64_t allowed, const Want& want) {
  const Hasher hasher;
  return CascadeBuilder::build(
             want, Texts<std::uint64_t, WideHash>(integers(0, blocked), hasher),
             Texts<std::uint64_t, WideHash>(integers(first_allowed, allowed), hasher))
      .value();
}

TEST(Cascade, BlocksEveryBlockedKeyAndNoAllowedOne) {
  for (const double rate : {0.5, 0.1, 0.01, 1e-3, 1e-6})
    for (const std::uint64_t blocked : {0, 1, 2, 100, 2'048, 20'000})
      for (const std::uint64_t allowed : {0, 1, 3, 2'049, 50'000}) {
        SCOPED_TRACE(testing::Message()
                     << blocked << " blocked, " << allowed << " allowed, rate " << rate);
        const auto set = built(blocked, allowed, {.rate = rate});
        EXPECT_EQ(count_members(set, integers(0, blocked)), blocked);
        EXPECT_EQ(count_members(set, integers(first_allowed, allowed)), 0);
      }
}

TEST(Cascade, OneByOneAnswersAsInBulk) {
  const auto set = built(3'000, 30'000, {.rate = 0.3});
  for (const std::uint64_t first : {std::uint64_t{0}, first_allowed, first_stranger}) {
    const auto keys = integers(first, 5'000);
    Bools answers(keys.size());
    set.may_contain_all(keys, answers);
    for (std::size_t i = 0; i < keys.size(); ++i)
      ASSERT_EQ(answers[i], set.may_contain(keys[i])) << i;
  }
}

TEST(Cascade, TextsAndHashesAreKeysToo) {
  const std::vector<std::string> bad = {"spam@example.org", "", "more@example.org"};
  const std::vector<std::string> good = {"friend@example.org"};
  const auto texts = Set<Cascade>::build({.rate = 0.01}, bad, good).value();
  for (const std::string& text : bad) EXPECT_TRUE(texts.may_contain(text));
  EXPECT_FALSE(texts.may_contain("friend@example.org"));
  EXPECT_EQ(texts.rules().form, KeyForm::text);

  const std::vector<WideHash> hashes = {{}, {1, 2}, {~0ULL, ~0ULL}};
  const auto by_hash = Set<Cascade>::build({.rate = 0.01}, hashes, std::vector<WideHash>{{1, 3}});
  ASSERT_TRUE(by_hash);
  for (const WideHash hash : hashes) EXPECT_TRUE(by_hash->may_contain(hash));
  EXPECT_FALSE(by_hash->may_contain(WideHash{1, 3}));
  EXPECT_EQ(by_hash->rules().form, KeyForm::hash);
}

// Keys that the filter cannot tell apart, and every hash at an edge of the list.
TEST(Cascade, AllowedKeysWithTheLowHalfOfABlockedOneAreListed) {
  std::vector<WideHash> blocked;
  std::vector<WideHash> allowed;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const std::uint64_t low = Hasher()(i % 7).bits;
    blocked.push_back({i * 2, low});
    allowed.push_back({i * 2 + 1, low});
    allowed.push_back({~0ULL - i, low});
  }
  const auto set = Set<Cascade>::build({.rate = 0.01}, blocked, allowed).value();
  for (const WideHash hash : blocked) EXPECT_TRUE(set.may_contain(hash));
  for (const WideHash hash : allowed) EXPECT_FALSE(set.may_contain(hash));
  EXPECT_EQ(set.bytes() - 64, allowed.size() * sizeof(WideHash));
}

TEST(Cascade, HardenedSetsHoldBothListsToo) {
  const auto set = built(2'000, 20'000, {.rate = 0.05}, Hasher::hardened({5, 6}));
  EXPECT_EQ(count_members(set, integers(0, 2'000)), 2'000);
  EXPECT_EQ(count_members(set, integers(first_allowed, 20'000)), 0);
}

TEST(Cascade, StrangersPassAtTheRateThatTheBitsSay) {
  for (const double rate : {0.2, 0.01, 1e-3}) {
    SCOPED_TRACE(rate);
    const auto set = built(50'000, 5'000, {.rate = rate});
    const std::uint64_t passed = count_members(set, integers(first_stranger, 200'000));
    EXPECT_TRUE(is_likely(passed, 200'000, set.rate_now())) << passed;
    EXPECT_NEAR(set.rate_now() / rate, 1, 0.1);
    EXPECT_EQ(set.rate_asked(), rate);
    EXPECT_NEAR(set.estimate(), 50'000, 500);
    EXPECT_EQ(set.capacity(), 50'000);
    EXPECT_FALSE(set.overfull());
  }
}

TEST(Cascade, ManyAllowedKeysMakeTheFilterFinerAndTheWholeSmaller) {
  const Cascade few = body_of(10'000, 1'000, {.rate = 0.1});
  EXPECT_EQ(few.filter().rate_asked(), 0.1);
  EXPECT_EQ(few.allowed(), 1'000);
  EXPECT_NEAR(static_cast<double>(few.listed()), 100, 50);

  const Cascade many = body_of(10'000, 200'000, {.rate = 0.1});
  EXPECT_LT(many.filter().rate_asked(), 0.01);
  EXPECT_EQ(many.rate_asked(), 0.1);
  const auto coarse = BlockedBloom::plan({.keys = 10'000, .rate = 0.1}).value();
  EXPECT_LT(many.bytes() * 4, BlockedBloom::bytes(coarse) + 200'000 / 10 * sizeof(WideHash));
  EXPECT_EQ(many.bytes(), many.filter().bytes() + many.listed() * sizeof(WideHash));
}

TEST(Cascade, KeysInBothListsAreToldByTheirNumbers) {
  const std::vector<std::string> good = {"a", "b", "c", "b"};
  const std::vector<std::string> bad = {"x", "y", "b", "a"};
  const auto refused = Set<Cascade>::build({.rate = 0.01}, bad, good);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::bad_input);
  EXPECT_NE(refused.error().sentence.find("blocked key number 3 is allowed key number 2"),
            std::string::npos)
      << refused.error().sentence;

  // The first of its list, wherever it stands.
  const Hasher hasher;
  for (const std::uint64_t blocked : {0, 1, 2'047, 2'048, 9'999})
    for (const std::uint64_t allowed : {0, 4'095, 4'096, 29'999}) {
      auto keys = integers(0, 10'000);
      keys[blocked] = first_allowed + allowed;
      CascadeBuilder builder({.rate = 0.01});
      builder.allow_all(Texts<std::uint64_t, WideHash>(integers(first_allowed, 30'000), hasher))
          .value();
      EXPECT_FALSE(builder.block_all(Texts<std::uint64_t, WideHash>(keys, hasher)));
      ASSERT_TRUE(builder.conflict());
      EXPECT_EQ(builder.conflict()->blocked, blocked);
      EXPECT_EQ(builder.conflict()->allowed, allowed);
      EXPECT_FALSE(std::move(builder).finish());
    }
}

TEST(Cascade, AllowedKeysAfterBlockedOnesAreRefused) {
  CascadeBuilder builder({.rate = 0.01});
  const std::vector<WideHash> one = {{1, 1}};
  const std::vector<WideHash> other = {{2, 2}};
  builder.block_all(one).value();
  auto refused = builder.allow_all(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unsound);
}

TEST(Cascade, TheSetDependsOnlyOnWhichKeysThereAre) {
  auto bad = integers(0, 5'000);
  auto good = integers(first_allowed, 5'000);
  const auto once = Set<Cascade>::build({.rate = 0.02}, bad, good).value();
  std::reverse(bad.begin(), bad.end());
  std::reverse(good.begin(), good.end());
  bad.insert(bad.end(), bad.begin(), bad.begin() + 1'000);
  good.insert(good.end(), good.begin(), good.begin() + 1'000);
  const auto again = Set<Cascade>::build({.rate = 0.02}, bad, good).value();
  EXPECT_EQ(bits_of(once), bits_of(again));
  EXPECT_EQ(once.adds(), again.adds());
  // With the number of keys known in advance, another code path gives the same bits.
  const auto known = Set<Cascade>::build({.keys = 5'000, .rate = 0.02}, bad, good).value();
  EXPECT_EQ(bits_of(once), bits_of(known));
}

TEST(Cascade, MemoryGivesTheRateAndIsACap) {
  constexpr std::uint64_t memory = 64 << 10;
  const auto by_memory = built(20'000, 20'000, {.memory_bytes = memory});
  EXPECT_LE(by_memory.bytes(), memory);
  EXPECT_GT(by_memory.bytes(), memory * 9 / 10);
  EXPECT_LE(by_memory.rate_now(), by_memory.rate_asked() * 1.06);
  const auto refused = Set<Cascade>::build({.rate = 1e-6, .memory_bytes = memory},
                                           integers(0, 20'000), integers(first_allowed, 20'000));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::impossible);
}

TEST(Cascade, ImpossibleWantsAreRefused) {
  const double nan = std::nan("");
  for (const double rate : {0.0, 1.0, -0.1, 0.51, 1e-13, nan})
    EXPECT_EQ(Set<Cascade>::build({.rate = rate}, integers(0, 10), integers(20, 5)).error().code,
              Code::impossible)
        << rate;
  EXPECT_FALSE(Set<Cascade>::build({.keys = std::uint64_t{1} << 51, .rate = 0.01}, integers(0, 10),
                                   integers(20, 5)));
}

TEST(Cascade, MoreKeysThanPlannedAreSaidAndBothListsStillHold) {
  const auto set = built(5'000, 5'000, {.keys = 1'000, .rate = 0.01});
  EXPECT_TRUE(set.overfull());
  EXPECT_GT(set.rate_now(), set.rate_asked());
  EXPECT_EQ(count_members(set, integers(0, 5'000)), 5'000);
  EXPECT_EQ(count_members(set, integers(first_allowed, 5'000)), 0);
}

TEST(Cascade, SavedAndOpenedGivesTheSameAnswersAndTheSameBytes) {
  const ScratchDirectory scratch;
  const auto set = built(20'000, 100'000, {.rate = 0.02}, Hasher(99));
  set.save(scratch / "first.blm");
  auto opened = Set<Cascade>::open(scratch / "first.blm");
  ASSERT_TRUE(opened) << opened.error().sentence;
  EXPECT_EQ(count_members(*opened, integers(0, 20'000)), 20'000);
  EXPECT_EQ(count_members(*opened, integers(first_allowed, 100'000)), 0);
  EXPECT_EQ(count_members(*opened, integers(first_stranger, 50'000)),
            count_members(set, integers(first_stranger, 50'000)));
  EXPECT_EQ(opened->adds(), set.adds());
  EXPECT_EQ(opened->capacity(), set.capacity());
  EXPECT_EQ(opened->bytes(), set.bytes());
  EXPECT_EQ(opened->rate_asked(), set.rate_asked());
  EXPECT_EQ(opened->rules(), set.rules());
  opened->save(scratch / "second.blm");
  EXPECT_EQ(read_whole(scratch / "first.blm"), read_whole(scratch / "second.blm"));

  // No other kind takes it for one of its own.
  AllKinds::for_each([&]<class Other>() {
    if constexpr (!TwoListed<Other>) {
      const auto refused = Set<Other>::open(scratch / "first.blm");
      ASSERT_FALSE(refused) << Other::id.name;
      EXPECT_EQ(refused.error().code, Code::mismatch) << Other::id.name;
    }
  });
  Set<BlockedBloom>({.keys = 10, .rate = 0.1}).save(scratch / "blocked.blm");
  EXPECT_EQ(Set<Cascade>::open(scratch / "blocked.blm").error().code, Code::mismatch);
}

// Each of these would silently answer wrongly.
TEST(Cascade, DamagedPartsAreRefused) {
  const Cascade set = body_of(10'000, 2'000, {.rate = 0.1});
  ASSERT_GT(set.listed(), 10);
  ASSERT_TRUE(Cascade::from_parts(set.parts()));
  const auto refused = [&](auto&& change) {
    Parts parts = set.parts();
    change(parts);
    const auto made = Cascade::from_parts(std::move(parts));
    ASSERT_FALSE(made);
    EXPECT_TRUE(made.error().code == Code::damaged || made.error().code == Code::mismatch)
        << made.error().sentence;
  };
  const auto list_of = [](Parts& parts, auto&& change) {
    Part& list = parts.parts[1];
    list.memory = Memory::copy_of(list.payload).value();
    list.payload = list.memory.bytes();
    change(reinterpret_cast<WideHash*>(list.memory.bytes().data()));
  };
  refused([](Parts& parts) { parts.parts.pop_back(); });
  refused([](Parts& parts) { std::swap(parts.parts[0], parts.parts[1]); });
  refused([](Parts& parts) { parts.form = Form::chain; });
  refused([](Parts& parts) { parts.parts[0].state[0] = 0; });
  refused([](Parts& parts) { parts.parts[0].state[0] = std::bit_cast<std::uint64_t>(0.75); });
  refused([](Parts& parts) { parts.parts[1].capacity = 3; });
  refused([](Parts& parts) { parts.parts[1].adds -= 1; });
  refused([](Parts& parts) { parts.parts[1].payload = parts.parts[1].payload.first(16); });
  refused(
      [&](Parts& parts) { list_of(parts, [](WideHash* list) { std::swap(list[3], list[4]); }); });
  refused([&](Parts& parts) { list_of(parts, [](WideHash* list) { list[4] = list[3]; }); });
  // In ascending order, but not matched by this filter.
  refused([&](Parts& parts) {
    list_of(parts, [&](WideHash* list) {
      while (set.filter().may_contain(Hash{list[0].low})) ++list[0].low;
    });
  });
}

TEST(Cascade, TakesNoMoreKeysAndDoesNotMerge) {
  const auto any = [] { return AnySet::of(body_of(100, 100, {.rate = 0.01}), Hasher{}, {}); };
  AnySet set = any();
  const std::vector<std::string_view> texts = {"text"};
  const std::vector<Hash> hashes = {Hash{1}};
  const auto expect_unsound = [](const Error& error, const char* word, Code code = Code::unsound) {
    EXPECT_EQ(error.code, code);
    EXPECT_NE(error.sentence.find(word), std::string::npos) << error.sentence;
  };
  expect_unsound(set.add_all(texts).error(), "build it again from both lists", Code::unsupported);
  expect_unsound(set.add_all(hashes).error(), "build it again from both lists", Code::unsupported);
  expect_unsound(set.remove_all(texts).error(), "build it again from both lists");
  auto united = set.unite(any());
  ASSERT_FALSE(united);
  expect_unsound(united.error(), "build one");
  auto intersected = set.intersect(any());
  ASSERT_FALSE(intersected);
  expect_unsound(intersected.error(), "build one");
  EXPECT_FALSE(set.subtract(any()));
  EXPECT_FALSE(set.exclusive(any()));
  EXPECT_EQ(set.lists()->allowed, 100);
  EXPECT_EQ(set.kind().name, "cascade");
  EXPECT_EQ(AnySet::make("cascade", {.keys = 1, .rate = 0.01}).error().code, Code::unsupported);
}

TEST(Cascade, PartsOfAnAnySetMakeTheSameSetAgain) {
  const AnySet set = AnySet::of(body_of(1'000, 9'000, {.rate = 0.05}), Hasher(3), {});
  const Parts parts = set.parts().value();
  for (const Part& part : parts.parts) EXPECT_TRUE(AnySet::check_part(part, part.payload.size()));
  const auto again = AnySet::from_parts(set.parts().value(), set.hasher(), set.rules());
  ASSERT_TRUE(again) << again.error().sentence;
  EXPECT_EQ(again->kind(), set.kind());
  EXPECT_EQ(bits_of(again->parts().value()), bits_of(parts));
  EXPECT_EQ(again->lists()->exceptions, set.lists()->exceptions);
  EXPECT_EQ(again->rate_asked(), 0.05);
}

TEST(SortedHashes, EveryHashOfAListIsFoundAndNoOther) {
  for (const std::size_t size : {0, 1, 2, 3, 10, 1'000, 100'000}) {
    for (const bool even : {true, false}) {
      std::vector<WideHash> list;
      for (std::size_t i = 0; i < size; ++i)
        list.push_back(even ? Hasher().wide(i) : WideHash{i / 2, i % 2 * 8});
      std::sort(list.begin(), list.end());
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(place_in(list, list[i]), i);
        ASSERT_TRUE(is_in(list, list[i]));
        ASSERT_FALSE(is_in(list, WideHash{list[i].high, list[i].low + 1}));
      }
      EXPECT_FALSE(is_in(list, WideHash{~0ULL, ~0ULL}));
      EXPECT_EQ(place_in(list, WideHash{~0ULL, ~0ULL}), size);
      EXPECT_EQ(is_in(list, WideHash{}), size != 0 && !even);
    }
  }
}

}  // namespace
}  // namespace bloomery::detail
