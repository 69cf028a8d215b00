#include "set_look.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <bloomery/any_set.hpp>
#include <bloomery/image.hpp>
#include <bloomery/live.hpp>
#include <bloomery/storage/live/live_image.hpp>

#include <tools/cli/report/refuse.hpp>
#include <tools/cli/report/report.hpp>
#include <tools/cli/sets/mapped_set.hpp>
#include <tools/cli/sets/remote_set.hpp>
#include <tools/cli/sets/set_file.hpp>

namespace bloomery::cli {
namespace {

constexpr std::uint64_t most_read_bytes = 64 << 20;
constexpr int rest_by_work = 20;
// One server that is gone must not hold up the looks at other sets for long.
constexpr std::string_view remote_timeout = "timeout=2s";

std::string name_of(const std::string& path) {
  return is_remote(path) ? remote_address(path).shown() : path;
}

std::string with_timeout(const std::string& url) {
  if (url.find("timeout=") != std::string::npos) return url;
  return fmt::format("{}{}{}", url, url.find('?') == std::string::npos ? '?' : '&', remote_timeout);
}

std::vector<std::byte> read_whole(const std::string& path, std::uint64_t bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::vector<std::byte> whole(bytes);
  std::size_t got = 0;
  while (file.is_open() && got < whole.size()) {
    const ssize_t count = ::read(file.number(), whole.data() + got, whole.size() - got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    if (count == 0) refuse(fmt::format("{} became shorter while it was read", path));
    got += static_cast<std::size_t>(count);
  }
  if (got < whole.size()) refuse(fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
  return whole;
}

const KindRow* row_of(const Parts& parts) {
  if (parts.form != Form::single || parts.parts.empty()) return nullptr;
  for (const KindRow& row : AnySet::register_rows())
    if (row.id.number == parts.parts[0].kind) return &row;
  return nullptr;
}

std::string_view word_of(LiveFacts::State state) {
  switch (state) {
    case LiveFacts::State::closed: return "closed";
    case LiveFacts::State::in_use: return "in use";
    case LiveFacts::State::cut: break;
  }
  return "cut";
}

}  // namespace

// What a look has found, before it is told.
struct SetLook::Found {
  Report report;  // what follows id and name
  std::string kind;
  std::vector<double> values = std::vector<double>(set_values::count, unknown);

  void of_set(const AnySet& set, FactsFrom from) {
    kind = set.kind().name;
    describe(report, set, from);
    const bool bits = from == FactsFrom::bits;
    if (bits) {
      values[set_values::keys_estimated] = set.estimate();
      values[set_values::fill] = set.fill_ratio();
    }
    values[set_values::rate_now] = bits ? set.rate_now() : set.expected_rate_now();
    values[set_values::rate_asked] = set.rate_asked();
    values[set_values::keys] = static_cast<double>(set.adds());
    // What grows has no capacity to compare with.
    if (!AnySet::find_row(set.kind().name)->grows)
      values[set_values::capacity] = static_cast<double>(set.capacity());
    values[set_values::bytes] = static_cast<double>(set.bytes());
    values[set_values::overfull] = set.overfull() ? 1 : 0;
    describe_room(report, set);
    report.flag("overfull", set.overfull());
    report.text("facts_from", bits ? "bits" : "head");
  }

  // Of a kind whose table is made when it is opened: what the head says.
  void of_part(const KindRow& row, const Part& part) {
    kind = row.id.name;
    report.text("kind", kind);
    report.count("keys", part.adds);
    report.bytes("bytes", part.payload.size());
    report.text("facts_from", "head");
    values[set_values::keys] = static_cast<double>(part.adds);
    values[set_values::bytes] = static_cast<double>(part.payload.size());
  }

  void of_output(const std::optional<WrittenOutput>& output) {
    if (!output) return;
    report.text("output", output->path);
    report.bytes("output_bytes", output->bytes);
    report.flag("output_ended", output->ended);
  }

  void of_image(const std::string& path, Image image, FactsFrom from) {
    const auto output = std::move(image.output);
    const KindRow* const row = row_of(image.parts);
    if (from == FactsFrom::adds && row != nullptr &&
        (row->whole_hashes || (row->exact && row->input == InputForm::hashed))) {
      of_part(*row, image.parts.parts[0]);
    } else {
      const AnySet set = AnySet::of(path, std::move(image)).value();
      of_set(set, from);
    }
    of_output(output);
  }
};

SetLook::SetLook(std::string id, std::string path, Word key_file)
    : id_(std::move(id)),
      path_(std::move(path)),
      name_(name_of(path_)),
      key_file_(std::move(key_file)) {}

SetLook::Stamp SetLook::stamp() const {
  struct stat facts {};
  if (::stat(path_.c_str(), &facts) != 0)
    refuse(fmt::format("{} cannot be read: {}", path_, std::strerror(errno)));
  if (!S_ISREG(facts.st_mode)) refuse(fmt::format("{} is not a file", path_));
  const auto ns = [](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {facts.st_dev, facts.st_ino, static_cast<std::uint64_t>(facts.st_size), ns(facts.st_mtim),
          ns(facts.st_ctim)};
}

void SetLook::look_at_file(Found& found) {
  OpenOptions options{.verify = Verify::header};
  if (key_file_) options.key = read_key_file(*key_file_);
  const ReadingSet reading(path_);
  const Stamp now = stamp();
  const FactsFrom from = now.bytes <= most_read_bytes ? FactsFrom::bits : FactsFrom::adds;
  const bool live = is_live(path_).value();
  if (!live && from == FactsFrom::bits) {
    options.verify = Verify::checksums;
    auto image = read_image(read_whole(path_, now.bytes), options);
    if (!image) throw Failure(Error{image.error().code, path_ + ": " + image.error().sentence});
    found.of_image(path_, std::move(*image), from);
  } else {
    found.of_image(path_, open_image(path_, options).value(), from);
  }
  found.values[set_values::file_bytes] = static_cast<double>(now.bytes);
  found.report.bytes("file_bytes", now.bytes);
  if (live) {
    const LiveFacts facts = live_facts(path_).value();
    found.report.flag("live", true);
    found.report.text("live_state", std::string(word_of(facts.state)));
    found.report.count("log_keys", facts.log_keys);
    found.report.bytes("log_bytes", facts.log_bytes);
  }
  // A live file changes without its times.
  stamp_ = live ? Stamp{} : now;
}

void SetLook::look_at_server(Found& found) const {
  const SetFile file = open_live_set(with_timeout(path_), key_file_, Verify::header);
  found.of_set(file.set, FactsFrom::bits);
  describe_remote(found.report, *file.remote);
}

Seen SetLook::told(const Found& found) {
  Seen seen{.id = id_, .name = name_, .kind = found.kind, .values = found.values};
  seen.time = seconds_since_1970();
  double growth = unknown;
  if (last_.error.empty() && !last_.values.empty() && seen.time > last_.time)
    growth = std::max(0.0, (seen.values[set_values::keys] - last_.values[set_values::keys]) /
                               (seen.time - last_.time));
  const std::string facts = found.report.as_json();
  facts_ = facts.substr(1, facts.size() - 2);
  tell(seen, growth);
  return seen;
}

void SetLook::tell(Seen& seen, double growth) const {
  seen.values[set_values::growth] = growth;
  Report report;
  report.text("id", id_);
  report.text("name", name_);
  report.real("time", seen.time);
  report.real("keys_per_second", growth);
  // Two objects, the one behind the other, become one.
  seen.json = report.as_json();
  seen.json.resize(seen.json.size() - 2);
  seen.json += "," + facts_;
}

Seen SetLook::look() {
  if (Clock::now() < not_before_) return last_;
  const auto begun = Clock::now();
  try {
    if (!is_remote(path_) && stamp_ != Stamp{} && last_.error.empty() && stamp() == stamp_) {
      // As it was; nothing grows.
      last_.time = seconds_since_1970();
      tell(last_, 0);
      return last_;
    }
    Found found;
    if (is_remote(path_))
      look_at_server(found);
    else
      look_at_file(found);
    last_ = told(found);
  } catch (const std::exception& failure) {
    stamp_ = {};
    last_ = {.id = id_, .name = name_, .error = failure.what(), .time = seconds_since_1970()};
    Report report;
    report.text("id", id_);
    report.text("name", name_);
    report.real("time", last_.time);
    report.text("error", last_.error);
    last_.json = report.as_json();
    last_.json.pop_back();
  }
  const auto ended = Clock::now();
  not_before_ = ended + rest_by_work * (ended - begun);
  return last_;
}

}  // namespace bloomery::cli
