// Images as bytes and on streams: the same bytes as a file, and as little believed.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <span>
#include <sstream>
#include <streambuf>
#include <string>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <bloomery/image.hpp>

#include <tests/storage/image_samples.hpp>

namespace bloomery::detail {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

AnySet some_set(std::string_view kind) {
  auto set = AnySet::make(kind, {.keys = 3000, .rate = 0.01}).value();
  std::vector<std::string> keys;
  for (int i = 0; i < 2000; ++i) keys.push_back("key " + std::to_string(i));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  EXPECT_TRUE(set.add_all(views).has_value());
  return set;
}

bool has(const AnySet& set, std::string_view key) {
  bool answer = false;
  EXPECT_TRUE(set.may_contain_all(std::span(&key, 1), std::span(&answer, 1)).has_value());
  return answer;
}

TEST(ImageBytes, AreThoseOfTheFile) {
  const ScratchDirectory scratch;
  for (const char* kind : {"blocked", "cuckoo", "chain", "scalable", "compact", "hash-set"}) {
    const AnySet set = some_set(kind);
    const auto path = scratch / kind;
    ASSERT_TRUE(set.save(path).has_value()) << kind;
    const auto bytes = set.to_bytes();
    ASSERT_TRUE(bytes.has_value()) << bytes.error().sentence;
    std::ostringstream out;
    ASSERT_TRUE(set.save(out).has_value()) << kind;
    std::ifstream file(path, std::ios::binary);
    const std::string saved((std::istreambuf_iterator<char>(file)), {});
    EXPECT_TRUE(text_of(*bytes) == saved) << kind;
    EXPECT_TRUE(out.str() == saved) << kind;
  }
}

TEST(ImageBytes, OpenAgainWithEveryKey) {
  for (const char* kind : {"classic", "split-block", "counting", "chain", "hash-set"}) {
    const auto bytes = some_set(kind).to_bytes().value();
    const auto again = AnySet::from_bytes(bytes);
    ASSERT_TRUE(again.has_value()) << again.error().sentence;
    EXPECT_EQ(again->kind().name, kind);
    EXPECT_EQ(again->adds(), some_set(kind).adds());
    for (int i = 0; i < 2000; ++i) ASSERT_TRUE(has(*again, "key " + std::to_string(i)));
    EXPECT_TRUE(again->to_bytes().value() == bytes) << "saving again gives other bytes";
  }
}

// The set has a copy: what happens to the bytes later does not matter.
TEST(ImageBytes, AreCopied) {
  auto bytes = some_set("blocked").to_bytes().value();
  const auto set = AnySet::from_bytes(bytes).value();
  std::memset(bytes.data(), 0xff, bytes.size());
  EXPECT_FALSE(has(set, "a key that was never added"));
  EXPECT_TRUE(has(set, "key 7"));
}

TEST(ImageBytes, RefuseEveryWrongLength) {
  const auto bytes = image_bytes(small_image()).value();
  for (std::size_t length = 0; length < bytes.size(); length += length < 8200 ? 1 : 97) {
    const auto read = read_image(std::span(bytes).first(length));
    ASSERT_FALSE(read.has_value()) << length;
    EXPECT_FALSE(read.error().sentence.empty());
  }
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_EQ(read_image(longer).error().code, Code::damaged);
}

TEST(ImageBytes, RefuseEveryChangedByte) {
  auto bytes = image_bytes(small_image()).value();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{1};
    ASSERT_FALSE(read_image(bytes).has_value()) << i;
    bytes[i] ^= std::byte{1};
  }
  EXPECT_TRUE(read_image(bytes).has_value());
}

// Two images one after the other: each read takes its own and no byte more.
TEST(ImageOnAStream, IsReadToItsEndOnly) {
  std::stringstream stream;
  ASSERT_TRUE(some_set("blocked").save(stream).has_value());
  ASSERT_TRUE(some_set("hash-set").save(stream).has_value());
  stream << "tail";
  EXPECT_EQ(AnySet::open(stream).value().kind().name, "blocked");
  EXPECT_EQ(AnySet::open(stream).value().kind().name, "hash-set");
  std::string tail;
  stream >> tail;
  EXPECT_EQ(tail, "tail");
}

