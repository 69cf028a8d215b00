// Runs a program under record_disk.so.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace bloomery::cuts {

struct RecordedRun {
  std::filesystem::path directory;            // what is recorded; the program starts where we are
  std::filesystem::path trace;                // goes on when it is there
  std::vector<std::string> environment = {};  // more of it, "NAME=value"
  std::filesystem::path errors = {};          // a file for standard error; empty: that of the test

  // Starts it. Standard output goes to /dev/null, and is marks.
  pid_t start(const std::vector<std::string>& words) const {
    std::vector<std::string> named = environment;
    if (!directory.empty())
      for (const std::string& one :
           {"LD_PRELOAD=" + std::string(BLOOMERY_RECORD_DISK),
            "RECORD_DISK_DIRECTORY=" + directory.string(), "RECORD_DISK_TRACE=" + trace.string(),
            std::string("RECORD_DISK_MARKS=1")})
        named.push_back(one);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    if (!errors.empty())
      posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                       0600);
    pid_t process = 0;
    const int failed = posix_spawn(&process, words[0].c_str(), &actions, nullptr,
                                   pointers(words).data(), pointers(named).data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error(words[0] + " cannot be started");
    return process;
  }

  // The exit code, or 128 and the signal.
  static int wait(pid_t process) {
    int status = 0;
    if (::waitpid(process, &status, 0) != process) throw std::runtime_error("waitpid failed");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  int spawn(const std::vector<std::string>& words) const { return wait(start(words)); }

 private:
  static std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (const std::string& one : texts) all.push_back(const_cast<char*>(one.c_str()));
    all.push_back(nullptr);
    return all;
  }
};

}  // namespace bloomery::cuts
