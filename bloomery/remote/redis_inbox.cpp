#include <bloomery/detail/remote/redis_inbox.hpp>

#include <charconv>

namespace bloomery::inline v0::detail {
namespace {

// Errors and simple strings; a Redis server sends no longer ones.
constexpr std::size_t most_line_bytes = 64 << 10;

Error nonsense(const std::string& what) { return {Code::not_ours, what}; }

Error too_long() {
  return nonsense("a reply of more than " + std::to_string(RedisInbox::most_bytes >> 20) + " MiB");
}

std::optional<std::int64_t> number_in(std::string_view digits) {
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failed != std::errc() || end != digits.data() + digits.size() || digits.empty())
    return std::nullopt;
  return number;
}

}  // namespace

void RedisInbox::append(std::string_view bytes) {
  // The caller no longer needs the last reply.
  if (begin_ == bytes_.size()) {
    bytes_.clear();
    at_ = begin_ = 0;
  } else if (begin_ > most_line_bytes && begin_ > bytes_.size() / 2) {
    bytes_.erase(0, begin_);
    at_ -= begin_;
    begin_ = 0;
  }
  bytes_ += bytes;
}

Result<std::optional<std::string_view>> RedisInbox::next() {
  whole_ = false;
  while (!whole_) {
    auto taken = take_item();
    if (!taken) return taken.error();
    if (!*taken) return std::optional<std::string_view>();
  }
  const auto reply = std::string_view(bytes_).substr(begin_, at_ - begin_);
  begin_ = at_;
  return std::optional(reply);
}

Result<bool> RedisInbox::take_item() {
  const std::string_view bytes = bytes_;
  const std::size_t end = bytes.find('\n', at_);
  if (end == std::string_view::npos) {
    if (bytes.size() - at_ > most_line_bytes) return nonsense("a line without an end");
    // A wrong first byte is refused at once, not only when the line ends.
    if (at_ < bytes.size() && std::string_view("+-:$*").find(bytes[at_]) == std::string_view::npos)
      return nonsense("a reply that begins with '" + std::string(1, bytes[at_]) + "'");
    return false;
  }
  if (end - at_ < 2 || bytes[end - 1] != '\r') return nonsense("a line that ends without CR LF");
  const std::string_view words = bytes.substr(at_ + 1, end - at_ - 2);
  const char type = bytes[at_];
  if (type == '+' || type == '-' || type == ':') {
    if (type == ':' && !number_in(words)) return nonsense("an integer that cannot be read");
    at_ = end + 1;
    item_ended();
    return true;
  }
  if (type != '$' && type != '*')
    return nonsense("a reply that begins with '" + std::string(1, type) + "'");
  const auto length = number_in(words);
  if (!length || *length < -1) return nonsense("a length that cannot be read");
  return type == '$' ? take_text(*length, end + 1) : take_array(*length, end + 1);
}

Result<bool> RedisInbox::take_text(std::int64_t length, std::size_t after) {
  if (length >= 0) {
    const auto wanted = static_cast<std::uint64_t>(length);
    if (wanted > most_bytes || after - begin_ + wanted > most_bytes) return too_long();
    if (bytes_.size() - after < wanted + 2) return false;
    after += wanted + 2;
    if (bytes_[after - 2] != '\r' || bytes_[after - 1] != '\n')
      return nonsense("a text that is longer than it says");
  }
  at_ = after;
  item_ended();
  return true;
}

Result<bool> RedisInbox::take_array(std::int64_t length, std::size_t after) {
  // An item has at least three bytes.
  if (length > static_cast<std::int64_t>(most_bytes / 3)) return too_long();
  at_ = after;
  if (length <= 0) {
    item_ended();
    return true;
  }
  if (depth_ == most_depth) return nonsense("arrays in arrays without an end");
  left_[depth_++] = length;
  return true;
}

void RedisInbox::item_ended() {
  while (depth_ > 0 && --left_[depth_ - 1] == 0) --depth_;
  whole_ = depth_ == 0;
}

}  // namespace bloomery::inline v0::detail
