#include "state_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include <bloomery/file.hpp>

#include <tools/cli/input/inputs.hpp>
#include <tools/cli/report/refuse.hpp>

#include "live_file.hpp"

namespace bloomery::cli {

StateFile::StateFile(std::string path, Word key_file, Messages& messages)
    : path_(std::move(path)), key_file_(std::move(key_file)) {
  if (path_ == "-") refuse("--state needs a file that can be read again; give it a name");
  std::error_code unseen;
  exists_ = std::filesystem::exists(path_, unseen);
  if (exists_) {
    lock_ = lock_unless_live(path_, messages);
    if (!lock_) {
      live_.emplace(path_);
      return;
    }
    // A run that fails takes away what it had begun, and those who waited for it find nothing.
    exists_ = std::filesystem::exists(path_, unseen);
    if (!exists_) lock_.reset();
  }
  // Asked before a line is printed that could not be remembered. It may exist now, of any sort and
  // not locked: another run has made it since, which is found out when this one makes it.
  expect_creatable(path_, true);
}

StateFile::~StateFile() {
  std::error_code unseen;
  if (holds_place_ && lock_ && lock_->holds(path_)) std::filesystem::remove(path_, unseen);
}

bool StateFile::has_appeared() const {
  std::error_code unseen;
  return !exists_ && std::filesystem::exists(path_, unseen);
}

Result<void> StateFile::hold_place(const SetFile& file) {
  auto saved = save(file);
  holds_place_ = saved.has_value();
  return saved;
}

void StateFile::expect_sort(bool live, bool capped) const {
  if (live && !live_) {
    // What cannot be read, or is not a set file, is told as everywhere.
    const SetFile file = open_set(path_, key_file_, Verify::header);
    refuse(path_ + " is an ordinary state; leave --live out, or begin another state");
  }
  if (capped && live_)
    refuse(path_ + " is live and grows with what all its runs add; leave --memory out");
}

bool StateFile::make_live(const SetFile& file) {
  // A run that makes an ordinary state holds it, too.
  const DirectoryLock alone(path_);
  if (has_appeared()) return false;
  const auto made = LiveState::make(path_, file, Overwrite::refuse);
  if (!made && made.error().code == Code::exists) return false;
  if (!made) throw Failure(made.error());
  exists_ = true;
  live_.emplace(path_);
  return true;
}

SetFile StateFile::open(const std::optional<std::string>& output) {
  if (live_) return live_->open(key_file_, output);
  watch();
  return open_set_to_change(path_, key_file_);
}

std::vector<WrittenOutput> StateFile::unended() const {
  return live_ ? live_->unended() : std::vector<WrittenOutput>();
}

// What cannot be watched cannot be opened either, which says why.
void StateFile::watch() {
  watch_.reset();
  if (auto begun = FileWatch::begin(path_)) watch_.emplace(std::move(*begun));
}

// Nothing is saved over what somebody else has put there or written to it.
Result<void> StateFile::check_ours() const {
  if (auto good = check_mapped_sets(); !good) return good.error();
  if (!lock_) return {};
  bool ours = lock_->holds(path_);
  if (watch_) ours = watch_->expect_unchanged(path_).has_value() && ours;
  if (ours) return {};
  return Error{Code::mismatch, path_ +
                                   " was changed, replaced or removed by another program during "
                                   "this run, and is left as it is now; run again"};
}

void StateFile::expect_saved(const Result<void>& saved) const {
  if (saved) return;
  throw Failure(Error{saved.error().code,
                      fmt::format("{}. {} does not remember the lines that were printed since it "
                                  "was saved: a later run prints them again",
                                  saved.error().sentence, path_)});
}

void StateFile::close() {
  if (!live_) return;
  if (auto closed = live_->close(); !closed)
    throw Failure(Error{closed.error().code,
                        fmt::format("{}. {} could not be closed, but remembers all lines that were "
                                    "printed",
                                    closed.error().sentence, path_)});
}

Result<void> StateFile::save(const SetFile& file) {
  if (live_) {
    if (auto ours = check_ours(); !ours) return ours;
    return live_->done(file.output);
  }
  if (auto ours = check_ours(); !ours) return ours;
  const Overwrite overwrite = exists_ ? Overwrite::replace : Overwrite::refuse;
  detail::Descriptor locked;
  const SaveOptions how{overwrite, [this] { return check_ours(); }, &locked};
  auto saved = save_image(path_, image_of(file), how);
  // By a program that did not wait for this one.
  if (!saved && !exists_ && saved.error().code == Code::exists)
    return Error{Code::exists, path_ + " was made by another program just now; run again"};
  if (!saved) return saved;
  exists_ = true;
  holds_place_ = false;
  if (!lock_) lock_.emplace();
  lock_->take(std::move(locked));
  watch();
  return {};
}

}  // namespace bloomery::cli
