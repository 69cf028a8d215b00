#include "mapped_set.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace bloomery::cli {
namespace {

// What the signal handler reads. Written only by the thread that opens sets.
struct Range {
  std::atomic<const MappedSet*> owner = nullptr;
  std::atomic<const std::byte*> begin = nullptr;
  std::atomic<const std::byte*> end = nullptr;
  std::atomic<const char*> name = nullptr;
};
constinit std::array<Range, 64> ranges;
std::atomic<const char*> reading_now = nullptr;

std::set<const MappedSet*>& mapped_now() {
  static std::set<const MappedSet*> all;
  return all;
}
std::vector<const char*>& read_now() {
  static std::vector<const char*> names;
  return names;
}
std::optional<Error>& found_changed() {
  static std::optional<Error> error;
  return error;
}

const char* name_of(const void* address) {
  const auto* const at = static_cast<const std::byte*>(address);
  for (const Range& range : ranges) {
    const std::byte* const begin = range.begin;
    if (begin != nullptr && begin <= at && at < range.end) return range.name;
  }
  return reading_now;
}

// Several threads may touch the lost pages at the same moment, each with a signal of its own: the
// first one speaks, in one piece, and ends the program; the others wait for that end.
constinit std::atomic_flag is_told = ATOMIC_FLAG_INIT;

// One sentence, gathered without memory from the system.
class Sentence {
 public:
  void append(std::string_view text) {
    const std::size_t length = std::min(text.size(), letters_.size() - length_);
    std::memcpy(letters_.data() + length_, text.data(), length);
    length_ += length;
  }
  // Nothing could be done if it fails.
  void say() const { static_cast<void>(!::write(STDERR_FILENO, letters_.data(), length_)); }

 private:
  std::array<char, 8192> letters_;  // a path has at most 4,096
  std::size_t length_ = 0;
};

// Only what a signal handler may call. The program cannot go on: the bytes are not there.
void on_bus_error(int signal, siginfo_t* info, void*) {
  const char* const name = name_of(info->si_addr);
  if (name == nullptr) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);
    return;
  }
  while (is_told.test_and_set()) ::pause();
  Sentence sentence;
  sentence.append("bloomery: error: ");
  sentence.append(name);
  sentence.append(
      " was cut short by another program while it was in use, or a page of it could not be read or "
      "written: its disk failed or, of a live set, is full. What was answered from it cannot be "
      "trusted; look at the disk, and run again\n");
  sentence.say();
  ::_exit(2);
}

}  // namespace

Result<MappedSet::Opened> MappedSet::open(const std::string& path, const OpenOptions& options) {
  constexpr int most_tries = 100;
  const ReadingSet reading(path);
  for (int tries = 0;; ++tries) {
    auto watch = FileWatch::begin(path);
    auto image = open_image(path, options);
    if (!image) return image.error();
    if (!watch) return watch.error();
    // Replaced between the two: another file is mapped than is watched.
    if (!watch->names(path) && tries < most_tries) continue;
    auto guard = std::make_shared<const MappedSet>(path, std::move(*watch), image->parts);
    return Opened{std::move(*image), std::move(guard)};
  }
}

MappedSet::MappedSet(std::string path, FileWatch watch, const Parts& parts)
    : path_(std::move(path)), watch_(std::move(watch)) {
  mapped_now().insert(this);
  auto free = ranges.begin();
  for (const Part& part : parts.parts) {
    free = std::find_if(free, ranges.end(), [](const Range& one) { return one.begin == nullptr; });
    if (free == ranges.end() || part.payload.empty()) continue;
    free->owner = this;
    free->name = path_.c_str();
    free->end = part.payload.data() + part.payload.size();
    free->begin = part.payload.data();
  }
}

MappedSet::~MappedSet() {
  if (auto good = check(); !good && !found_changed()) found_changed() = good.error();
  mapped_now().erase(this);
  for (Range& range : ranges)
    if (range.owner == this) {
      range.begin = nullptr;
      range.owner = nullptr;
    }
}

Result<void> check_mapped_sets() {
  if (found_changed()) return *found_changed();
  for (const MappedSet* const one : mapped_now())
    if (auto good = one->check(); !good) return good.error();
  return {};
}

void expect_mapped_unchanged() { check_mapped_sets().value(); }

namespace {

// For the signal handler: all of them, since a page of any may be lost.
void name_all_read() {
  static std::string names;
  std::string now;
  for (const char* const name : read_now()) now.append(now.empty() ? "" : " or ").append(name);
  reading_now = nullptr;
  names = std::move(now);
  if (!names.empty()) reading_now = names.c_str();
}

}  // namespace

ReadingSet::ReadingSet(std::string path) : path_(std::move(path)) {
  read_now().push_back(path_.c_str());
  name_all_read();
}
ReadingSet::~ReadingSet() {
  std::erase(read_now(), path_.c_str());
  name_all_read();
}

void explain_bus_errors() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace bloomery::cli
