#include <bloomery/text/lines.hpp>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <utility>

namespace bloomery::inline v0 {

using namespace detail;

std::string quoted(std::string_view line) {
  constexpr std::size_t most_bytes = 40;
  constexpr char digits[] = "0123456789abcdef";
  std::string text = "'";
  for (const char c : line.substr(0, most_bytes)) {
    const auto value = static_cast<unsigned char>(c);
    if (c >= ' ' && c <= '~')
      text += c;
    else
      text += {'\\', 'x', digits[value >> 4], digits[value & 15]};
  }
  return text + (line.size() > most_bytes ? "'..." : "'");
}

LineReader::LineReader(InputFile file, LineRules rules, std::size_t block_bytes)
    : file_(std::move(file)), rules_(std::move(rules)), block_bytes_(block_bytes) {
  assert(!rules_.delimiter.empty() && "a delimiter has at least one byte");
  assert(block_bytes_ > 0 && "a block has at least one byte");
  assert((!rules_.csv_separator || rules_.delimiter == "\n") &&
         "records of CSV end with a newline");
  header_wanted_ = rules_.header;
  if (rules_.csv_separator) csv_ = CsvScanner(*rules_.csv_separator);
  lines_.resize(lines_per_batch);
}

Result<LineReader> LineReader::open(const std::string& path, LineRules rules) {
  auto file = InputFile::open(path, rules.decode);
  if (!file) return file.error();
  return LineReader(std::move(*file), std::move(rules));
}

bool LineReader::ready() const {
  if (at_end_ || file_.regular()) return true;
  const std::string_view unseen(buffer_.get() + scanned_, end_ - scanned_);
  return unseen.find(rules_.delimiter) != std::string_view::npos || file_.ready();
}

// The first line is kept and not given out.
void LineReader::take_header() {
  header_wanted_ = false;
  header_ = lines_[0];
  std::copy(lines_.begin() + 1, lines_.begin() + static_cast<std::ptrdiff_t>(count_),
            lines_.begin());
  --count_;
}

Result<Lines> LineReader::next() {
  count_ = 0;
  for (;;) {
    if (rules_.csv_separator)
      split_csv();
    else if (rules_.delimiter.size() == 1)
      split_one_byte();
    else
      split_many_bytes();
    if (count_ == 0 && at_end_ && start_ < end_) {
      if (csv_.in_quotes())
        return Error{Code::bad_input,
                     file_.name() + ", line " + std::to_string(csv_.newlines_before() + 1) +
                         ": the record that begins here has a quote that is never closed"};
      take(end_, end_);
    }
    if (header_wanted_ && count_ > 0) take_header();
    if (count_ != 0 || at_end_) break;
    if (const auto refilled = refill(); !refilled) return refilled.error();
  }
  if (rules_.strip_cr)
    for (std::string_view& line : std::span(lines_).first(count_))
      if (line.ends_with('\r')) line.remove_suffix(1);
  lines_read_ += count_;
  return Lines(lines_).first(count_);
}

void LineReader::take(std::size_t end, std::size_t next_start) {
  lines_[count_++] = {buffer_.get() + start_, end - start_};
  start_ = scanned_ = next_start;
}

// The loop that every byte of every input goes through: all it needs is in registers.
void LineReader::split_one_byte() {
  const char* const last = buffer_.get() + end_;
  const char* line = buffer_.get() + start_;
  const char* from = buffer_.get() + scanned_;
  const char delimiter = rules_.delimiter[0];
  std::size_t count = count_;
  while (count < lines_per_batch && from < last) {
    const void* found = std::memchr(from, delimiter, static_cast<std::size_t>(last - from));
    if (found == nullptr) {
      from = last;
      break;
    }
    const char* const end = static_cast<const char*>(found);
    lines_[count++] = {line, static_cast<std::size_t>(end - line)};
    line = from = end + 1;
  }
  count_ = count;
  start_ = static_cast<std::size_t>(line - buffer_.get());
  scanned_ = static_cast<std::size_t>(from - buffer_.get());
}

void LineReader::split_many_bytes() {
  const std::size_t length = rules_.delimiter.size();
  while (count_ < lines_per_batch && scanned_ < end_) {
    const std::string_view rest(buffer_.get() + scanned_, end_ - scanned_);
    const std::size_t found = rest.find(rules_.delimiter);
    if (found == std::string_view::npos) {
      // The last bytes may be the beginning of a delimiter that the next block ends.
      if (rest.size() >= length) scanned_ = end_ - (length - 1);
      return;
    }
    take(scanned_ + found, scanned_ + found + length);
  }
}

void LineReader::split_csv() {
  const std::string_view bytes(buffer_.get(), end_);
  while (count_ < lines_per_batch && scanned_ < end_) {
    const std::size_t newline = csv_.scan(bytes, scanned_);
    if (newline == CsvScanner::npos) {
      scanned_ = end_;
      return;
    }
    take(newline, newline + 1);
  }
}

Result<void> LineReader::refill() {
  const std::size_t kept = end_ - start_;
  if (start_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + start_, kept);
    scanned_ -= start_;
    start_ = 0;
    end_ = kept;
  }
  // A line that takes more than half of the buffer would be moved too often.
  if (kept >= capacity_ - kept) {
    const std::size_t most = std::numeric_limits<std::size_t>::max() / 2;
    const std::size_t wanted = std::max(block_bytes_, std::min(capacity_, most) * 2);
    if (auto grown = grow(wanted); !grown) return grown.error();
  }
  // Also after a long line has made the buffer large, a block is what fits the cache.
  const auto got = file_.read({buffer_.get() + end_, std::min(block_bytes_, capacity_ - end_)});
  if (!got) return got.error();
  at_end_ = *got == 0;
  end_ += *got;
  bytes_read_ += *got;
  return {};
}

