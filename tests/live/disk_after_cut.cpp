#include "disk_after_cut.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string_view>

namespace bloomery::cuts {
namespace {

// splitmix64: any two inputs give unrelated outputs.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t more) {
  std::uint64_t x = seed + (more + 1) * 0x9e37'79b9'7f4a'7c15;
  x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9;
  x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11eb;
  return x ^ (x >> 31);
}

// 0 to bound - 1.
std::size_t below(std::uint64_t random, std::size_t bound) {
  return static_cast<std::size_t>(random % bound);
}

std::string directory_of(const std::string& name) {
  const auto slash = name.rfind('/');
  return slash == std::string::npos ? "" : name.substr(0, slash);
}

// Of "a\0b": a and b.
std::pair<std::string, std::string> two_names(const std::string& text) {
  const auto end = text.find('\0');
  return {text.substr(0, end), text.substr(end + 1)};
}

// How many of these happened before the event `moment`.
template <class Versions>
std::size_t count_before(const Versions& versions, std::size_t moment) {
  const auto late = [&](const auto& one) { return one.event >= moment; };
  return static_cast<std::size_t>(std::find_if(versions.begin(), versions.end(), late) -
                                  versions.begin());
}

constexpr std::uint64_t for_names = 0x6e61'6d65;
constexpr std::uint64_t for_length = 0x6c65'6e67;

}  // namespace

// What survived, of one file or of the names. Counts below are of versions that are not synced:
// 0 is the durable one.
struct DiskAfterCut::Choice {
  enum class Way {
    nothing,
    everything,
    until,
    since,
    each_sector,
    each_page,
    all_but_one,
    only_one
  };
  static constexpr std::uint64_t ways = 8;

  // `oldest`: the first event that is not synced.
  Choice(std::uint64_t random, std::size_t oldest, std::size_t cut)
      : way(static_cast<Way>(random % ways)),
        salt(mixed(random, 0)),
        moment(oldest + below(mixed(random, 1), cut - oldest + 1)),
        in_eight(1 + below(mixed(random, 2), 7)) {}

  bool survives(std::uint64_t what) const { return mixed(salt, what) % 8 < in_eight; }

  std::size_t version(const std::vector<Version>& all, std::uint64_t sector, bool chosen) const {
    switch (way) {
      case Way::nothing: return 0;
      case Way::everything: return all.size();
      case Way::until: return count_before(all, moment);
      case Way::since: return all.back().event >= moment ? all.size() : 0;
      case Way::each_sector:
        return survives(sector) ? 1 + below(mixed(salt, ~sector), all.size()) : 0;
      case Way::each_page: return of_page(all, sector / (page_bytes / sector_bytes));
      case Way::all_but_one: return chosen ? 0 : all.size();
      case Way::only_one: return chosen ? all.size() : 0;
    }
    return 0;
  }

  // A page goes to the disk as it is at one moment.
  std::size_t of_page(const std::vector<Version>& all, std::uint64_t page) const {
    if (!survives(page)) return 0;
    const std::size_t first = all.front().event;
    const std::size_t late = first + below(mixed(salt, ~page), moment > first ? moment - first : 1);
    return mixed(salt, page) & 1024 ? all.size() : count_before(all, late + 1);
  }

  std::size_t length(const std::vector<Length>& all) const {
    switch (way) {
      case Way::nothing: return 0;
      case Way::everything:
      case Way::all_but_one: return all.size();
      case Way::until: return count_before(all, moment);
      case Way::since: return all.empty() || all.back().event < moment ? 0 : all.size();
      default: return below(mixed(salt, for_length), all.size() + 1);
    }
  }

  bool name(std::size_t event) const {
    switch (way) {
      case Way::nothing: return false;
      case Way::everything: return true;
      case Way::until: return event < moment;
      case Way::since: return event >= moment;
      default: return survives(event);
    }
  }

  Way way;
  std::uint64_t salt;
  std::size_t moment;
  std::uint64_t in_eight;  // of eight units, how many survive
};

DiskAfterCut::DiskAfterCut(std::vector<DiskEvent> events, Names names)
    : events_(std::move(events)), rule_(names), file_of_event_(events_.size()) {}

void DiskAfterCut::cut_at(std::size_t cut) {
  if (cut > events_.size()) throw std::runtime_error("a cut lies behind the end of the trace");
  // What was there before is there.
  while (cut < events_.size() && events_[cut].kind == DiskEventKind::exists) ++cut;
  if (cut < cut_) {
    cut_ = 0;
    files_.clear();
    newest_.clear();
    durable_names_.clear();
    pending_names_.clear();
    syncs_.clear();
    marks_.clear();
  }
  for (; cut_ < cut; ++cut_) apply(events_[cut_]);
}

