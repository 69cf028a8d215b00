// The set file that a run of dedup goes on with: opened or begun, saved at checkpoints, and never
// by two at once.
//
//    StateFile state("seen.bloom", key_file, messages);
//    SetFile file = state.exists() ? state.open() : ...;       a new set
//    state.save(file);                                          as often as wanted
//
// Every save puts a whole new file under the name, so the state is that of one save or of the next,
// whenever a run is killed. The lock goes with the file: what others put under the name meanwhile
// is never overwritten, but an error.
// Threads: one at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/report/messages.hpp>

#include "file_lock.hpp"
#include "live_state.hpp"
#include "set_file.hpp"

namespace bloomery::cli {

class StateFile {
 public:
  // Waits for others that have it, and says so.
  StateFile(std::string path, Word key_file, Messages& messages);

  ~StateFile();
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;

  bool exists() const { return exists_; }
  // Used by several runs at once (live_state.hpp): nobody waits, and saving costs what is new.
  bool live() const { return live_.has_value(); }
  // Refuses what goes with the other sort of state only.
  void expect_sort(bool live, bool capped) const;
  // Makes a live state of a new set; it then exists. False: another run has made it meanwhile.
  bool make_live(const SetFile& file);
  // Was it made by another program since this object was?
  bool has_appeared() const;
  const std::string& path() const { return path_; }
  // Of a live state with what it knows of this output.
  SetFile open(const std::optional<std::string>& output);
  // Of a live state, of other runs: see LiveState.
  std::vector<WrittenOutput> unended() const;
  // An Error, also when somebody else has changed the file.
  Result<void> save(const SetFile& file);
  // After lines were printed that cannot be taken back: throws, and says what becomes of them.
  void expect_saved(const Result<void>& saved) const;
  // After the last save. Throws; what was saved stays so.
  void close();
  // Saves a new set before there is anything in it, so that others wait for this run. Unless it is
  // saved again the file goes with this object.
  Result<void> hold_place(const SetFile& file);

 private:
  void watch();
  Result<void> check_ours() const;

  std::string path_;
  Word key_file_;
  bool exists_;
  std::optional<LiveState> live_;
  bool holds_place_ = false;
  std::optional<FileLock> lock_;
  std::optional<FileWatch> watch_;  // since it was opened or saved
};

}  // namespace bloomery::cli
