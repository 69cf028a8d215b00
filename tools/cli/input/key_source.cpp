#include "key_source.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>

#include <tools/cli/report/refuse.hpp>

#include "source_text.hpp"

namespace bloomery::cli {
namespace {

std::string shown_time(std::uint64_t milliseconds) {
  const auto seconds = static_cast<std::time_t>(milliseconds / 1000);
  std::tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return "a time beyond all calendars";
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", parts);
}

}  // namespace

void expect_source(AnySet& set, const std::string& path, const SourceOrder& order,
                   Messages& messages) {
  const std::string source = source_text(order.cutter, order.lines);
  std::string& stored = set.rules().made_from;
  const std::string known = respelled_source(stored);
  const bool anybodys = known.empty() || is_list_source(known);
  if (!order.same_keys && (!anybodys || set.adds() > 0)) {
    if (anybodys) expect_parts(set, path, order.cutter, order.same_keys);
    if (!anybodys && known != source)
      refuse(
          fmt::format("{} remembers the keys of {}, and this run has those of {}: no line would be "
                      "known again. Give the same flags, or another state; --same-keys continues "
                      "if the keys are the same",
                      path, source_in_words(known), source_in_words(source)));
    if (known.empty())
      messages.warning(
          fmt::format("{} does not say what its keys were made from, so it is unknown whether they "
                      "were those of {}, with which this run continues; --same-keys confirms it",
                      path, source_in_words(source)));
  }
  stored = source;
}

void expect_parts(const AnySet& set, const std::string& path, const FieldCutter& cutter,
                  bool same_keys) {
  if (same_keys) return;
  const std::string source = source_text(cutter, {});
  const std::string& stored = set.rules().made_from;
  const KeyParts asked = parts_of(source).value();
  const auto known = parts_of(stored);
  if (!known && asked.several)
    refuse(
        fmt::format("{} does not say what its keys were made from, and this run has those of {}, "
                    "{}. A set of whole lines has no such key, nor has one of an earlier version, "
                    "which joined parts in another way: nothing could match. Build it again; "
                    "--same-keys if its keys are written as these are",
                    path, source_in_words(source), parts_in_words(asked)));
  if (!known || known->can_match(asked)) return;
  refuse(
      fmt::format("{} has the keys of {}, {}, and this run has those of {}, {}: none could match. "
                  "Take as many parts of each line as there; --same-keys if its keys are "
                  "written as these are",
                  path, source_in_words(respelled_source(stored)), parts_in_words(*known),
                  source_in_words(source), parts_in_words(asked)));
}

void expect_clock(const AnySet& set, const std::string& path) {
  using namespace std::chrono;
  const auto now = static_cast<std::uint64_t>(
      duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
  if (set.time_told() <= now + set.time_span() / 3) return;
  refuse(
      fmt::format("{} was last used at {}, and the clock says {}: until then it would forget "
                  "nothing. Correct the clock, or begin another state",
                  path, shown_time(set.time_told()), shown_time(now)));
}

}  // namespace bloomery::cli
