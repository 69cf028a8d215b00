#include "keys/arrow_rows.hpp"

#include <charconv>
#include <string_view>

namespace bloomery::python {
namespace {

// Text by offsets: row i lies in bytes offsets[i] to offsets[i + 1].
template <class Offset>
class OffsetRows final : public Rows {
 public:
  OffsetRows(const ArrowArray& array)
      : offsets_(static_cast<const Offset*>(array.buffers[1]) + array.offset),
        bytes_(static_cast<const char*>(array.buffers[2])) {}

  KeySpan take(std::size_t first, std::size_t n) override {
    texts_.resize(ready_keys);
    const Offset* offsets = offsets_ + first;
    for (std::size_t i = 0; i < n; ++i)
      texts_[i] = {bytes_ + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
    return Texts(texts_.data(), n);
  }

 private:
  const Offset* offsets_;
  const char* bytes_;
  std::vector<std::string_view> texts_;
};

// Text by views of 16 bytes: length and up to 12 bytes, or length, 4 bytes, buffer, offset.
class ViewRows final : public Rows {
 public:
  explicit ViewRows(const ArrowArray& array)
      : views_(static_cast<const char*>(array.buffers[1]) + array.offset * 16),
        buffers_(reinterpret_cast<const char* const*>(array.buffers + 2)) {}

  KeySpan take(std::size_t first, std::size_t n) override {
    texts_.resize(ready_keys);
    for (std::size_t i = 0; i < n; ++i) {
      const char* view = views_ + (first + i) * 16;
      const auto field = [&](std::size_t at) {
        std::int32_t value = 0;
        std::memcpy(&value, view + at, sizeof value);
        return value;
      };
      const auto length = static_cast<std::size_t>(field(0));
      texts_[i] = {length <= 12 ? view + 4 : buffers_[field(8)] + field(12), length};
    }
    return Texts(texts_.data(), n);
  }

 private:
  const char* views_;
  const char* const* buffers_;
  std::vector<std::string_view> texts_;
};

// Numbers of the entries of a dictionary.
class DictionaryRows final : public Rows {
 public:
  DictionaryRows(std::unique_ptr<Rows> numbers, ArrowRows entries)
      : numbers_(std::move(numbers)), count_(entries.count) {
    for (std::size_t done = 0; done < entries.count; done += ready_keys) {
      const std::size_t n = std::min(ready_keys, entries.count - done);
      const KeySpan keys = entries.rows->take(done, n);
      // Views and offsets point into the array itself, and stay.
      if (const auto* texts = std::get_if<Texts>(&keys))
        entries_.insert(entries_.end(), texts->begin(), texts->end());
    }
  }
  // Do the entries hold text, and the numbers name them?
  bool check(std::size_t rows) {
    if (entries_.size() != count_) return false;
    for (std::size_t done = 0; done < rows; done += ready_keys)
      for (const std::uint64_t number : numbers(done, std::min(ready_keys, rows - done)))
        if (number >= count_) return false;
    return true;
  }
  KeySpan take(std::size_t first, std::size_t n) override {
    texts_.resize(ready_keys);
    const Naturals at = numbers(first, n);
    for (std::size_t i = 0; i < n; ++i) texts_[i] = entries_[at[i]];
    return Texts(texts_.data(), n);
  }

 private:
  Naturals numbers(std::size_t first, std::size_t n) {
    const KeySpan span = numbers_->take(first, n);
    if (const auto* naturals = std::get_if<Naturals>(&span)) return *naturals;
    const auto& integers = std::get<Integers>(span);
    return {reinterpret_cast<const std::uint64_t*>(integers.data()), integers.size()};
  }

  std::unique_ptr<Rows> numbers_;
  std::size_t count_;
  std::vector<std::string_view> entries_;
  std::vector<std::string_view> texts_;
};

struct Integer {
  char letter;
  std::size_t bytes;
  bool is_signed;
};
constexpr Integer integers[] = {{'c', 1, true}, {'C', 1, false}, {'s', 2, true}, {'S', 2, false},
                                {'i', 4, true}, {'I', 4, false}, {'l', 8, true}, {'L', 8, false}};

std::unique_ptr<Rows> integers_of(std::string_view format, const ArrowArray& array) {
  if (format.size() != 1) return nullptr;
  for (const Integer& row : integers) {
    if (row.letter != format[0]) continue;
    const auto skipped = static_cast<std::size_t>(array.offset) * row.bytes;
    return integer_rows(static_cast<const char*>(array.buffers[1]) + skipped, row.bytes,
                        row.is_signed);
  }
  return nullptr;
}

std::unique_ptr<Rows> texts_of(std::string_view format, const ArrowArray& array) {
  if (format == "u" || format == "z") return std::make_unique<OffsetRows<std::int32_t>>(array);
  if (format == "U" || format == "Z") return std::make_unique<OffsetRows<std::int64_t>>(array);
  if (format == "vu" || format == "vz") return std::make_unique<ViewRows>(array);
  if (!format.starts_with("w:")) return nullptr;
  std::size_t width = 0;
  const auto read = std::from_chars(format.data() + 2, format.data() + format.size(), width);
  if (read.ec != std::errc{} || read.ptr != format.data() + format.size()) return nullptr;
  const char* at = static_cast<const char*>(array.buffers[1]);
  const auto skipped = static_cast<std::size_t>(array.offset) * width;
  return std::make_unique<ByteRows>(at + skipped, width, false);
}

bool has_nulls(const ArrowArray& array) {
  if (array.null_count == 0 || array.length == 0 || array.n_buffers == 0) return false;
  const auto* valid = static_cast<const unsigned char*>(array.buffers[0]);
  if (valid == nullptr) return false;
  for (std::int64_t i = array.offset; i < array.offset + array.length; ++i)
    if ((valid[i / 8] >> (i % 8) & 1) == 0) return true;
  return false;
}

}  // namespace

ArrowRows arrow_rows(const ArrowSchema& schema, const ArrowArray& array) {
  const std::string_view format = schema.format;
  if (format == "+s") {
    if (schema.n_children != 1 || array.n_children != 1)
      raise(PyExc_ValueError, "the table has %lld columns: give the one that holds the keys",
            static_cast<long long>(schema.n_children));
    // The rows of the struct are those of its child, from its own offset on.
    ArrowArray& child = *array.children[0];
    child.offset += array.offset;
    child.length = array.length;
    if (array.offset != 0 && child.null_count > 0) child.null_count = -1;
    return arrow_rows(*schema.children[0], child);
  }
  if (has_nulls(array))
    raise(PyExc_ValueError,
          "the array has null keys: drop them first (drop_null, or dropna in pandas)");
  const auto count = static_cast<std::size_t>(array.length);
  auto rows = integers_of(format, array);
  if (rows != nullptr && schema.dictionary != nullptr) {
    auto entries = arrow_rows(*schema.dictionary, *array.dictionary);
    auto named = std::make_unique<DictionaryRows>(std::move(rows), std::move(entries));
    if (!named->check(count))
      raise(PyExc_ValueError,
            "the array has a dictionary that is not of text, or numbers outside it: give the "
            "values themselves");
    return {std::move(named), count};
  }
  if (rows == nullptr) rows = texts_of(format, array);
  if (rows == nullptr)
    raise(PyExc_TypeError,
          "an Arrow array of format '%s' does not hold keys: give integers, text or bytes, such as "
          "cast('int64') of dates",
          schema.format);
  return {std::move(rows), count};
}

}  // namespace bloomery::python