bool DiskAfterCut::is_certain() const {
  const auto certain = [](const File& file) {
    return file.pending.empty() && file.lengths.empty();
  };
  return pending_names_.empty() && std::all_of(files_.begin(), files_.end(), certain);
}

void DiskAfterCut::apply(const DiskEvent& event) {
  using enum DiskEventKind;
  switch (event.kind) {
    case exists:
    case create: return begin_file(event);
    case link:
    case rename: file_of_event_[cut_] = newest_.at(event.file); [[fallthrough]];
    case unlink: return pending_names_.push_back(cut_);
    case length: return set_length(file_of(event.file), event.length);
    case write: return write_bytes(file_of(event.file), event.offset, event.text);
    case sync:
    case sync_names:
      syncs_[event.ticket] = {cut_,         event.file, event.offset,
                              event.length, event.text, event.kind == sync_names};
      return;
    case synced:
      if (const auto begun = syncs_.extract(event.ticket)) end_sync(begun.mapped());
      return;
    case sync_failed:
      if (const auto begun = syncs_.extract(event.ticket);
          begun && !begun.mapped().names && newest_.contains(begun.mapped().file))
        give_up(file_of(begun.mapped().file), begun.mapped());
      return;
    case mark: marks_.push_back(event.text);
  }
}

void DiskAfterCut::begin_file(const DiskEvent& event) {
  const std::size_t file = files_.size();
  newest_[event.file] = file;
  files_.emplace_back();
  if (event.kind == DiskEventKind::create) {
    file_of_event_[cut_] = file;
    if (!event.text.empty()) pending_names_.push_back(cut_);
    return;
  }
  auto [name, bytes] = two_names(event.text);
  durable_names_[name] = file;
  files_[file].durable_length = bytes.size();
  files_[file].current = bytes;
  files_[file].durable = std::move(bytes);
}

void DiskAfterCut::add_version(File& file, std::uint64_t sector) {
  Version version{cut_, {}, false};
  const std::uint64_t begin = sector * sector_bytes;
  if (begin < file.current.size())
    file.current.copy(version.bytes.data(), sector_bytes, static_cast<std::size_t>(begin));
  file.pending[sector].push_back(version);
}

void DiskAfterCut::write_bytes(File& file, std::uint64_t offset, std::string_view bytes) {
  if (bytes.empty()) return;
  const std::uint64_t end = offset + bytes.size();
  if (end > file.current.size()) {
    file.current.resize(static_cast<std::size_t>(end));
    file.lengths.push_back({cut_, end});
  }
  bytes.copy(file.current.data() + offset, bytes.size());
  for (std::uint64_t sector = offset / sector_bytes; sector * sector_bytes < end; ++sector)
    add_version(file, sector);
}

void DiskAfterCut::set_length(File& file, std::uint64_t length) {
  const std::uint64_t before = file.current.size();
  if (length == before) return;
  file.current.resize(static_cast<std::size_t>(length));
  file.lengths.push_back({cut_, length});
  // What was cut off is zero if the file grows again.
  for (std::uint64_t sector = length / sector_bytes; sector * sector_bytes < before; ++sector)
    add_version(file, sector);
}

void DiskAfterCut::end_sync(const Sync& sync) {
  if (sync.names) return make_names_durable(sync);
  if (newest_.contains(sync.file)) make_durable(file_of(sync.file), sync);
}

void DiskAfterCut::give_up(File& file, const Sync& sync) const {
  for (auto& [sector, versions] : file.pending)
    if (sync.length == whole_file || (sector * sector_bytes + sector_bytes > sync.offset &&
                                      sector * sector_bytes < sync.offset + sync.length))
      for (Version& version : versions) version.given_up = true;
}

void DiskAfterCut::make_durable(File& file, const Sync& sync) {
  const bool whole = sync.length == whole_file;
  auto at = whole ? file.pending.begin() : file.pending.lower_bound(sync.offset / sector_bytes);
  while (at != file.pending.end() &&
         (whole || at->first * sector_bytes < sync.offset + sync.length)) {
    auto& [sector, versions] = *at;
    const auto covered = static_cast<std::ptrdiff_t>(count_before(versions, sync.event));
    if (covered > 0 && !versions[static_cast<std::size_t>(covered - 1)].given_up) {
      const std::size_t end = static_cast<std::size_t>((sector + 1) * sector_bytes);
      if (file.durable.size() < end) file.durable.resize(end);
      const auto& last = versions[static_cast<std::size_t>(covered - 1)].bytes;
      std::memcpy(file.durable.data() + end - sector_bytes, last.data(), sector_bytes);
      versions.erase(versions.begin(), versions.begin() + covered);
    }
    at = versions.empty() ? file.pending.erase(at) : std::next(at);
  }
  const auto covered = static_cast<std::ptrdiff_t>(count_before(file.lengths, sync.event));
  if (covered == 0) return;
  file.durable_length = file.lengths[static_cast<std::size_t>(covered - 1)].bytes;
  file.lengths.erase(file.lengths.begin(), file.lengths.begin() + covered);
}

