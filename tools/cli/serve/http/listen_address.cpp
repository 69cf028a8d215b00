#include "listen_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include <tools/cli/report/refuse.hpp>

namespace bloomery::cli {
namespace {

// Longer than what the loop takes up in one turn; the system refuses what is beyond it.
constexpr int waiting_connections = 512;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  sockaddr_in& four() { return reinterpret_cast<sockaddr_in&>(storage); }
  sockaddr_in6& six() { return reinterpret_cast<sockaddr_in6&>(storage); }
};

std::optional<SocketAddress> socket_address(const std::string& host, std::uint16_t port) {
  SocketAddress address;
  if (inet_pton(AF_INET, host.c_str(), &address.four().sin_addr) == 1) {
    address.four().sin_family = AF_INET;
    address.four().sin_port = htons(port);
    address.size = sizeof(sockaddr_in);
    return address;
  }
  if (inet_pton(AF_INET6, host.c_str(), &address.six().sin6_addr) == 1) {
    address.six().sin6_family = AF_INET6;
    address.six().sin6_port = htons(port);
    address.size = sizeof(sockaddr_in6);
    return address;
  }
  return std::nullopt;
}

std::string numbers_of(SocketAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.storage.ss_family == AF_INET)
    inet_ntop(AF_INET, &address.four().sin_addr, text.data(), text.size());
  else if (IN6_IS_ADDR_V4MAPPED(&address.six().sin6_addr))
    inet_ntop(AF_INET, &address.six().sin6_addr.s6_addr[12], text.data(), text.size());
  else
    inet_ntop(AF_INET6, &address.six().sin6_addr, text.data(), text.size());
  return text.data();
}

[[noreturn]] void cannot_listen(const ListenAddress& address) {
  const int failed = errno;
  const char* const advice = failed == EADDRINUSE ? "; another program has it: give another port, "
                                                    "or 0 for a free one"
                             : failed == EADDRNOTAVAIL ? "; it is not an address of this machine"
                                                       : "";
  refuse(fmt::format("cannot listen on {}: {}{}", address.shown(), std::strerror(failed), advice));
}

}  // namespace

bool is_loopback_address(const std::string& host) {
  auto address = socket_address(host, 0);
  if (!address) return false;
  if (address->storage.ss_family == AF_INET)
    return ntohl(address->four().sin_addr.s_addr) >> 24 == 127;
  return IN6_IS_ADDR_LOOPBACK(&address->six().sin6_addr) != 0;
}

bool ListenAddress::is_loopback() const { return is_loopback_address(host); }

std::string ListenAddress::shown() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

ListenAddress parse_listen_address(std::string_view flag, const std::string& text) {
  const auto wrong = [&] {
    refuse(
        fmt::format("{} does not take '{}'; give an address of this machine and a port, such as "
                    "127.0.0.1:8787, [::1]:8787 or 8787; port 0 takes a free one",
                    flag, text));
  };
  ListenAddress address;
  std::string port = text;
  if (const std::size_t colon = text.rfind(':'); colon != std::string::npos) {
    address.host = text.substr(0, colon);
    port = text.substr(colon + 1);
    const bool framed = address.host.starts_with('[') && address.host.ends_with(']');
    if (framed) address.host = address.host.substr(1, address.host.size() - 2);
    if (framed != (address.host.find(':') != std::string::npos)) wrong();
    if (address.host == "localhost") address.host = "127.0.0.1";
  }
  const auto read = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (read.ec != std::errc{} || read.ptr != port.data() + port.size()) wrong();
  if (!socket_address(address.host, address.port)) wrong();
  return address;
}

Descriptor listen_on(ListenAddress& address) {
  auto wanted = socket_address(address.host, address.port);
  if (!wanted) refuse(fmt::format("cannot listen on {}: no such address", address.shown()));
  Descriptor listener(
      ::socket(wanted->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener.is_open()) cannot_listen(address);
  const int yes = 1;
  const int no = 0;
  // A server that is started again need not wait for the connections of the last one.
  ::setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (wanted->storage.ss_family == AF_INET6)
    ::setsockopt(listener.number(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (::bind(listener.number(), wanted->get(), wanted->size) != 0) cannot_listen(address);
  if (::listen(listener.number(), waiting_connections) != 0) cannot_listen(address);
  SocketAddress given;
  given.size = sizeof given.storage;
  if (::getsockname(listener.number(), given.get(), &given.size) != 0) cannot_listen(address);
  address.port =
      ntohs(given.storage.ss_family == AF_INET ? given.four().sin_port : given.six().sin6_port);
  return listener;
}

std::string local_address_of(int socket) {
  SocketAddress local;
  local.size = sizeof local.storage;
  if (::getsockname(socket, local.get(), &local.size) != 0) return {};
  return numbers_of(local);
}

}  // namespace bloomery::cli
