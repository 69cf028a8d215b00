// bloomery seal: makes an ordinary set file of a live one.
//
// If the set is wrong: F is the live file or the ordinary one, each with every key, never half of
//          one. Who has the live file open gets an error from the next add.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include <bloomery/live.hpp>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/input/inputs.hpp>
#include <tools/cli/report/progress.hpp>
#include <tools/cli/report/report.hpp>
#include <tools/cli/report/units.hpp>
#include <tools/cli/sets/live_file.hpp>
#include <tools/cli/sets/live_state.hpp>
#include <tools/cli/sets/set_file.hpp>

#include "command.hpp"

namespace bloomery::cli {
namespace {

struct SealFlags {
  std::string set;
  Word key_file;
  bool quiet = false;
  SpeechFlags speech;
};

constexpr const char* story =
    R"(F becomes an ordinary set file in one step, with every key that was added until
then: it can be copied, merged and changed by any program that reads set files. Who
has the live file open meanwhile gets an error from the next add, and its last
answers. `bloomery build --live` makes live sets. A live state of dedup goes on to
know one output: one whose run did not end, or else the last; a warning names the
others. While a run has lines that are not in its output yet, F stays live.

The report on standard output: kind, keys, capacity, bytes, bits_per_key, rate_asked,
rate_now (computed from keys), hash, hardened; and what was done for a program that
was killed while it had F open: was_cut, lost_power, recovered_records,
recovered_keys, undone_keys (of runs of dedup that did not end), summed_bytes (whose
checksums were taken again); file_bytes, seconds

Exit codes: 0 good, 2 error.

Examples:
  bloomery seal seen.live
)";

// An ordinary state of dedup knows one output.
void warn_of_forgotten(const LiveState::Sealed& sealed, const std::string& path,
                       Messages& messages) {
  constexpr std::size_t most_told = 3;
  const std::size_t count = sealed.forgotten.size();
  for (std::size_t i = 0; i < std::min(count, most_told); ++i) {
    const WrittenOutput& output = sealed.forgotten[i];
    messages.warning(fmt::format(
        "{} knows one output, {}, and has forgotten {}{}. Give later runs another output: --force "
        "would drop its lines, which do not come again",
        path, sealed.output->path, output.path,
        output.ended ? ""
                     : fmt::format(", whose last run did not end: the lines after its first {} "
                                   "bytes come again. Cut it: truncate -s {} {}",
                                   output.bytes, output.bytes, output.path)));
  }
  if (count > most_told)
    messages.warning(
        fmt::format("so it is with {} more outputs of {}", print_count(count - most_told), path));
}

Exit run(const SealFlags& flags, Messages& messages) {
  using Clock = std::chrono::steady_clock;
  obey(flags.speech, messages);
  const auto start = Clock::now();
  const std::string& path = flags.set;
  note_input(path);
  const ReadingSet reading(path);
  if (!is_live_set(path)) {
    // What cannot be read, or is not a set file, is told as everywhere.
    const SetFile file = open_set(path, flags.key_file, Verify::header);
    refuse(fmt::format("{} is an ordinary set file already, so there is nothing to seal", path));
  }
  LiveOptions options{.durability = Durability::none};
  if (flags.key_file) options.key = read_key_file(*flags.key_file);
  const When when = flags.quiet ? When::never : progress_of(flags.speech);
  Progress progress(messages, when, Phase{"sealing " + path});
  const auto done = LiveState::seal(path, options);
  if (!done) refuse_file(path, done.error());
  progress.finish();
  note_saved(path);
  warn_of_forgotten(*done, path, messages);
  if (flags.quiet && !flags.speech.json) return Exit::good;
  const SetFile sealed = open_set(path, flags.key_file, Verify::header);
  Report report;
  describe(report, sealed.set, FactsFrom::adds);
  describe(report, done->recovery);
  std::error_code failed;
  const std::uint64_t bytes = std::filesystem::file_size(path, failed);
  if (failed)
    refuse(fmt::format("{} is sealed, but cannot be looked at: {}", path, failed.message()));
  report.bytes("file_bytes", bytes);
  report.seconds("seconds", std::chrono::duration<double>(Clock::now() - start).count());
  print_out(flags.speech.json ? report.as_json() : report.as_text());
  return Exit::good;
}

}  // namespace

Command seal_command() {
  auto flags = std::make_shared<SealFlags>();
  return {
      .name = "seal",
      .summary = "make an ordinary set file of a live one",
      .usage = "seal [FLAGS] F",
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
