// inspect, ask, compare: set files that a person chose.
//
// A file that fits is loaded whole, once, and stays for asking and for pictures. One that does not
// is verified in pieces: then what only its bits would tell is not known.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <bloomery/any_set.hpp>

#include <tools/cli/report/set_report.hpp>

#include "lent_file.hpp"
#include "open_file.hpp"
#include "verbs.hpp"

namespace bloomery::web {
namespace {

std::optional<OpenSet>& held() {
  static std::optional<OpenSet> set;
  return set;
}

Result<LentFile> file_of(const Request& request, const char* name, const char* bytes,
                         unsigned number) {
  const auto size = request.whole(bytes);
  if (!size) return size.error();
  return LentFile(request.text(name).value_or("the file"), *size, number);
}

// As `bloomery verify` says it.
Error refused(const LentFile& file, const Error& error) {
  return cli::file_error(file.name(), error,
                         error.code == Code::not_ours ? compressed_by(file) : std::string());
}

cli::Report verified_report(const LentFile& file, std::string kind) {
  cli::Report one;
  one.text("file", file.name());
  one.flag("ok", true);
  one.text("kind", std::move(kind));
  one.count("file_bytes", file.size_bytes());
  std::vector<cli::Report> files;
  files.push_back(std::move(one));
  cli::Report report;
  report.flag("ok", true);
  report.rows("files", std::move(files));
  return report;
}

std::string inspection(const std::string& verify, const std::string& info, bool in_pieces) {
  Object lines;
  lines.set("verify", verify).set("info", info);
  Object reply;
  reply.put("verify", verify).put("info", info).put("json", lines.text());
  reply.set("in_pieces", in_pieces);
  return reply.text();
}

// Of a hardened set whose key is elsewhere everything is known but what it answers.
Hasher hasher_of(const VerifiedImage& image) {
  if (image.hasher) return *image.hasher;
  return image.mode == HashMode::hardened ? Hasher::hardened({}) : Hasher{};
}

Result<OpenSet> open(const LentFile& file) {
  auto image = detail::verified_from(file.name(), file);
  if (!image) return image.error();
  auto set = AnySet::from_parts(std::move(image->parts), hasher_of(*image), image->rules);
  if (!set) return set.error();
  return OpenSet{file.name(), std::move(*set), image->uuid, !image->hasher};
}

Answer inspect_whole(const LentFile& file) {
  auto opened = open(file);
  if (!opened) return opened.error();
  const OpenSet& now = held().emplace(std::move(*opened));
  cli::Report info;
  cli::describe_set(info, now.set);
  cli::describe_inside(info, now.set);
  cli::describe_keys(info, now.set, now.key_is_elsewhere ? "in a key file" : "in the set file");
  cli::describe_file(info, file.size_bytes(), now.uuid);
  const std::string kind(now.set.kind().name);
  return inspection(line_of(verified_report(file, kind)), line_of(info), false);
}

// What is written beside the bits. The numbers that these would tell are null.
cli::Report info_of(const VerifiedImage& image, const KindRow& row) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t keys = 0;
  std::uint64_t capacity = 0;
  for (const detail::Part& part : image.parts.parts) {
    keys += part.adds;
    capacity += part.capacity;
  }
  const bool hashed = row.input == InputForm::hashed;
  cli::Report info;
  info.text("kind", std::string(row.id.name));
  info.count("keys", keys);
  info.real("keys_estimated", unknown);
  info.count("capacity", capacity);
  info.bytes("bytes", image.payload_bytes);
  info.real("bits_per_key",
            keys > 0 ? static_cast<double>(image.payload_bytes) * 8 / static_cast<double>(keys)
                     : unknown);
  info.real("fill", unknown);
  info.rate("rate_asked", image.parts.parts.front().rate_asked);
  info.rate("rate_now", unknown);
  info.text("hash", !hashed                            ? "none"
                    : image.mode == HashMode::hardened ? "siphash-1-3"
                                                       : "xxh3-64");
  info.flag("hardened", hashed && image.mode == HashMode::hardened);
  if (row.grows)
    info.real("room_left", unknown);
  else
    info.count("room_left", capacity > keys ? capacity - keys : 0);
  info.flag("overfull", !row.grows && keys > capacity);
  info.text("key_form", std::string(name_of(image.rules.form)));
  cli::describe_file(info, image.bytes, image.uuid);
  return info;
}

// The number of a composite is that of its form (sets/kinds.hpp).
const KindRow* row_of(const detail::Parts& parts) {
  const bool single = parts.form == detail::Form::single;
  const unsigned number =
      single ? parts.parts.front().kind : 1000 + static_cast<unsigned>(parts.form);
  for (const KindRow& row : AnySet::register_rows())
    if (row.id.number == number) return &row;
  return nullptr;
}

Answer inspect_in_pieces(const LentFile& file) {
  held().reset();
  const auto image = detail::verified_in_pieces(file.name(), file);
  if (!image) return refused(file, image.error());
  const KindRow* const row = row_of(image->parts);
  if (row == nullptr)
    return refused(file, {Code::unsupported,
                          "the image holds a kind of set that this version "
                          "does not know"});
  const std::string kind(row->id.name);
  return inspection(line_of(verified_report(file, kind)), line_of(info_of(*image, *row)), true);
}

constexpr std::string_view too_large =
    " is too large to be loaded here; it was verified in pieces, and 'bloomery check' asks it";

// Normal forms of URLs and addresses are computed by the command only.
Result<void> expect_askable(const OpenSet& open) {
  if (open.key_is_elsewhere)
    return Error{Code::mismatch, open.name +
                                     " is hardened and its secret key is kept elsewhere; "
                                     "ask it with 'bloomery check --key-file'"};
  if (!open.set.rules().normalisation.empty())
    return Error{Code::unsupported,
                 open.name + " normalizes its keys (" + open.set.rules().normalisation +
                     "), which this page cannot do; ask it with 'bloomery check'"};
  return {};
}

struct Asked {
  std::vector<std::uint8_t> there;
  std::vector<std::uint64_t> counts;  // empty: the kind does not count
};

template <class Keys>
Result<Asked> ask_all(const AnySet& set, const Keys& keys) {
  const auto answers = std::make_unique<bool[]>(keys.size());
  const std::span<bool> room(answers.get(), keys.size());
  if (auto asked = set.may_contain_all(std::span(keys), room); !asked) return asked.error();
  Asked found{{room.begin(), room.end()}, {}};
  if (!AnySet::find_row(set.kind().name)->counts) return found;
  found.counts.resize(keys.size());
  if (auto counted = set.counts(std::span(keys), found.counts); !counted) return counted.error();
  return found;
}

Result<Asked> ask_lines(const OpenSet& open, std::vector<std::string_view>& keys) {
  const AnySet& set = open.set;
  if (set.rules().strip_cr)
    for (std::string_view& key : keys)
      if (key.ends_with('\r')) key.remove_suffix(1);
  if (set.input() == InputForm::hashed) return ask_all<std::vector<std::string_view>>(set, keys);
  std::vector<Ordinal> ordinals;
  for (const std::string_view key : keys) {
    std::uint64_t number = 0;
    const auto read = std::from_chars(key.data(), key.data() + key.size(), number);
    if (read.ec != std::errc{} || read.ptr != key.data() + key.size())
      return Error{Code::bad_input,
                   fmt::format("'{}' is not an unsigned decimal integer, and a {} holds integers",
                               key, set.kind().name)};
    ordinals.push_back(Ordinal{number});
  }
  return ask_all<std::vector<Ordinal>>(set, ordinals);
}

}  // namespace