void DiskAfterCut::make_names_durable(const Sync& sync) {
  std::vector<std::size_t> left;
  // In order, what came before a durable change of names is durable too.
  std::size_t last = 0;
  const auto covered = [&](std::size_t number) {
    const DiskEvent& event = events_[number];
    const bool renamed = event.kind == DiskEventKind::rename;
    const std::string name = renamed ? two_names(event.text).second : event.text;
    return number < sync.event && directory_of(name) == sync.directory;
  };
  for (const std::size_t number : pending_names_)
    if (covered(number)) last = number;
  for (const std::size_t number : pending_names_) {
    if (covered(number) || (rule_ == Names::in_order && number < last))
      apply_name(durable_names_, number);
    else
      left.push_back(number);
  }
  pending_names_ = std::move(left);
}

void DiskAfterCut::apply_name(std::map<std::string, std::size_t>& names, std::size_t number) const {
  const DiskEvent& event = events_[number];
  if (event.kind == DiskEventKind::unlink) {
    names.erase(event.text);
  } else if (event.kind == DiskEventKind::rename) {
    const auto [from, to] = two_names(event.text);
    names.erase(from);
    names[to] = file_of_event_[number];
  } else {
    names[event.text] = file_of_event_[number];
  }
}

std::map<std::string, std::size_t> DiskAfterCut::names_after(const Choice& choice) const {
  auto names = durable_names_;
  for (const std::size_t number : pending_names_) {
    if (choice.name(number))
      apply_name(names, number);
    else if (rule_ == Names::in_order)
      break;
  }
  return names;
}

std::string DiskAfterCut::bytes_after(const File& file, const Choice& choice) const {
  const std::size_t survived = choice.length(file.lengths);
  const std::uint64_t length =
      survived == 0 ? file.durable_length : file.lengths[survived - 1].bytes;
  std::string bytes = file.durable.substr(0, static_cast<std::size_t>(length));
  bytes.resize(static_cast<std::size_t>(length));
  std::size_t left = file.pending.empty() ? 0 : below(choice.salt, file.pending.size());
  for (const auto& [sector, versions] : file.pending) {
    const std::size_t taken = choice.version(versions, sector, left-- == 0);
    const std::uint64_t begin = sector * sector_bytes;
    if (taken == 0 || begin >= length) continue;
    const auto room = static_cast<std::size_t>(std::min(sector_bytes, length - begin));
    std::memcpy(bytes.data() + begin, versions[taken - 1].bytes.data(), room);
  }
  return bytes;
}

std::map<std::string, std::string> DiskAfterCut::files(std::uint64_t seed) const {
  std::size_t oldest = cut_;
  if (!pending_names_.empty()) oldest = pending_names_.front();
  for (const File& file : files_) {
    if (!file.lengths.empty()) oldest = std::min(oldest, file.lengths.front().event);
    for (const auto& [sector, versions] : file.pending)
      oldest = std::min(oldest, versions.front().event);
  }
  const std::uint64_t random = mixed(seed, cut_);
  const bool alike = mixed(random, 0) % 2 == 0;
  const auto choice_for = [&](std::uint64_t what) {
    return Choice(mixed(random, alike ? 1 : 2 + what), oldest, cut_);
  };
  std::map<std::string, std::string> found;
  for (const auto& [name, file] : names_after(choice_for(for_names)))
    found[name] = bytes_after(files_[file], choice_for(file));
  return found;
}

void DiskAfterCut::rebuild(std::uint64_t seed, const std::filesystem::path& directory) const {
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    std::filesystem::remove_all(entry.path());
  for (const auto& [name, bytes] : files(seed)) {
    const auto path = directory / name;
    if (name.find('/') != std::string::npos)
      std::filesystem::create_directories(path.parent_path());
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    std::size_t put = 0;
    while (file >= 0 && put < bytes.size()) {
      const ssize_t step = ::write(file, bytes.data() + put, bytes.size() - put);
      if (step <= 0) break;
      put += static_cast<std::size_t>(step);
    }
    if (file < 0 || ::close(file) != 0 || put != bytes.size())
      throw std::runtime_error(path.string() + " cannot be rebuilt");
  }
}

}  // namespace bloomery::cuts
