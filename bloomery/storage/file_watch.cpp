#include <bloomery/storage/file_watch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include <bloomery/image.hpp>
#include <bloomery/storage/image_source.hpp>

namespace bloomery::inline v0::detail {
namespace {

constexpr std::size_t head_bytes = 8192;

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// The clock that stamps files.
std::int64_t coarse_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return nanoseconds(now);
}

Error can_not_read(const std::string& name) {
  return {Code::io, name + " cannot be read: " + std::generic_category().message(errno)};
}

Error changed(const std::string& name, const std::string& how) {
  return {Code::damaged, name + " was " + how +
                             " by another program while it was in use, so what was answered "
                             "from it cannot be trusted; run again when nobody writes to it"};
}

// What is written in the same step of the clock would have the same time.
void wait_for_next_step(std::int64_t last_change) {
  constexpr std::int64_t most_ns = 20'000'000;
  constexpr timespec pause{0, 500'000};
  const std::int64_t start = coarse_now();
  if (last_change < start || last_change > start + most_ns) return;
  while (coarse_now() <= last_change && coarse_now() - start < most_ns)
    ::nanosleep(&pause, nullptr);
}

}  // namespace

Result<FileWatch::Facts> FileWatch::facts_of(const detail::Descriptor& file,
                                             const std::string& name) {
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0) return can_not_read(name);
  return Facts{facts.st_dev, facts.st_ino, static_cast<std::uint64_t>(facts.st_size),
               nanoseconds(facts.st_mtim), nanoseconds(facts.st_ctim)};
}

Result<FileWatch> FileWatch::begin(const std::filesystem::path& path) {
  FileWatch watch;
  do {
    watch.file_ =
        detail::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  } while (!watch.file_.is_open() && errno == EINTR);
  if (!watch.file_.is_open()) return can_not_read(path.string());
  watch.head_ = watch.head();
  const auto live = is_live_image(BytesSource(std::as_bytes(std::span(watch.head_))));
  if (!live) return live.error();
  watch.is_live_ = *live;
  for (int step = 0; step < 2; ++step) {
    auto facts = facts_of(watch.file_, path.string());
    if (!facts) return facts.error();
    watch.facts_ = *facts;
    if (step == 0 && !watch.is_live_) wait_for_next_step(facts->changed_ns);
  }
  watch.head_ = watch.head();
  return watch;
}

bool FileWatch::names(const std::filesystem::path& path) const {
  struct stat named {};
  return ::stat(path.c_str(), &named) == 0 && named.st_dev == facts_.device &&
         named.st_ino == facts_.inode;
}

std::vector<char> FileWatch::head() const {
  std::vector<char> bytes(head_bytes);
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const auto got = ::pread(file_.number(), bytes.data() + filled, bytes.size() - filled,
                             static_cast<off_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

Result<void> FileWatch::expect_same_live(const std::string& name, std::uint64_t bytes) const {
  if (bytes < facts_.bytes) return changed(name, "cut short");
  const auto now = head();
  for (const std::size_t slot : {0U, 4096U}) {
    constexpr std::size_t uuid_at = 40, uuid_bytes = 16;
    const auto from = static_cast<std::ptrdiff_t>(slot + uuid_at);
    if (now.size() < head_bytes || head_.size() < head_bytes ||
        !std::equal(now.begin() + from, now.begin() + from + uuid_bytes, head_.begin() + from))
      return changed(name, "written to");
  }
  return {};
}

Result<void> FileWatch::expect_unchanged(const std::string& name) const {
  const auto now = facts_of(file_, name);
  if (!now) return now.error();
  if (is_live_) return expect_same_live(name, now->bytes);
  if (now->bytes != facts_.bytes)
    return changed(name, now->bytes < facts_.bytes ? "cut short" : "made longer");
  if (now->modified_ns != facts_.modified_ns) return changed(name, "written to");
  if (now->changed_ns == facts_.changed_ns) return {};
  // Renamed, replaced under its name, or given another mode; or written to by somebody who put the
  // time back.
  if (head() != head_) return changed(name, "written to");
  const std::string again = "/proc/self/fd/" + std::to_string(file_.number());
  if (is_image(again) && !verify_image(again)) return changed(name, "written to");
  return {};
}

}  // namespace bloomery::inline v0::detail