TEST(ImageOnAStream, IsRefusedWhenCutShortOrNotOurs) {
  std::ostringstream out;
  ASSERT_TRUE(some_set("blocked").save(out).has_value());
  const std::string whole = out.str();
  for (const std::size_t length : {std::size_t{0}, std::size_t{7}, std::size_t{4096},
                                   std::size_t{12287}, whole.size() / 2, whole.size() - 1}) {
    std::istringstream in(whole.substr(0, length));
    const auto read = AnySet::open(in);
    ASSERT_FALSE(read.has_value()) << length;
    EXPECT_NE(read.error().code, Code::no_memory) << read.error().sentence;
  }
  std::istringstream text(std::string(100'000, 'x'));
  EXPECT_EQ(AnySet::open(text).error().code, Code::not_ours);
}

// A superblock that claims an exabyte, with checksums that fit: refused for what is missing, after
// reading what is there.
TEST(ImageOnAStream, ClaimsAllocateNothing) {
  const ScratchDirectory scratch;
  Surgeon surgeon(bytes_of(scratch, small_image()));
  const std::string claimed = [&] {
    for (std::size_t at = 0; at < 200; at += 8)
      if (surgeon.get<std::uint64_t>(at) == surgeon.bytes().size()) {
        surgeon.put(at, std::uint64_t{1} << 60);
        return std::string("found");
      }
    return std::string();
  }();
  ASSERT_EQ(claimed, "found") << "the length of the file is not in the superblock";
  const auto bytes = surgeon.sealed();
  std::istringstream in(text_of(std::as_bytes(std::span(bytes))));
  const auto read = AnySet::open(in);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, Code::damaged) << read.error().sentence;
}

TEST(ImageOnAStream, SaysWhenItCannotBeWritten) {
  struct Full : std::streambuf {
    std::streamsize xsputn(const char*, std::streamsize count) override {
      return (room -= count) < 0 ? 0 : count;
    }
    std::streamsize room = 10'000;
  } full;
  std::ostream out(&full);
  const auto saved = some_set("blocked").save(out);
  ASSERT_FALSE(saved.has_value());
  EXPECT_EQ(saved.error().code, Code::io);
}

// A secret key that was given from outside is never written into the bytes.
TEST(ImageBytes, KeepASecretKeyElsewhere) {
  const SecretKey key{0x0123456789abcdef, 0xfedcba9876543210};
  Image image = small_image();
  image.hasher = Hasher::hardened(key);
  image.key_is_elsewhere = true;
  const auto bytes = image_bytes(image).value();
  EXPECT_EQ(read_image(bytes).error().code, Code::mismatch);
  const auto set = AnySet::from_bytes(bytes, {.key = key});
  ASSERT_TRUE(set.has_value()) << set.error().sentence;
  const std::string again = text_of(set->to_bytes().value());
  std::string secret(8, '\0');
  std::memcpy(secret.data(), &key.low, 8);
  EXPECT_EQ(again.find(secret), std::string::npos);
  EXPECT_EQ(AnySet::from_bytes(set->to_bytes().value()).error().code, Code::mismatch);
}

TEST(SetBytes, GoAndComeBack) {
  Set<BlockedBloom> seen({.keys = 1000, .rate = 0.01});
  for (std::uint64_t i = 0; i < 1000; ++i) seen.add(i);
  const std::vector<std::byte> bytes = seen.to_bytes();
  const auto again = Set<BlockedBloom>::from_bytes(bytes);
  ASSERT_TRUE(again.has_value()) << again.error().sentence;
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(again->may_contain(i));
  EXPECT_EQ(again->adds(), seen.adds());
  EXPECT_THROW(static_cast<void>(again->may_contain("a text")), Failure) << "the form is lost";

  std::stringstream stream;
  seen.save(stream);
  EXPECT_TRUE(Set<BlockedBloom>::open(stream).has_value());
  const auto other = Set<Cuckoo>::from_bytes(bytes);
  ASSERT_FALSE(other.has_value()) << "a blocked set was opened as a cuckoo";
}

template <class K>
void expect_clone_apart() {
  Set<K> set({.keys = 1000, .rate = 0.01});
  set.add("one");
  auto copy = set.clone().value();
  EXPECT_TRUE(copy == set);
  EXPECT_EQ(copy.adds(), set.adds());
  EXPECT_TRUE(copy.add("two"));
  EXPECT_FALSE(copy == set);
  EXPECT_FALSE(set.may_contain("two"));
  EXPECT_THROW(copy.add(std::uint64_t{2}), Failure) << "the form is lost";
}

TEST(SetClone, IsEqualAndApart) {
  expect_clone_apart<BlockedBloom>();
  expect_clone_apart<Cuckoo>();
  expect_clone_apart<Scalable>();
  expect_clone_apart<HashSet>();
  EXPECT_FALSE((Set<BlockedBloom>({.keys = 10, .rate = 0.01}) ==
                Set<BlockedBloom>({.keys = 10, .rate = 0.01}, Hasher(7))));
}

TEST(AnySetFiles, NamesTheFile) {
  const ScratchDirectory scratch;
  const auto missing = AnySet::open(scratch / "missing.bloom");
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().sentence.find("missing.bloom"), std::string::npos);
  ASSERT_TRUE(some_set("blocked").save(scratch / "a.bloom").has_value());
  EXPECT_TRUE(AnySet::open(scratch / "a.bloom", {.verify = Verify::header}).has_value());
  EXPECT_EQ(
      some_set("blocked").save(scratch / "a.bloom", {.overwrite = Overwrite::refuse}).error().code,
      Code::exists);
}

}  // namespace
}  // namespace bloomery::detail
