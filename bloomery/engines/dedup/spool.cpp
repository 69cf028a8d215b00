#include <bloomery/engines/dedup/spool.hpp>

#include <algorithm>
#include <cassert>

namespace bloomery::inline v0::detail {
namespace {

// What one read or write of the file takes.
constexpr std::size_t block_bytes = std::size_t{1} << 20;
// A record that is asked for alone is short more often than not.
constexpr std::size_t first_read_bytes = std::size_t{1} << 10;
constexpr std::size_t most_number_bytes = 10;

}  // namespace

void Spool::append_number(std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) buffer_.push_back(static_cast<char>(number | 0x80));
  buffer_.push_back(static_cast<char>(number));
}

Result<void> Spool::append(std::uint64_t number, std::string_view bytes) {
  append_number(number);
  append_number(bytes.size());
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  if (buffer_.size() < (file_ ? block_bytes : memory_bytes_)) return {};
  return flush();
}

Result<void> Spool::flush() {
  if (!file_) {
    auto made = ScratchFile::create();
    if (!made) return made.error();
    file_.emplace(std::move(*made));
  }
  if (auto written = file_->write(flushed_, buffer_); !written) return written;
  flushed_ += buffer_.size();
  buffer_.clear();
  if (buffer_.capacity() > 2 * block_bytes) {
    buffer_.shrink_to_fit();
    buffer_.reserve(block_bytes + block_bytes / 4);
  }
  return {};
}

Result<void> Spool::read(std::uint64_t offset, std::span<char> into) const {
  assert(offset + into.size() <= size() && "only what was appended is read");
  if (offset < flushed_) {
    const std::size_t stored = std::min<std::uint64_t>(into.size(), flushed_ - offset);
    if (auto got = file_->read(offset, into.first(stored)); !got) return got;
    into = into.subspan(stored);
    offset += stored;
  }
  if (into.empty()) return {};
  const auto first = buffer_.begin() + static_cast<std::ptrdiff_t>(offset - flushed_);
  std::copy_n(first, into.size(), into.begin());
  return {};
}

Result<void> SpoolReader::hold(std::uint64_t bytes) {
  std::size_t held = held_.size() - begin_;
  if (held >= bytes) return {};
  std::copy(held_.begin() + static_cast<std::ptrdiff_t>(begin_), held_.end(), held_.begin());
  begin_ = 0;
  read_bytes_ = std::clamp(2 * read_bytes_, first_read_bytes, block_bytes);
  const std::uint64_t left = spool_.size() - offset_ - held;
  const std::uint64_t wanted = std::max<std::uint64_t>(read_bytes_, bytes - held);
  const std::size_t more = static_cast<std::size_t>(std::min(left, wanted));
  held_.resize(held + more);
  return spool_.read(offset_ + held, std::span(held_).subspan(held));
}

Result<std::uint64_t> SpoolReader::take_number() {
  std::uint64_t number = 0;
  for (unsigned shift = 0; begin_ < held_.size() && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(held_[begin_++]);
    ++offset_;
    number |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
  return Error{Code::damaged, "what was kept aside in a temporary file was changed by others"};
}

Result<bool> SpoolReader::next(Spool::Record& record) {
  if (offset_ == spool_.size()) return false;
  if (auto got = hold(2 * most_number_bytes); !got) return got.error();
  record.offset = offset_;
  const auto number = take_number();
  if (!number) return number.error();
  const auto length = take_number();
  if (!length) return length.error();
  if (*length > spool_.size() - offset_)
    return Error{Code::damaged, "what was kept aside in a temporary file was changed by others"};
  if (auto got = hold(*length); !got) return got.error();
  record.number = *number;
  record.bytes = {held_.data() + begin_, static_cast<std::size_t>(*length)};
  begin_ += record.bytes.size();
  offset_ += *length;
  return true;
}

Result<void> SpoolReader::at(std::uint64_t offset, Spool::Record& record) {
  held_.clear();
  begin_ = 0;
  read_bytes_ = 0;
  offset_ = offset;
  const auto got = next(record);
  if (!got) return got.error();
  assert(*got && "the offset is that of a record");
  return {};
}

}  // namespace bloomery::inline v0::detail
