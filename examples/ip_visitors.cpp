// Which visitors are new? Prints the lines of a web server's log whose address comes for the first
// time, now or in any run before. Exact.
//
//    ip_visitors --state visitors access.log access.log.1.gz
//    tail -F access.log | ip_visitors --state visitors --mark
//
//    line --first word--> IPv4 --> one bit of 2^32        a bitmap: 512 MiB of addresses, of which
//                                                         only touched pages are memory
//                         IPv6 --> hash set, 16 to 23 bytes a visitor
//
// Common and combined log format, and lists of one address a line. IPv4 is four decimal numbers;
// 010.1.1.1, which some programs read as octal, is not an address here. ::ffff:1.2.3.4 is 1.2.3.4.
// If the set is wrong: it is not. Two IPv6 addresses are one visitor if 128 bits of hash agree.
// Limits:  the state takes 512 MiB of disk, and is saved at the end: of a run that is killed
//          (SIGKILL) nothing is remembered. SIGINT and SIGTERM end a run as the end of its input
//          does.
// See:     docs/jobs.md "Which visitors are new"; tests/tools/programs/example_ip_visitors_test.py.
#include <arpa/inet.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <bloomery/text/decompress.hpp>
#include <bloomery/text/line_writer.hpp>
#include <bloomery/text/lines.hpp>

#include "generations.hpp"

namespace {

using bloomery::Error;
using bloomery::Lines;
using bloomery::Result;

constexpr const char* usage =
    R"(usage: ip_visitors [--state DIR] [--mark] [--skip-bad] [FILE...]

Prints the lines whose address visits for the first time. A line begins with its address
(common and combined log format, or one address a line). FILE may be compressed; without FILE,
reads the standard input.

  --state DIR   remember visitors from run to run; made if it is missing
  --mark        print every line, after "first" or "again" and a tab
  --skip-bad    exit with 0 although some lines have no address

Counts go to standard error. Exit codes: 0 good, 2 error or bad lines.
)";

volatile std::sig_atomic_t asked_to_stop = 0;

using Ipv4 = std::uint32_t;
using Ipv6 = std::array<char, 16>;
using Address = std::variant<std::monostate, Ipv4, Ipv6>;  // monostate: none

// Four numbers up to 255 without leading zeros, and nothing else.
std::optional<Ipv4> parse_ipv4(std::string_view text) {
  Ipv4 address = 0;
  for (int part = 0; part < 4; ++part) {
    if (part > 0) {
      if (!text.starts_with('.')) return std::nullopt;
      text.remove_prefix(1);
    }
    unsigned value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    const auto digits = static_cast<std::size_t>(read.ptr - text.data());
    if (read.ec != std::errc{} || value > 255 || (digits > 1 && text.front() == '0'))
      return std::nullopt;
    text.remove_prefix(digits);
    address = address << 8 | value;
  }
  return text.empty() ? std::optional(address) : std::nullopt;
}