Result<const OpenSet*> held_set(const Request& request) {
  if (held()) return &*held();
  const auto file = file_of(request, "name", "bytes", 0);
  if (!file) return file.error();
  auto opened = open(*file);
  if (!opened && opened.error().code == Code::no_memory)
    return Error{Code::no_memory, file->name() + std::string(too_large)};
  if (!opened) return refused(*file, opened.error());
  return &held().emplace(std::move(*opened));
}

Answer inspect(const Request& request) {
  const auto file = file_of(request, "name", "bytes", 0);
  if (!file) return file.error();
  held().reset();
  if (request.text("pieces")) return inspect_in_pieces(*file);
  auto whole = inspect_whole(*file);
  if (whole) return whole;
  if (whole.error().code == Code::no_memory) return inspect_in_pieces(*file);
  return refused(*file, whole.error());
}

Answer ask(const Request& request) {
  const auto open = held_set(request);
  if (!open) return open.error();
  if (auto askable = expect_askable(**open); !askable) return askable.error();
  std::vector<std::string_view> keys = request.all("key");
  const std::vector<std::string_view> typed = keys;
  const auto found = ask_lines(**open, keys);
  if (!found) return found.error();
  std::string answers;
  for (std::size_t i = 0; i < typed.size(); ++i) {
    const bool there = found->there[i] != 0;
    Object one;
    one.set("key", typed[i]).set("there", there);
    one.set("surely", !there || (*open)->set.exact());
    if (!found->counts.empty()) one.set("count", found->counts[i]);
    answers += (i == 0 ? "" : ",") + one.text();
  }
  return "[" + answers + "]";
}

