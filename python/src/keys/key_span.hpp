// Keys as the engine takes them: a span of one form.
//
//    int                        u64 from 0 on, i64 when negative: hashed as the same eight bytes
//    str, bytes, UUID, tables   texts
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace bloomery::python {

using Naturals = std::span<const std::uint64_t>;
using Integers = std::span<const std::int64_t>;
using Texts = std::span<const std::string_view>;
using KeySpan = std::variant<Naturals, Integers, Texts>;

inline std::size_t size_of(const KeySpan& keys) {
  return std::visit([](const auto& span) { return span.size(); }, keys);
}

}  // namespace bloomery::python
