#include "faulty_run.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace bloomery::faults {
namespace {

constexpr int patience_milliseconds = 30'000;
constexpr int report_descriptor = 198;
constexpr int server_descriptor = 197;
// The whole manual fits, so that nobody has to read while the program runs.
constexpr int pipe_bytes = 1 << 20;

Files files_in(const std::filesystem::path& directory) {
  Files found;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::ifstream file(entry.path(), std::ios::binary);
    found[entry.path().filename()] = std::string((std::istreambuf_iterator<char>(file)), {});
  }
  return found;
}

struct Pipe {
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    ::fcntl(ends[1], F_SETPIPE_SZ, pipe_bytes);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  ~Pipe() {
    close_writing();
    ::close(ends[0]);
  }
  void close_writing() {
    if (ends[1] >= 0) ::close(ends[1]);
    ends[1] = -1;
  }
  // What is in it now.
  std::string read_all() const {
    std::string all;
    std::array<char, 65536> piece{};
    for (ssize_t got = 0; (got = ::read(ends[0], piece.data(), piece.size())) > 0;)
      all.append(piece.data(), static_cast<std::size_t>(got));
    return all;
  }
  std::array<int, 2> ends{};
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& one : texts) all.push_back(const_cast<char*>(one.c_str()));
  all.push_back(nullptr);
  return all;
}

}  // namespace

Place::Place(const std::filesystem::path& root) : work_(root / "work"), tmp_(root / "tmp") {
  std::filesystem::create_directories(work_);
  std::filesystem::create_directories(tmp_);
}

Files Place::files() const { return files_in(work_); }
Files Place::temporary() const { return files_in(tmp_); }

void Place::put(const Files& files) {
  const Files there = this->files();
  for (const auto& [name, bytes] : there)
    if (!files.contains(name)) std::filesystem::remove(work_ / name);
  for (const auto& [name, bytes] : files) {
    const auto found = there.find(name);
    if (found != there.end() && found->second == bytes) continue;
    std::ofstream out(work_ / name, std::ios::binary | std::ios::trunc);
    out << bytes;
    if (!out.flush()) throw std::runtime_error((work_ / name).string() + " cannot be written");
  }
  for (const auto& entry : std::filesystem::directory_iterator(tmp_))
    std::filesystem::remove(entry.path());
}

// -- running --------------------------------------------------------------------------------------

// The program, started, with pipes to and from it.
struct FaultyProgram::Server {
  Server(const Place& place, const std::vector<std::string>& words, const std::string& shim,
         const std::string& in) {
    std::vector<std::string> named = {"LC_ALL=C", "TMPDIR=" + place.tmp_.string(),
                                      "PATH=/usr/bin:/bin"};
    if (!shim.empty()) {
      named.push_back("LD_PRELOAD=" + shim);
      named.push_back("FAULT_REPORT=" + std::to_string(report_descriptor));
      named.push_back("FAULT_SERVER=" + std::to_string(server_descriptor));
    }
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, requests.data()) != 0)
      throw std::runtime_error("no socket");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, place.work_.c_str());
    if (in.empty())
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    else
      posix_spawn_file_actions_adddup2(&actions, input.ends[0], 0);
    posix_spawn_file_actions_adddup2(&actions, output.ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, error.ends[1], 2);
    posix_spawn_file_actions_adddup2(&actions, report.ends[1], report_descriptor);
    posix_spawn_file_actions_adddup2(&actions, requests[1], server_descriptor);
    // The program waits for its input as it would anywhere.
    ::fcntl(input.ends[0], F_SETFL, 0);
    if (::write(input.ends[1], in.data(), in.size()) != static_cast<ssize_t>(in.size()))
      throw std::runtime_error("the input does not fit into a pipe");
    input.close_writing();
    const int failed = posix_spawn(&process, words[0].c_str(), &actions, nullptr,
                                   pointers(words).data(), pointers(named).data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error(words[0] + " cannot be started");
    ::close(std::exchange(requests[1], -1));
  }

  ~Server() {
    ::close(requests[0]);
    if (process > 0) ::waitpid(process, nullptr, 0);
  }

  Run take(int status) const {
    Run run;
    run.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    run.out = output.read_all();
    run.err = error.read_all();
    std::istringstream(report.read_all()) >> run.call >> run.how >> run.ways;
    return run;
  }

  // Without a shim it runs once, by itself.
  Run wait() {
    int status = 0;
    ::waitpid(std::exchange(process, -1), &status, 0);
    return take(status);
  }

  Run run(const Fault& fault) const {
    int child = 0, status = 0;
    if (::write(requests[0], &fault, sizeof fault) != sizeof fault ||
        ::read(requests[0], &child, sizeof child) != sizeof child)
      throw std::runtime_error("the program with the shim does not answer");
    pollfd asked{requests[0], POLLIN, 0};
    const bool hung = ::poll(&asked, 1, patience_milliseconds) != 1;
    if (hung) ::kill(child, SIGKILL);
    if (::read(requests[0], &status, sizeof status) != sizeof status)
      throw std::runtime_error("the program with the shim does not answer");
    Run run = take(status);
    run.hung = hung;
    return run;
  }

  Pipe input, output, error, report;
  std::array<int, 2> requests{};
  pid_t process = 0;
};

Run Place::run(const std::vector<std::string>& words, const std::string& in) const {
  return FaultyProgram::Server(*this, words, "", in).wait();
}

FaultyProgram::FaultyProgram(const Place& place, std::vector<std::string> words, std::string shim,
                             std::string in)
    : place_(place), words_(std::move(words)), shim_(std::move(shim)), in_(std::move(in)) {}

FaultyProgram::~FaultyProgram() = default;

Run FaultyProgram::run(const Fault& fault) {
  if (server_ == nullptr || !in_.empty())
    server_ = std::make_unique<Server>(place_, words_, shim_, in_);
  return server_->run(fault);
}

}  // namespace bloomery::faults
