// Shapes to bytes and back: field by field, little-endian, no padding.
//
// A kind lists its fields once, as pointers to members; this turns the list into bytes for files
// and into names and numbers for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

// One field of a shape: what people call it and where it is.
template <class Shape, class T>
struct Field {
  const char* name;
  T Shape::*member;
};
template <class Shape, class T>
Field(const char*, T Shape::*) -> Field<Shape, T>;

template <class K>
std::vector<std::byte> encode_shape(const typename K::Shape& shape) {
  return std::apply(
      [&](const auto&... field) {
        std::vector<std::byte> bytes((sizeof(shape.*field.member) + ...));
        std::byte* next = bytes.data();
        const auto put = [&](const auto& value) {
          std::memcpy(next, &value, sizeof value);
          next += sizeof value;
        };
        (put(shape.*field.member), ...);
        return bytes;
      },
      K::fields);
}

// Not inlined: GCC 12 sees the joined texts overrun their buffer, which they do not.
[[gnu::noinline]] inline Error wrong_shape_length(std::string_view kind, std::size_t bytes) {
  return {Code::damaged, "the shape of a " + std::string(kind) + " set has " +
                             std::to_string(bytes) + " bytes, not what it needs"};
}

template <class K>
Result<typename K::Shape> decode_shape(std::span<const std::byte> bytes) {
  typename K::Shape shape{};
  std::size_t at = 0;
  bool enough = true;
  std::apply(
      [&](const auto&... field) {
        const auto take = [&](auto& value) {
          enough = enough && bytes.size() - at >= sizeof value;
          if (!enough) return;
          std::memcpy(&value, bytes.data() + at, sizeof value);
          at += sizeof value;
        };
        (take(shape.*field.member), ...);
      },
      K::fields);
  if (!enough || at != bytes.size()) return detail::wrong_shape_length(K::id.name, bytes.size());
  return shape;
}

template <class K>
std::vector<std::pair<std::string, std::string>> shape_facts_of(const typename K::Shape& shape) {
  std::vector<std::pair<std::string, std::string>> facts;
  std::apply(
      [&](const auto&... field) {
        (facts.emplace_back(field.name, std::to_string(shape.*field.member)), ...);
      },
      K::fields);
  return facts;
}

// Names the first field in which two shapes differ; empty when they are equal.
template <class K>
std::string shape_difference(const typename K::Shape& one, const typename K::Shape& other) {
  std::string difference;
  std::apply(
      [&](const auto&... field) {
        const auto compare = [&](const auto& f) {
          if (difference.empty() && one.*f.member != other.*f.member)
            difference = std::string(f.name) + " is " + std::to_string(one.*f.member) +
                         " in one and " + std::to_string(other.*f.member) + " in the other";
        };
        (compare(field), ...);
      },
      K::fields);
  return difference;
}

}  // namespace bloomery::inline v0::detail