Address parse_address(std::string_view text) {
  if (const auto address = parse_ipv4(text)) return *address;
  std::array<char, INET6_ADDRSTRLEN> word{};  // inet_pton wants a zero at the end
  if (text.size() >= word.size() || text.find(':') == text.npos) return {};
  std::memcpy(word.data(), text.data(), text.size());
  Ipv6 address;
  if (std::strlen(word.data()) != text.size() || inet_pton(AF_INET6, word.data(), &address) != 1)
    return {};
  // What a server that listens to both calls an IPv4 visitor.
  constexpr std::string_view mapped("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
  if (std::string_view(address.data(), 12) != mapped) return address;
  Ipv4 inside = 0;
  for (const char byte : std::string_view(address.data() + 12, 4))
    inside = inside << 8 | static_cast<unsigned char>(byte);
  return inside;
}

std::string_view first_word(std::string_view line) {
  return line.substr(0, line.find_first_of(" \t\r"));
}

class Visitors {
 public:
  // An empty directory, or none: nobody has been here yet.
  static Result<Visitors> open(const std::string& state) {
    Visitors visitors;
    if (state.empty()) return visitors;
    visitors.state_.emplace(state);
    const auto locked = visitors.state_->lock(false);
    if (!locked) return locked.error();
    if (!*locked)
      return Error{bloomery::Code::io, state + " is in use by another run; wait for its end"};
    const auto now = visitors.state_->current();
    if (!now) return now.error();
    if (!*now) return visitors;
    auto ipv4 = Set4::open(visitors.state_->file(**now, "ipv4.blm"));
    if (!ipv4) return ipv4.error();
    auto ipv6 = Set6::open(visitors.state_->file(**now, "ipv6.blm"));
    if (!ipv6) return ipv6.error();
    if (ipv4->kind().shape() != visitors.ipv4_.kind().shape())
      return Error{bloomery::Code::mismatch,
                   state + " holds a map of other integers than IPv4 addresses"};
    visitors.ipv4_ = std::move(*ipv4);
    visitors.ipv6_ = std::move(*ipv6);
    return visitors;
  }

  // first[i] tells whether addresses[i] was never seen before, not even earlier in this batch.
  void visit(std::span<const Address> addresses, std::span<bool> first) {
    ipv4_keys_.clear();
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      first[i] = false;
      if (const auto* ipv6 = std::get_if<Ipv6>(&addresses[i]))
        first[i] = ipv6_.add(std::string_view(ipv6->data(), ipv6->size()));
      else if (const auto* ipv4 = std::get_if<Ipv4>(&addresses[i]))
        ipv4_keys_.push_back(*ipv4);
    }
    // add_all prefetches, so many bits of a batch are fetched at once.
    ipv4_.add_all(ipv4_keys_, std::span<bool>(fresh_).first(ipv4_keys_.size()));
    for (std::size_t i = 0, key = 0; i < addresses.size(); ++i)
      if (std::holds_alternative<Ipv4>(addresses[i])) first[i] = fresh_[key++];
  }

  std::uint64_t ipv4() const { return ipv4_.count(); }
  std::uint64_t ipv6() const { return ipv6_.count(); }

  // Both sets change in one step.
  Result<void> save() {
    if (!state_) return {};
    const auto next = state_->begin();
    if (!next) return next.error();
    if (auto saved = ipv4_.try_save(state_->file(*next, "ipv4.blm")); !saved) return saved.error();
    if (auto saved = ipv6_.try_save(state_->file(*next, "ipv6.blm")); !saved) return saved.error();
    return state_->commit();
  }

 private:
  using Set4 = bloomery::Set<bloomery::Bitmap>;
  using Set6 = bloomery::Set<bloomery::HashSet>;

  std::optional<examples::Generations> state_;
  Set4 ipv4_{{.range = {0, 0xffff'ffff}}};
  Set6 ipv6_{{}};
  std::vector<Ipv4> ipv4_keys_;
  std::array<bool, bloomery::lines_per_batch> fresh_{};
};

struct Options {
  std::string state = {};
  bool mark = false;
  bool skip_bad = false;
  std::vector<std::string> files = {};
};

struct Counts {
  std::uint64_t lines = 0;
  std::uint64_t first = 0;
  std::uint64_t again = 0;
  std::uint64_t bad = 0;
};

// One run over all files.
class Walk {
 public:
  Walk(const Options& options, Visitors& visitors) : options_(options), visitors_(visitors) {}

  Result<void> all() {
    for (const std::string& file : options_.files)
      if (auto done = one(file); !done) return done.error();
    return out_.close();
  }
  const Counts& counts() const { return counts_; }
  bool reader_gone() const { return out_.reader_gone(); }

 private:
  Result<void> one(const std::string& path) {
    auto file = bloomery::InputFile::open(path, bloomery::open_decompressor);
    if (!file) return file.error();
    // Flush before waiting for input: our reader must not wait for lines already handled.
    file->before_wait([this]() -> Result<int> {
      if (auto flushed = out_.flush(); !flushed) return flushed.error();
      if (asked_to_stop != 0) return Error{bloomery::Code::io, "stopped"};
      return 100;  // milliseconds until it asks again whether to stop
    });
    bloomery::LineReader reader(std::move(*file));
    while (asked_to_stop == 0 && out_.good()) {
      const auto lines = reader.next();
      if (!lines && asked_to_stop != 0) break;
      if (!lines) return lines.error();
      if (lines->empty()) break;
      take(*lines, reader);
    }
    return {};
  }

  void take(Lines lines, const bloomery::LineReader& reader) {
    addresses_.clear();
    for (const std::string_view line : lines) addresses_.push_back(parse_address(first_word(line)));
    visitors_.visit(addresses_, first_);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      ++counts_.lines;
      if (std::holds_alternative<std::monostate>(addresses_[i])) {
        name_bad(lines[i], reader.name(), reader.lines_read() - lines.size() + i + 1);
        continue;
      }
      ++(first_[i] ? counts_.first : counts_.again);
      if (options_.mark) out_.append(first_[i] ? "first\t" : "again\t");
      if (!options_.mark && !first_[i]) continue;
      out_.append(lines[i]);
      out_.append("\n");
    }
  }

  // A log full of bad lines must not cause as many messages.
  void name_bad(std::string_view line, const std::string& file, std::uint64_t number) {
    constexpr std::uint64_t most_named = 20;
    if (++counts_.bad <= most_named)
      std::cerr << "ip_visitors: " << file << ", line " << number
                << " does not begin with an IP address: " << bloomery::quoted(first_word(line))
                << '\n';
    if (counts_.bad == most_named)
      std::cerr << "ip_visitors: further lines without an address are only counted\n";
  }

  const Options& options_;
  Visitors& visitors_;
  bloomery::LineWriter out_{STDOUT_FILENO, "standard output"};
  std::vector<Address> addresses_;
  std::array<bool, bloomery::lines_per_batch> first_{};
  Counts counts_;
};

std::optional<Options> read_options(std::span<char*> words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--state" && i + 1 < words.size() && *words[i + 1] != '\0')
      options.state = words[++i];
    else if (word == "--mark")
      options.mark = true;
    else if (word == "--skip-bad")
      options.skip_bad = true;
    else if (word.starts_with('-') && word != "-")
      return std::nullopt;
    else
      options.files.emplace_back(word);
  }
  if (options.files.empty()) options.files.emplace_back("-");
  return options;
}

int refuse(const Error& error) {
  std::cerr << "ip_visitors: error: " << error.sentence << '\n';
  return 2;
}

int run(const Options& options) {
  if (auto readable = bloomery::check_readable(options.files); !readable)
    return refuse(readable.error());
  auto visitors = Visitors::open(options.state);
  if (!visitors) return refuse(visitors.error());
  Walk walk(options, *visitors);
  auto walked = walk.all();
  // The output failed, so the state is not saved: the visitors of this run stay new.
  if (!walked && !walk.reader_gone()) return refuse(walked.error());
  if (!walked) return 2;
  if (auto saved = visitors->save(); !saved) return refuse(saved.error());
  const Counts& counts = walk.counts();
  std::cerr << "lines           " << counts.lines << "\nfirst visits    " << counts.first
            << "\nreturning       " << counts.again << "\nbad lines       " << counts.bad
            << "\nvisitors known  " << visitors->ipv4() + visitors->ipv6() << " ("
            << visitors->ipv4() << " IPv4, " << visitors->ipv6() << " IPv6)\n";
  return counts.bad > 0 && !options.skip_bad ? 2 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = read_options({argv + 1, static_cast<std::size_t>(argc - 1)});
  if (!options) {
    std::cerr << usage;
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, [](int) { asked_to_stop = 1; });
  try {
    return run(*options);
  } catch (const std::exception& failure) {
    return refuse({bloomery::Code::no_memory, failure.what()});
  }
}
