// Where a server listens: an address of this machine and a port.
//
//    8787    127.0.0.1:8787    [::1]:8787    localhost:0      port 0: a free one
//    0.0.0.0:8787    [::]:8787                                every address of this machine
//
// Names other than localhost are refused: what a name stands for, others decide.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <bloomery/file.hpp>
#include <tools/inside.hpp>

namespace bloomery::cli {

struct ListenAddress {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;

  // Only programs on this machine reach it.
  bool is_loopback() const;
  // "127.0.0.1:8787", "[::1]:8787"
  std::string shown() const;
};

// The refusal names the flag.
ListenAddress parse_listen_address(std::string_view flag, const std::string& text);

// Does this text, in the form of numbers, name this machine only?
bool is_loopback_address(const std::string& host);

// Listens; then the port of the address is the one that the system gave.
Descriptor listen_on(ListenAddress& address);
// The address that the other end has reached, without its port: "127.0.0.1", "::1".
std::string local_address_of(int socket);

}  // namespace bloomery::cli
