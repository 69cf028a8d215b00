// bloomery unseal: makes a live set of an ordinary set file.
//
// If the set is wrong: F is the ordinary file or the live one, each with every key, never half of
//          one.
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include <bloomery/live.hpp>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/input/inputs.hpp>
#include <tools/cli/report/progress.hpp>
#include <tools/cli/report/refuse.hpp>
#include <tools/cli/report/report.hpp>
#include <tools/cli/sets/live_file.hpp>
#include <tools/cli/sets/live_state.hpp>
#include <tools/cli/sets/remote_set.hpp>
#include <tools/cli/sets/set_file.hpp>

#include "command.hpp"

namespace bloomery::cli {
namespace {

struct UnsealFlags {
  std::string set;
  Word key_file;
  bool quiet = false;
  SpeechFlags speech;
};

constexpr const char* story =
    R"(F becomes a live set in one step, with every key that it has: from then on any
number of programs add to it and ask it at once, and adding costs what is added. It
takes room for a log beside the set. Two that change F at the same time wait for
each other; programs that have the ordinary file open go on with that. Kinds that
are built at once (fuse, ribbon, cascade) cannot be live. A state of dedup goes on to
know its output. `bloomery seal` goes back.

The report on standard output: kind, keys, capacity, bytes, bits_per_key, rate_asked,
rate_now (computed from keys), hash, hardened, file_bytes, seconds

Exit codes: 0 good, 2 error.

Examples:
  bloomery unseal seen.set
)";

Exit run(const UnsealFlags& flags, Messages& messages) {
  using Clock = std::chrono::steady_clock;
  obey(flags.speech, messages);
  const auto start = Clock::now();
  const std::string& path = flags.set;
  if (is_remote(path))
    refuse(fmt::format("{} is on a server, where all can add to it; name a set file", path));
  const auto lock = lock_unless_live(path, messages);
  if (!lock) refuse(fmt::format("{} is a live set already, so there is nothing to unseal", path));
  const When when = flags.quiet ? When::never : progress_of(flags.speech);
  Progress progress(messages, when, Phase{"unsealing " + path});
  const SetFile file = open_set_to_change(path, flags.key_file);
  if (!lock->holds(path))
    refuse(fmt::format("{} was changed, replaced or removed by another program; run again", path));
  // A state of dedup goes on to know its output.
  if (file.output) {
    LiveState::make(path, file, Overwrite::replace).value();
    note_saved(path);
  } else {
    save_live(path, file, Overwrite::replace);
  }
  progress.finish();
  if (flags.quiet && !flags.speech.json) return Exit::good;
  Report report;
  describe(report, file.set, FactsFrom::adds);
  std::error_code failed;
  const std::uint64_t bytes = std::filesystem::file_size(path, failed);
  if (failed)
    refuse(fmt::format("{} is live, but cannot be looked at: {}", path, failed.message()));
  report.bytes("file_bytes", bytes);
  report.seconds("seconds", std::chrono::duration<double>(Clock::now() - start).count());
  print_out(flags.speech.json ? report.as_json() : report.as_text());
  return Exit::good;
}

}  // namespace

Command unseal_command() {
  auto flags = std::make_shared<UnsealFlags>();
  return {
      .name = "unseal",
      .summary = "make a live set of an ordinary set file",
      .usage = "unseal [FLAGS] F",
      .story = story,
      .flags = joined({
          key_file_flag(flags->key_file),
          {"-q,--quiet", "", "no report and no progress; warnings stay", &flags->quiet},
          speech_flags(flags->speech),
          progress_flag(flags->speech),
      }),
      .operands = Operands::after({"F", &flags->set}, {}),
      .run = [flags](Messages& messages) { return run(*flags, messages); },
  };
}

}  // namespace bloomery::cli
