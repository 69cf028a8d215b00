// Numbers as people write them on a command line, and as they like to read them.
//
//    keys      1000  1_000  10M  2.5k  1e9        decimal: k M G T are powers of 1000
//    rate      0.01  1e-3  0.1%  1/1000           more than 0 and less than 1
//    memory    4096  512K  2G  2GiB  2GB          binary: K M G T are powers of 1024, with or
//                                                 without B or iB
//    duration  500ms  60s  30min  24h  7d         always with its unit
//    network   1000000  100M  2.5G                bits a second; k M G T are powers of 1000
//    range     0..9999999  5..2M                  both ends belong to it
//
// Every refusal names the flag, the value and what is accepted.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <bloomery/detail/sets/plan.hpp>
#include <bloomery/error.hpp>
#include <tools/inside.hpp>

namespace bloomery::cli {

// At least 1.
Result<std::uint64_t> parse_keys(std::string_view flag, std::string_view text);
Result<double> parse_rate(std::string_view flag, std::string_view text);
// At least 1.
Result<std::uint64_t> parse_memory(std::string_view flag, std::string_view text);
// At least a millisecond.
Result<std::chrono::milliseconds> parse_duration(std::string_view flag, std::string_view text);
// At least 1000 bits a second.
Result<double> parse_network(std::string_view flag, std::string_view text);
Result<Range> parse_range(std::string_view flag, std::string_view text);
// Any whole number up to 2^64 - 1, also with 0x before it: seeds are not counts.
Result<std::uint64_t> parse_seed(std::string_view flag, std::string_view text);

// 1234567 as "1,234,567".
std::string print_count(std::uint64_t count);
// 1500000 as "1.43 MiB".
std::string print_bytes(std::uint64_t bytes);
// 0.00999 as "0.999 %", 1e-6 as "1e-06"; "unknown", "infinite" for what is not a number.
std::string print_rate(double rate);
// Three or four digits that matter; the same two words.
std::string print_real(double value);
// An expected number of lines: 0.62 as "0.6", 43912.4 as "43,900".
std::string print_about(double value);
std::string print_seconds(double seconds);

}  // namespace bloomery::cli
