// bloomery verify: is every byte of these set files what was written?
#include <fmt/format.h>

#include <memory>
#include <new>

#include <bloomery/any_set.hpp>
#include <bloomery/error.hpp>
#include <bloomery/image.hpp>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/input/inputs.hpp>
#include <tools/cli/report/progress.hpp>
#include <tools/cli/report/report.hpp>
#include <tools/cli/report/units.hpp>
#include <tools/cli/sets/remote_set.hpp>
#include <tools/cli/sets/set_file.hpp>

#include "command.hpp"

namespace bloomery::cli {
namespace {

struct VerifyFlags {
  std::vector<std::string> sets;
  SpeechFlags speech;
};

constexpr const char* story =
    R"(Checks the header, the directory, every checksum, and that the parts fit each
other. Checksums show damage, not malice: whoever can write the file can write
the sums too. Of a live set the parts that were added to since its last checkpoint
have no checksum; what its log has of them is checked. All files are looked at, also
after a bad one. Hardened sets need
no key file for this.

Exit codes: 0 all are good, 2 one is not.

Examples:
  bloomery verify seen.bloom
  bloomery verify --json *.bloom
)";

// The report of one file; good or not, it is looked at to the end.
bool verify_one(const std::string& path, const VerifyFlags& flags, Messages& messages,
                Report& report) {
  report.text("file", path);
  try {
    Progress progress(messages, progress_of(flags.speech), Phase{"verifying " + path});
    if (is_remote(path)) {
      const std::uint64_t shards = verify_remote_set(path);
      progress.finish();
      report.flag("ok", true);
      report.text("kind", "blocked");
      report.count("shards", shards);
      if (!flags.speech.json)
        print_out(fmt::format("{}: ok ({} shards, all there and sealed)\n", path, shards));
      return true;
    }
    note_input(path);
    const ReadingSet reading(path);
    const auto watch = FileWatch::begin(path);
    auto image = verify_image(path);
    if (!image) refuse_file(path, image.error());
    // Any hash will do: the set is not asked anything.
    const auto set = AnySet::from_parts(std::move(image->parts), Hasher{}, image->rules);
    if (!set) refuse_file(path, set.error());
    if (!watch) refuse_file(path, watch.error());
    watch->expect_unchanged(path).value();
    progress.finish();
    const std::string kind(set->kind().name);
    report.flag("ok", true);
    report.text("kind", kind);
    report.count("file_bytes", image->bytes);
    if (!flags.speech.json)
      print_out(fmt::format("{}: ok ({} bytes, {})\n", path, image->bytes, kind));
    return true;
  } catch (const std::bad_alloc&) {
    throw;  // says nothing of this file
  } catch (const std::exception& failure) {
    report.flag("ok", false);
    report.text("error", failure.what());
    messages.error(failure.what());
    return false;
  }
}

Exit run(const VerifyFlags& flags, Messages& messages) {
  obey(flags.speech, messages);
  std::vector<Report> files;
  bool all_good = true;
  for (const std::string& path : flags.sets)
    all_good &= verify_one(path, flags, messages, files.emplace_back());
  if (flags.speech.json) {
    Report report;
    report.flag("ok", all_good);
    report.rows("files", std::move(files));
    print_out(report.as_json());
  }
  return all_good ? Exit::good : Exit::error;
}

}  // namespace

Command verify_command() {
  auto flags = std::make_shared<VerifyFlags>();
  return {
      .name = "verify",
      .summary = "check every byte of set files",
      .usage = "verify [FLAGS] F...",
      .story = story,
      .flags = joined({
          speech_flags(flags->speech),
          progress_flag(flags->speech),
      }),
      .operands = {.rest = &flags->sets, .needed_rest = "F"},
      .run = [flags](Messages& messages) { return run(*flags, messages); },
  };
}

}  // namespace bloomery::cli
