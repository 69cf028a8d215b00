#include "state_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include <bloomery/storage/file.hpp>

#include "command.hpp"
#include "inputs.hpp"

namespace bloomery::cli {

StateFile::StateFile(std::string path, Word key_file, Messages& messages)
    : path_(std::move(path)), key_file_(std::move(key_file)) {
  if (path_ == "-") refuse("--state needs a file that can be read again; give it a name");
  std::error_code unseen;
  exists_ = std::filesystem::exists(path_, unseen);
  if (exists_) lock_.emplace(path_, messages);
  // Asked before a line is printed that could not be remembered.
  expect_creatable(path_, exists_);
}

StateFile::~StateFile() {
  std::error_code unseen;
  if (holds_place_ && lock_ && lock_->holds(path_)) std::filesystem::remove(path_, unseen);
}

Result<void> StateFile::hold_place(const SetFile& file) {
  auto saved = save(file);
  holds_place_ = saved.has_value();
  return saved;
}

SetFile StateFile::open() const { return open_set(path_, key_file_, Verify::checksums); }

Result<void> StateFile::save(const SetFile& file) {
  if (lock_ && !lock_->holds(path_))
    return Error{Code::mismatch, path_ +
                                     " was replaced by another program during this run, and is "
                                     "left as it is now; run again"};
  const Overwrite overwrite = exists_ ? Overwrite::replace : Overwrite::refuse;
  if (auto saved = save_image(path_, image_of(file), {overwrite}); !saved) return saved;
  exists_ = true;
  holds_place_ = false;
  if (!lock_) lock_.emplace();
  if (!lock_->move_to(path_))
    return Error{Code::mismatch,
                 path_ + " was taken by another program during this run; run again after it"};
  return {};
}

}  // namespace bloomery::cli