namespace {

struct Point {
  std::string what;
  std::string one;
  std::string other;
};

// In the order in which `merge` looks at them.
std::vector<Point> points_of(const AnySet& one, const AnySet& other) {
  std::vector<Point> points;
  const auto point = [&](std::string what, const std::string& a, const std::string& b) {
    points.push_back({std::move(what), a, b});
  };
  const auto seed = [](const AnySet& set) {
    if (set.input() == InputForm::ordinal) return std::string("none");
    const bool fast = set.hasher().mode() == HashMode::fast;
    return fast ? std::to_string(set.hasher().seed())
                : fmt::format("a secret key ({:016x})", set.hasher().key_check());
  };
  const auto line_ends = [](const AnySet& set) {
    return std::string(set.rules().strip_cr ? "strip" : "keep");
  };
  const auto normalisation = [](const AnySet& set) {
    return set.rules().normalisation.empty() ? std::string("none") : set.rules().normalisation;
  };
  point("kind", std::string(one.kind().name), std::string(other.kind().name));
  point("hash", cli::hash_name(one), cli::hash_name(other));
  point("seed", seed(one), seed(other));
  point("keys are", std::string(name_of(one.rules().form)),
        std::string(name_of(other.rules().form)));
  point("carriage returns", line_ends(one), line_ends(other));
  point("normalisation", normalisation(one), normalisation(other));
  const auto mine = one.shape_facts();
  const auto theirs = other.shape_facts();
  if (one.kind() != other.kind()) return points;
  for (std::size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i)
    point(mine[i].first, mine[i].second, theirs[i].second);
  return points;
}

}  // namespace

Answer compare(const Request& request) {
  held().reset();
  std::vector<OpenSet> both;
  const std::array<std::array<const char*, 2>, 2> names = {
      {{"name", "bytes"}, {"other_name", "other_bytes"}}};
  for (unsigned i = 0; i < 2; ++i) {
    const auto file = file_of(request, names[i][0], names[i][1], i);
    if (!file) return file.error();
    auto opened = open(*file);
    if (!opened) return refused(*file, opened.error());
    both.push_back(std::move(*opened));
  }
  const std::vector<Point> points = points_of(both[0].set, both[1].set);
  // What `merge` would do, on a copy in memory: its sentence is the answer.
  const auto united = both[0].set.unite(both[1].set);
  std::string list;
  for (const Point& point : points) {
    Object one;
    one.set("what", point.what).set("one", point.one).set("other", point.other);
    one.set("same", point.one == point.other);
    list += (list.empty() ? "" : ",") + one.text();
  }
  Object reply;
  reply.set("mergeable", united.has_value());
  reply.set("why", united ? "the same kind, hash and rules, and shapes that fit"
                          : both[0].name + " and " + both[1].name + ": " + united.error().sentence);
  return reply.put("points", "[" + list + "]").text();
}

}  // namespace bloomery::web
