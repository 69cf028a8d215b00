// Types of a program's own as keys: bloomery_key, as the head of hash.hpp explains it.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <bloomery/bloomery.hpp>

namespace shop {

struct Item {
  std::uint32_t store;
  std::uint32_t number;
};
std::uint64_t bloomery_key(const Item& item) {
  return std::uint64_t{item.store} << 32 | item.number;
}

// Has padding, which must not be hashed.
struct Price {
  char currency;
  std::uint32_t cents;
};
std::array<std::byte, 5> bloomery_key(const Price& price) {
  std::array<std::byte, 5> bytes{static_cast<std::byte>(price.currency)};
  std::memcpy(&bytes[1], &price.cents, sizeof price.cents);
  return bytes;
}

struct Name {
  std::string first;
  std::string last;
};
std::string bloomery_key(const Name& name) { return name.first + '\n' + name.last; }

enum class Colour { red = 3, green = 5 };
int bloomery_key(Colour colour) { return static_cast<int>(colour); }

// A text too, but the function is asked first.
struct Loud : std::string {
  using std::string::string;
};
std::string bloomery_key(const Loud& text) { return text + "!"; }

struct Plain {
  int number;
};

// Returns nothing that is a key.
struct Odd {};
[[maybe_unused]] double bloomery_key(const Odd&);

}  // namespace shop

namespace bloomery {
namespace {

static_assert(Hashable<shop::Item> && Hashable<shop::Price> && Hashable<shop::Name>);
static_assert(Hashable<shop::Colour> && Hashable<shop::Loud>);
static_assert(!Hashable<shop::Plain> && !Hashable<shop::Odd>);

TEST(UserKeys, AreHashedAsWhatTheirFunctionReturns) {
  const Hasher hasher(5);
  EXPECT_EQ(hasher(shop::Item{7, 42}), hasher(std::uint64_t{7} << 32 | 42));
  EXPECT_EQ(hasher.fast(shop::Item{7, 42}), hasher(std::uint64_t{7} << 32 | 42));
  EXPECT_EQ(hasher.wide(shop::Name{"a", "b"}), hasher.wide("a\nb"));
  EXPECT_EQ(hasher(shop::Colour::green), hasher(5));
  EXPECT_EQ(hasher(shop::Loud("hey")), hasher("hey!"));
}

TEST(UserKeys, PaddingIsNotHashed) {
  Set<BlockedBloom> seen({.keys = 100, .rate = 0.01});
  shop::Price one;
  shop::Price other;
  std::memset(&one, 0, sizeof one);
  std::memset(&other, 0xff, sizeof other);
  one.currency = other.currency = 'E';
  one.cents = other.cents = 250;
  EXPECT_TRUE(seen.add(one));
  EXPECT_FALSE(seen.add(other));
}

TEST(UserKeys, HaveTheFormOfWhatTheyAreHashedAs) {
  Set<BlockedBloom> items({.keys = 100, .rate = 1e-6});
  EXPECT_TRUE(items.add(shop::Item{7, 42}));
  EXPECT_EQ(items.rules().form, KeyForm::u64);
  EXPECT_TRUE(items.may_contain(std::uint64_t{7} << 32 | 42));
  EXPECT_FALSE(items.may_contain(shop::Item{42, 7}));
  EXPECT_THROW(items.add(shop::Name{"a", "b"}), Failure);

  Set<HashSet> names(Want{});
  EXPECT_TRUE(names.add(shop::Name{"a", "b"}));
  EXPECT_TRUE(names.contains("a\nb"));
  EXPECT_EQ(names.rules().form, KeyForm::text);
}

TEST(UserKeys, ThatAreIntegersGoIntoMaps) {
  Set<Bitmap> colours({.range = {0, 9}});
  EXPECT_TRUE(colours.add(shop::Colour::red));
  EXPECT_TRUE(colours.contains(3));
  EXPECT_TRUE(colours.contains(shop::Colour::red));
  EXPECT_FALSE(colours.contains(shop::Colour::green));
  EXPECT_FALSE(colours.contains(static_cast<shop::Colour>(-1)));
  EXPECT_THROW(colours.add(static_cast<shop::Colour>(10)), std::out_of_range);
}

}  // namespace
}  // namespace bloomery
