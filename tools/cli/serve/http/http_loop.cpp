#include "http_loop.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <thread>
#include <utility>

#include <tools/cli/report/refuse.hpp>

#include "listen_address.hpp"

namespace bloomery::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_connections = 256;
constexpr std::size_t most_watchers = 192;
constexpr std::size_t most_head_bytes = 16 << 10;
constexpr std::size_t most_forgotten_bytes = 4 << 20;
constexpr std::size_t most_waiting_bytes = 1 << 20;  // of events that a watcher did not take
constexpr int most_accepts_a_turn = 64;
constexpr auto time_to_ask = 5s;
constexpr auto time_to_take = 30s;
constexpr auto time_to_take_event = 10s;
constexpr auto time_to_leave = 1s;
constexpr auto without_descriptors = 100ms;
// A watcher that is gone is found when something is sent to it.
constexpr auto longest_silence = 15s;

SharedText shared(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

}  // namespace

HttpLoop::HttpLoop(Descriptor listener, Speaking speaking)
    : listener_(std::move(listener)),
      awake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      speaking_(std::move(speaking)),
      text_(load_http_text(speaking_.reply)) {
  if (!awake_.is_open()) refuse("the system gives no more descriptors for a server");
}

HttpLoop::~HttpLoop() = default;

void HttpLoop::wake() {
  const std::uint64_t one = 1;
  // Full only if it is to wake up anyhow.
  static_cast<void>(!::write(awake_.number(), &one, sizeof one));
}

void HttpLoop::stop() {
  stopped_ = true;
  wake();
}

void HttpLoop::run(int end) {
  quiet_until_ = Clock::now() + longest_silence;
  bool going_on = true;
  while (going_on && !stopped_) try {
      going_on = turn(end);
    } catch (const std::exception&) {
      // No memory. What the connections hold is given back; clients ask again.
      drop_all();
    }
  try {
    tell_watchers(speaking_.event());
    tell_watchers(speaking_.last_event);
  } catch (const std::exception&) {
  }
  drop_all();
}

bool HttpLoop::turn(int end) {
  std::vector<pollfd> watched;
  std::vector<Connection*> of;
  watched.assign({{awake_.number(), POLLIN, 0}, {end, POLLIN, 0}});
  const bool accepts = Clock::now() >= accept_from_;
  watched.push_back({accepts ? listener_.number() : -1, POLLIN, 0});
  of.assign(watched.size(), nullptr);
  for (Connection& one : connections_) {
    const bool writes = !one.out.empty();
    // While it answers, what the client still sends waits.
    const bool reads = one.state != State::answering;
    const int events = (writes ? POLLOUT : 0) | (reads ? POLLIN : 0);
    watched.push_back({one.socket.number(), static_cast<short>(events), 0});
    of.push_back(&one);
  }
  if (::poll(watched.data(), watched.size(), milliseconds_left()) < 0) {
    if (errno != EINTR) std::this_thread::sleep_for(without_descriptors);
    return true;
  }
  if (watched[1].revents != 0) return false;
  if (watched[0].revents != 0) {
    std::uint64_t count = 0;
    static_cast<void>(!::read(awake_.number(), &count, sizeof count));
    tell_watchers(speaking_.event());
  }
  for (std::size_t i = 3; i < watched.size(); ++i) {
    const short seen = watched[i].revents;
    Connection& one = *of[i];
    if ((seen & POLLOUT) != 0) send_some(one);
    if ((seen & (POLLIN | POLLERR | POLLHUP)) != 0 && one.state != State::closed) read_some(one);
  }
  look_at_clock();
  connections_.remove_if([](const Connection& one) { return one.state == State::closed; });
  if (watched[2].revents != 0) accept_all();
  return true;
}

void HttpLoop::drop_all() {
  connections_.clear();
  watchers_ = 0;
}

void HttpLoop::accept_all() {
  for (int i = 0; i < most_accepts_a_turn; ++i) {
    Descriptor socket(
        ::accept4(listener_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.is_open()) {
      // No descriptor, no memory: others may give some back.
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ECONNABORTED && errno != EINTR)
        accept_from_ = Clock::now() + without_descriptors;
      return;
    }
    if (connections_.size() >= most_connections) make_room();
    connections_.push_back({.socket = std::move(socket), .until = Clock::now() + time_to_ask});
    // Most clients have sent their request by now; no flood behind them can take its place.
    read_some(connections_.back());
    if (connections_.back().state == State::closed) connections_.pop_back();
  }
}

