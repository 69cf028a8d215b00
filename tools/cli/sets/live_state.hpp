// A live set file as the state of dedup: several runs add to it at once, and each line is printed
// by one of them.
//
//    LiveState::make(path, file, overwrite)   a new one, with what the file has
//    LiveState state(path, key_file)          a run begins
//    SetFile file = state.open(output)        its adds are pending ...
//    state.done(file.output)                  ... until their lines are in the output
//    state.close()                            after the last one
//    LiveState::seal(path, options)           an ordinary one of it
//
// A checkpoint costs what was added since the last one. Adds of a run that ended before it said
// done() are undone by the next run that opens the state: their lines come again with its input.
// It knows as many outputs as runs have written; an ordinary state knows one.
// Threads: one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <bloomery/storage/live/live_body.hpp>

#include "set_file.hpp"

namespace bloomery::cli {

class LiveState {
 public:
  // With the output that the file knows. Error with Code::exists when it may not be overwritten:
  // another run has made it meanwhile.
  static Result<void> make(const std::string& path, const SetFile& file, Overwrite overwrite);

  struct Sealed {
    Recovery recovery;
    std::optional<WrittenOutput> output;   // that the ordinary file knows
    std::vector<WrittenOutput> forgotten;  // which it does not know any more
  };
  // Of any live file, in one step.
  static Result<Sealed> seal(const std::string& path, const LiveOptions& options);

  explicit LiveState(std::string path) : path_(std::move(path)) {}

  // With what the state knows of this output.
  SetFile open(const Word& key_file, const std::optional<std::string>& output);
  Result<void> done(const std::optional<WrittenOutput>& output);
  // Of runs that were killed: files with more than the state knows. Nothing while others use it:
  // those may be theirs.
  std::vector<WrittenOutput> unended() const;
  Result<void> close();

 private:
  const std::string path_;
  // Its log is read and written as long as a run lasts.
  const ReadingSet reading_{path_};
  LiveBody* body_ = nullptr;  // behind the set that open() gave
};

}  // namespace bloomery::cli