Result<void> LineReader::grow(std::size_t bytes) {
  auto* grown = static_cast<char*>(std::realloc(buffer_.get(), bytes));
  if (grown == nullptr)
    return Error{Code::no_memory, file_.name() + ": line " + std::to_string(lines_read_ + 1) +
                                      " is longer than " + std::to_string(end_ - start_) +
                                      " bytes, and there is not enough memory to hold it; is the "
                                      "delimiter right?"};
  static_cast<void>(buffer_.release());
  buffer_.reset(grown);
  capacity_ = bytes;
  return {};
}

Inputs::Inputs(std::vector<std::string> files, LineRules rules, std::size_t block_bytes)
    : files_(std::move(files)), rules_(std::move(rules)), block_bytes_(block_bytes) {
  if (files_.empty()) files_.push_back("-");
}

Result<Lines> Inputs::next() {
  for (;;) {
    if (!reader_) {
      if (turn_ == files_.size()) return Lines{};
      auto file = InputFile::open(files_[turn_], rules_.decode);
      if (!file) return file.error();
      reader_.emplace(std::move(*file), rules_, block_bytes_);
      name_ = reader_->name();
    }
    first_line_ = reader_->lines_read() + (rules_.header ? 2 : 1);
    auto batch = reader_->next();
    if (rules_.header) header_ = reader_->header();
    if (!batch || !batch->empty()) return batch;
    if (rules_.header && reader_->lines_read() == 0 && reader_->bytes_read() > 0)
      headers_alone_.push_back({name_, header_});
    bytes_before_ += reader_->bytes_read();
    file_bytes_before_ += reader_->file_bytes_read();
    lines_before_ += reader_->lines_read();
    reader_.reset();
    ++turn_;
  }
}

std::uint64_t Inputs::bytes_read() const {
  return bytes_before_ + (reader_ ? reader_->bytes_read() : 0);
}

std::uint64_t Inputs::file_bytes_read() const {
  return file_bytes_before_ + (reader_ ? reader_->file_bytes_read() : 0);
}

std::uint64_t Inputs::lines_read() const {
  return lines_before_ + (reader_ ? reader_->lines_read() : 0);
}

bool Inputs::ready() const { return !reader_ || reader_->ready(); }

}  // namespace bloomery::inline v0
