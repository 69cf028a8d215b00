// Shapes become bytes without padding, and the same shapes again.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <bloomery/detail/sets/kinds.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>

namespace bloomery::detail {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

// In every file: red means that old files no longer open.
TEST(ShapeFields, GoldenBytesAreLittleEndianWithoutPadding) {
  EXPECT_EQ(
      encode_shape<BlockedBloom>({0x0102'0304'0506'0708, 0x0a0b'0c0d, 2}),
      bytes_of(std::string("\x08\x07\x06\x05\x04\x03\x02\x01\x0d\x0c\x0b\x0a\x02\0\0\0", 16)));
  EXPECT_EQ(encode_shape<ClassicBloom>({512, 7}),
            bytes_of(std::string("\0\2\0\0\0\0\0\0\7\0\0\0", 12)));
  EXPECT_EQ(encode_shape<Bitmap>({1, 258}),
            bytes_of(std::string("\1\0\0\0\0\0\0\0\2\1\0\0\0\0\0\0", 16)));
  EXPECT_EQ(encode_shape<HashSet>({3}), bytes_of(std::string("\3\0\0\0\0\0\0\0", 8)));
}

TEST(ShapeFields, EveryShapeComesBackAndNoOtherLengthDoes) {
  const auto try_shape = []<class K>(const typename K::Shape& shape) {
    SCOPED_TRACE(std::string(K::id.name));
    auto bytes = encode_shape<K>(shape);
    EXPECT_LE(bytes.size(), 128);
    EXPECT_EQ(decode_shape<K>(bytes).value(), shape);
    bytes.push_back(std::byte{0});
    ASSERT_FALSE(decode_shape<K>(bytes));
    EXPECT_EQ(decode_shape<K>(bytes).error().code, Code::damaged);
    for (bytes.pop_back(); !bytes.empty();) {
      bytes.pop_back();
      ASSERT_FALSE(decode_shape<K>(bytes)) << bytes.size();
    }
  };
  try_shape.operator()<Bitmap>({5, 9});
  try_shape.operator()<TwoBitMap>({5, 9});
  try_shape.operator()<ClassicBloom>({1'024, 3});
  try_shape.operator()<BlockedBloom>({9, 8, 1});
  try_shape.operator()<SplitBlock>({77});
  try_shape.operator()<HashSet>({12});
}

TEST(ShapeFields, TheFirstFieldThatDiffersIsNamed) {
  EXPECT_EQ(shape_difference<BlockedBloom>({1, 2, 1}, {1, 2, 1}), "");
  EXPECT_EQ(shape_difference<BlockedBloom>({1, 2, 1}, {1, 3, 2}),
            "probes is 2 in one and 3 in the other");
  EXPECT_EQ(shape_difference<ClassicBloom>({512, 2}, {1'024, 3}),
            "bits is 512 in one and 1024 in the other");
}

TEST(ShapeFields, FactsAreNamesAndNumbers) {
  const auto facts = shape_facts_of<ClassicBloom>({512, 7});
  ASSERT_EQ(facts.size(), 2);
  EXPECT_EQ(facts[0], (std::pair<std::string, std::string>("bits", "512")));
  EXPECT_EQ(facts[1], (std::pair<std::string, std::string>("probes", "7")));
}

}  // namespace
}  // namespace bloomery::detail