// There is one: watchers are fewer than connections.
void HttpLoop::make_room() {
  const auto oldest = std::find_if(
      connections_.begin(), connections_.end(),
      [](const Connection& one) { return one.state != State::watching && !one.watches_next; });
  if (oldest != connections_.end()) connections_.erase(oldest);
}

void HttpLoop::read_some(Connection& one) {
  std::array<char, 16 << 10> bytes;
  const ssize_t count = ::recv(one.socket.number(), bytes.data(), bytes.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  if (count <= 0) return close(one);
  if (one.state == State::reading)
    return read_head(one, bytes.data(), static_cast<std::size_t>(count));
  // Nothing that comes later is asked for. A client whose bytes were not read would lose our
  // answer: the system then resets the connection.
  one.forgotten += static_cast<std::size_t>(count);
  if (one.forgotten > most_forgotten_bytes) close(one);
}

void HttpLoop::read_head(Connection& one, const char* bytes, std::size_t count) {
  const std::size_t looked = one.head.size() < 3 ? 0 : one.head.size() - 3;
  one.head.append(bytes, count);
  const std::size_t end = one.head.find("\r\n\r\n", looked);
  if (end == std::string::npos ? one.head.size() > most_head_bytes : end + 4 > most_head_bytes)
    return answer(one, text_->refusal(431, "a request of this server has at most 16 KiB"));
  if (end == std::string::npos) return;
  Answer found = text_->answer(std::string_view(one.head).substr(0, end + 4),
                               local_address_of(one.socket.number()));
  if (found.watches && watchers() >= most_watchers)
    found = text_->refusal(503, "as many watch as this server allows; ask api/status.json instead");
  answer(one, std::move(found));
}

void HttpLoop::answer(Connection& one, Answer answer) {
  one.state = State::answering;
  one.until = Clock::now() + time_to_take;
  one.head.clear();
  one.head.shrink_to_fit();
  one.watches_next = answer.watches;
  if (answer.watches) ++watchers_;
  push(one, shared(std::move(answer.head)));
  if (answer.body) push(one, std::move(answer.body));
  send_some(one);
}

void HttpLoop::push(Connection& one, SharedText text) {
  one.waiting_bytes += text->size();
  one.out.push_back({std::move(text)});
}

void HttpLoop::send_some(Connection& one) {
  while (!one.out.empty()) {
    Piece& piece = one.out.front();
    const ssize_t count = ::send(one.socket.number(), piece.text->data() + piece.sent,
                                 piece.text->size() - piece.sent, MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (count < 0) return close(one);
    piece.sent += static_cast<std::size_t>(count);
    one.waiting_bytes -= static_cast<std::size_t>(count);
    if (piece.sent == piece.text->size()) one.out.pop_front();
  }
  all_sent(one);
}

void HttpLoop::all_sent(Connection& one) {
  if (one.state == State::watching || one.watches_next) {
    one.state = State::watching;
    one.until = Clock::time_point::max();
  } else if (one.state == State::answering) {
    leave(one);
  }
}

void HttpLoop::leave(Connection& one) {
  ::shutdown(one.socket.number(), SHUT_WR);
  one.state = State::leaving;
  one.until = Clock::now() + time_to_leave;
}

void HttpLoop::tell_watchers(const SharedText& event) {
  if (!event) return;
  const auto now = Clock::now();
  quiet_until_ = now + longest_silence;
  for (Connection& one : connections_) {
    if (!one.watches_next || one.state == State::closed) continue;
    if (one.state == State::watching && one.out.empty()) one.until = now + time_to_take_event;
    push(one, event);
    if (one.waiting_bytes > most_waiting_bytes + event->size())
      close(one);
    else
      send_some(one);
  }
}

void HttpLoop::look_at_clock() {
  const auto now = Clock::now();
  if (now >= quiet_until_) tell_watchers(shared(": still here\n\n"));
  for (Connection& one : connections_) {
    if (one.state == State::closed || now < one.until) continue;
    if (one.state == State::reading)
      answer(one, text_->refusal(408, "this request took too long to come"));
    else
      close(one);
  }
}

void HttpLoop::close(Connection& one) {
  if (one.watches_next) --watchers_;
  one.watches_next = false;
  one.state = State::closed;
  one.out.clear();
}

int HttpLoop::milliseconds_left() const {
  const auto now = Clock::now();
  auto next = quiet_until_;
  if (accept_from_ > now) next = std::min(next, accept_from_);
  for (const Connection& one : connections_) next = std::min(next, one.until);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

}  // namespace bloomery::cli
