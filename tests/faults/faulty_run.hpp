// One run of the command in a directory of its own, with a call or an allocation that fails.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace bloomery::faults {

using Files = std::map<std::string, std::string>;  // name -> bytes

// Which call fails, and how; 0: none.
struct Fault {
  unsigned long at = 0, how = 0, every = 0;
};

struct Run {
  int exit = 0;  // or 128 and the signal; `hung` when it was killed by us
  bool hung = false;
  std::string out, err;
  std::string call;      // that failed; empty: the run ended before it came to the fault
  std::string how;       // "EIO"
  std::size_t ways = 0;  // in which this call can fail
  bool injected() const { return !call.empty(); }
};

// A directory with files and, for temporary ones, `tmp` beside it.
class Place {
 public:
  explicit Place(const std::filesystem::path& root);

  // The files are these, and no others.
  void put(const Files& files);
  Files files() const;
  // What is in TMPDIR, which must be nothing.
  Files temporary() const;

  // Without a fault. `in` comes through a pipe, when it is not empty.
  Run run(const std::vector<std::string>& words, const std::string& in = "") const;

 private:
  friend class FaultyProgram;
  std::filesystem::path work_, tmp_;
};

// The command, loaded once with a shim, and run as often as there are faults.
class FaultyProgram {
 public:
  FaultyProgram(const Place& place, std::vector<std::string> words, std::string shim,
                std::string in);
  FaultyProgram(const FaultyProgram&) = delete;
  ~FaultyProgram();

  Run run(const Fault& fault);

 private:
  friend class Place;
  struct Server;
  const Place& place_;
  std::vector<std::string> words_;
  std::string shim_;
  std::string in_;  // through a pipe, whose end cannot be told twice: a server serves once
  std::unique_ptr<Server> server_;
};

}  // namespace bloomery::faults
