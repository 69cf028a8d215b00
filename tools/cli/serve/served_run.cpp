#include "served_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include <tools/cli/commands/dedup_files.hpp>
#include <tools/cli/input/inputs.hpp>

#include "serve_flags.hpp"

namespace bloomery::cli {
namespace {

std::string name_of(const DedupFlags& flags) {
  if (flags.files.empty() || flags.files.front() == "-") return "dedup";
  if (flags.files.size() == 1) return "dedup " + flags.files.front();
  return fmt::format("dedup {} and {} more", flags.files.front(), flags.files.size() - 1);
}

ServeWish wish_of(const DedupFlags& flags) {
  const std::string address = flags.serve->empty() ? "127.0.0.1:0" : *flags.serve;
  ServeWish wish{.address = parse_listen_address("--serve", address),
                 .token = token_of({}, flags.token_file),
                 .every = std::chrono::seconds(1)};
  expect_guarded("--serve", wish);
  return wish;
}

}  // namespace

ServedRun::ServedRun(const DedupFlags& flags, Messages& messages)
    : tallies_(tallies_of(flags.tally).has_value()),
      counts_(std::make_shared<RunCounts>(name_of(flags), total_bytes(flags.files))),
      server_(wish_of(flags), {counts_}) {
  server_.begin();
  messages.plain(server_.address_line());
}

void ServedRun::tell(const DedupReport& before, DedupReport now, const AnySet& set) {
  if (!tallies_ && !set.exact()) now.rate_now = set.expected_rate_now();
  if (before.lines_in > 0) {
    DedupReport sum = before;
    add_up(sum, now);
    now = sum;
  }
  counts_->tell(now, tallies_ ? std::string_view() : set.kind().name);
}

void ServedRun::end(const DedupReport& report) {
  counts_->end(report);
  server_.end();
}

}  // namespace bloomery::cli
