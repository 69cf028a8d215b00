// A live set file as the state of dedup: several runs add to it at once, and each line is printed
// by one of them.
//
//    LiveState::make(path, file)              a new one, empty
//    LiveState state(path, key_file)          a run begins
//    SetFile file = state.open(output)        its adds are pending ...
//    state.done(file.output)                  ... until their lines are in the output
//    state.close()                            after the last one
//
// A checkpoint costs what was added since the last one. Adds of a run that ended before it said
// done() are undone by the next run that opens the state: their lines come again with its input.
// Threads: one.
#pragma once

#include <optional>
#include <string>

#include <bloomery/storage/live/live_body.hpp>

#include "set_file.hpp"

namespace bloomery::cli {

class LiveState {
 public:
  // Error with Code::exists when another run has made it meanwhile.
  static Result<void> make(const std::string& path, const SetFile& file);

  explicit LiveState(std::string path) : path_(std::move(path)) {}

  // With what the state knows of this output.
  SetFile open(const Word& key_file, const std::optional<std::string>& output);
  Result<void> done(const std::optional<WrittenOutput>& output);
  Result<void> close();

 private:
  const std::string path_;
  // Its log is read and written as long as a run lasts.
  const ReadingSet reading_{path_};
  LiveBody* body_ = nullptr;  // behind the set that open() gave
};

}  // namespace bloomery::cli
