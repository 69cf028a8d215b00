#include "against_sets.hpp"

#include <fmt/format.h>

#include <tools/cli/flags/key_flags.hpp>
#include <tools/cli/input/key_source.hpp>
#include <tools/cli/input/set_lines.hpp>
#include <tools/cli/report/progress.hpp>
#include <tools/cli/report/refuse.hpp>
#include <tools/cli/report/units.hpp>

#include "list_set.hpp"

namespace bloomery::cli {
namespace {

// A key file is for those sets that want one.
Word key_for(const std::string& path, const DedupFlags& flags) {
  if (!flags.hash.key_file) return {};
  const auto image = open_image(path, {.verify = Verify::header});
  return image || image.error().code != Code::mismatch ? Word{} : flags.hash.key_file;
}

// The lines of a list are spelled as those of this run.
SetFile opened(const std::string& path, bool list, const DedupFlags& flags, Messages& messages) {
  if (!list) return open_set(path, key_for(path, flags), Verify::checksums);
  const bool strip_cr = crlf_of(flags.lines, Crlf::strip) == Crlf::strip;
  return read_list(path, {flags.lines, normalizer_of(flags.keys), strip_cr}, messages);
}

}  // namespace

void AgainstSets::open(const DedupFlags& flags, When progress, Messages& messages) {
  sets_.reserve(flags.against.size());
  for (const std::string& path : flags.against) {
    const Progress reading(messages, progress, Phase{"reading " + path});
    const bool list = is_list(path);
    if (list && flags.size.memory)
      refuse(
          fmt::format("--memory caps the whole program, and {0} is a list of lines, which is held "
                      "in memory beside the set; 'bloomery build -o F {0}' makes a set file of it",
                      path));
    sets_.push_back({path, opened(path, list, flags, messages), {}, list});
    One& one = sets_.back();
    expect_line_keys(one.file.set, path);
    expect_parts(one.file.set, path, cutter_of(flags.keys), flags.keys.same_keys);
    if (one.file.set.input() != InputForm::hashed)
      refuse(fmt::format("{} is a set of integers; 'bloomery check -v' asks it", path));
    warn_if_overfull(one.file.set, path, messages);
    // --normalize is for the set that is made; others know their own.
    one.spelling = {one.file.set.rules().strip_cr, normalizer_of(KeyFlags{}, one.file.set, path)};
  }
}

void AgainstSets::expect_spelled_as(const Spelling& spelling, const DedupFlags& flags) const {
  if (!spelling.normalizer || flags.keys.normalize) return;
  const std::string_view name = spelling.normalizer->name();
  for (const One& one : sets_)
    if (one.list)
      refuse(
          fmt::format("{} normalises its keys as '{}'; give --normalize {} too, so that the lines "
                      "of {} are spelled alike",
                      *flags.state, name, name.substr(0, name.find('/')), one.name));
}

std::string AgainstSets::advice_if_worse_than(double rate) const {
  const One* worst = nullptr;
  for (const One& one : sets_) {
    const double its_rate = one.file.set.exact() ? 0 : measured(one.file.set).rate_now();
    if (its_rate <= rate) continue;
    rate = its_rate;
    worst = &one;
  }
  if (worst == nullptr) return "";
  return fmt::format(
      "{} has a false-positive rate of {}: {}, or name the list of its lines instead", worst->name,
      print_rate(rate),
      worst->file.set.overfull() ? "build a larger set" : "build it with a lower --rate");
}

}  // namespace bloomery::cli
