// A set file as the commands see it: opened, described.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <bloomery/any_set.hpp>
#include <bloomery/image.hpp>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/report/messages.hpp>
#include <tools/cli/report/report.hpp>
#include <tools/cli/report/set_report.hpp>

#include "mapped_set.hpp"

namespace bloomery::inline v0 {
class RedisSet;
}

namespace bloomery::cli {

struct SetFile {
  AnySet set;
  Uuid uuid{};
  bool key_is_elsewhere = false;
  std::optional<WrittenOutput> output = {};
  std::shared_ptr<RedisSet> remote = {};        // of a set that others share, not a file
  std::shared_ptr<const MappedSet> guard = {};  // of a file that is mapped
  std::shared_ptr<const ReadingSet> live = {};  // of a live file that is followed
};

// The error of the library, with the name of the file it is about.
[[noreturn]] void refuse_file(const std::string& path, const Error& error);

// A set on a server is copied (remote_set.hpp opens it as it is there).
// Every refusal names the file. A key file for a set that has no secret key is refused: somebody
// believes it to be hardened.
SetFile open_set(const std::string& path, const Word& key_file, Verify verify);
// A live file, to be asked as long as it is open: what others add meanwhile is found, too. Nothing:
// it is an ordinary one now.
std::optional<SetFile> follow_live_set(const std::string& path, const Word& key_file);
// For those who will save it again: read into memory with all its checksums, so that nothing that
// others do to the file meanwhile gets into what is saved.
SetFile open_set_to_change(const std::string& path, const Word& key_file);

// The set with what the file knows beside it, as it is saved. Borrows from the set.
Image image_of(const SetFile& file);
// Every byte is summed first, but with --trust, and of a live file: its open is quick, and `verify`
// looks at the rest.
Verify verify_of(const std::string& path, bool trust);
// Under this name, in one step.
void save_set(const std::string& path, const SetFile& file, Overwrite overwrite,
              const std::function<Result<void>()>& before_commit = check_mapped_sets);

// The same as a live file.
void save_live(const std::string& path, const SetFile& file, Overwrite overwrite);

// The set file that this program has saved last, or nothing.
const std::string& last_saved();
void note_saved(const std::string& path);

// The set, whose estimate(), rate_now() and fill_ratio() are then known: a server that does not
// answer is refused here.
const AnySet& measured(const AnySet& set);

// For those who ask a set that they did not fill.
void warn_if_overfull(const AnySet& set, const std::string& path, Messages& messages);

// set_report.hpp, of a set that may have to be measured first.
void describe(Report& report, const AnySet& set, FactsFrom from = FactsFrom::bits);

}  // namespace bloomery::cli
