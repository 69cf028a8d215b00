#include <bloomery/engines/input/blocks.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <limits>
#include <utility>

#include <bloomery/detail/bits/kernels.hpp>

namespace bloomery::inline v0::detail {

bool Block::reserve(std::size_t bytes) {
  if (bytes <= capacity_) return true;
  auto* grown = static_cast<char*>(std::realloc(memory_.get(), bytes));
  if (grown == nullptr) return false;
  static_cast<void>(memory_.release());
  memory_.reset(grown);
  capacity_ = bytes;
  return true;
}

void Block::append(std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(memory_.get() + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
}

void Block::split(std::string_view delimiter) {
  records.clear();
  const char* const begin = memory_.get();
  if (found_ends_) {
    std::size_t start = 0;
    for (const std::size_t end : ends_) {
      records.emplace_back(begin + start, end - start);
      start = end + delimiter.size();
    }
    return;
  }
  assert(delimiter.size() == 1 && "longer delimiters are found while reading");
  // So many bytes at a time that the places in them stay in the L1 cache.
  constexpr std::size_t piece_bytes = 2048;
  std::array<std::uint32_t, piece_bytes> places;
  const char* line = begin;
  for (std::size_t at = 0; at < size_; at += piece_bytes) {
    const std::size_t found = kernels().find_byte(
        reinterpret_cast<const unsigned char*>(begin + at), std::min(piece_bytes, size_ - at),
        static_cast<unsigned char>(delimiter[0]), places.data());
    const std::size_t before = records.size();
    records.resize(before + found);
    for (std::size_t i = 0; i < found; ++i) {
      const char* const end = begin + at + places[i];
      records[before + i] = {line, static_cast<std::size_t>(end - line)};
      line = end + 1;
    }
  }
}

BlockReader::BlockReader(InputFile file, LineRules rules, std::size_t block_bytes)
    : delimiter_(rules.delimiter), name_(file.name()), block_bytes_(block_bytes) {
  assert(block_bytes_ > 0 && "a block has at least one byte");
  // The caller handles headers: in a block they are records like any other.
  rules.header = false;
  if (delimiter_.size() == 1 && !rules.csv_separator)
    file_.emplace(std::move(file));
  else
    lines_.emplace(std::move(file), std::move(rules));
}

Result<bool> BlockReader::fill(Block& block) {
  block.size_ = 0;
  block.ends_.clear();
  block.found_ends_ = lines_.has_value();
  if (failed_) return *failed_;
  // Give back the memory of a very long record.
  if (block.capacity_ > 16 * block_bytes_) block.memory_.reset(), block.capacity_ = 0;
  return lines_ ? fill_by_lines(block) : fill_by_bytes(block);
}

Error BlockReader::too_long(std::size_t bytes) const {
  return {Code::no_memory,
          name_ + ": a line is longer than " + std::to_string(bytes) +
              " bytes, and there is not enough memory to hold it; is the delimiter "
              "right?"};
}

// If a pipe has no more bytes now, the block counts as full, however little is in it.
bool BlockReader::full(std::size_t bytes) const { return bytes >= block_bytes_ || !file_->ready(); }

Result<bool> BlockReader::fill_by_bytes(Block& block) {
  if (!block.reserve(carried_.size() + block_bytes_ + delimiter_.size()))
    return too_long(carried_.size());
  block.append(std::exchange(carried_, {}));
  std::size_t whole = 0;  // bytes of whole records
  while (!at_end_) {
    // Room for the delimiter that the last record of the file may lack.
    std::size_t room = block.capacity_ - delimiter_.size() - block.size_;
    if (room == 0) {
      const std::size_t most = std::numeric_limits<std::size_t>::max() / 2;
      if (!block.reserve(std::min(block.capacity_, most) * 2)) return too_long(block.size_);
      room = block.capacity_ - delimiter_.size() - block.size_;
    }
    char* const into = block.memory_.get() + block.size_;
    const auto got = file_->read({into, std::min(room, block_bytes_)});
    if (!got) {
      // The records before the damage are good, and come first.
      if (whole == 0) return got.error();
      failed_ = got.error();
      break;
    }
    at_end_ = *got == 0;
    bytes_read_ += *got;
    block.size_ += *got;
    if (const void* last = ::memrchr(into, delimiter_[0], *got))
      whole = static_cast<std::size_t>(static_cast<const char*>(last) - block.memory_.get()) + 1;
    if (whole > 0 && full(block.size_)) break;
  }
  if (!at_end_) {
    carried_.assign(block.memory_.get() + whole, block.size_ - whole);
    block.size_ = whole;
  } else if (block.size_ > whole) {
    block.append(delimiter_);
  }
  return block.size_ > 0;
}

Result<bool> BlockReader::fill_by_lines(Block& block) {
  while (block.size_ < block_bytes_ && (block.size_ == 0 || lines_->ready())) {
    const auto lines = lines_->next();
    if (!lines) {
      if (block.size_ == 0) return lines.error();
      failed_ = lines.error();
      break;
    }
    at_end_ = lines->empty();
    if (at_end_) break;
    std::size_t bytes = block.size_;
    for (const std::string_view line : *lines) bytes += line.size() + delimiter_.size();
    if (!block.reserve(std::max(bytes, block_bytes_))) return too_long(bytes);
    for (const std::string_view line : *lines) {
      block.append(line);
      block.ends_.push_back(block.size_);
      block.append(delimiter_);
    }
  }
  return block.size_ > 0;
}

BlockInputs::BlockInputs(std::vector<std::string> files, LineRules rules, std::size_t block_bytes)
    : files_(std::move(files)), rules_(std::move(rules)), block_bytes_(block_bytes) {
  if (files_.empty()) files_.push_back("-");
}

std::string BlockInputs::name_of(std::size_t file) const {
  return files_.at(file) == "-" ? "standard input" : files_[file];
}

Result<bool> BlockInputs::fill(Block& block) {
  for (;; ++turn_) {
    if (!reader_) {
      if (turn_ == files_.size()) return false;
      // Opening a named pipe waits until somebody opens it for writing.
      if (before_wait_ && !all_regular({files_[turn_]}))
        if (const auto told = before_wait_(); !told) return told.error();
      auto file = InputFile::open(files_[turn_], rules_.decode);
      if (!file) return file.error();
      file->before_wait(before_wait_);
      reader_.emplace(std::move(*file), rules_, block_bytes_);
      first_of_file_ = true;
    }
    const auto filled = reader_->fill(block);
    block.file = turn_;
    block.first_of_file = std::exchange(first_of_file_, false);
    block.bytes_read = bytes_before_ + reader_->bytes_read();
    block.file_bytes_read = file_bytes_before_ + reader_->file_bytes_read();
    if (!filled || *filled) return filled;
    bytes_before_ += reader_->bytes_read();
    file_bytes_before_ += reader_->file_bytes_read();
    reader_.reset();
  }
}

}  // namespace bloomery::inline v0::detail
