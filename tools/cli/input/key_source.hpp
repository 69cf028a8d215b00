// What the keys of a set were made from is stored with it (source_text.hpp has the text): those
// who ask it, add to it or go on with it are refused where no key of theirs could be one of its.
//
//    go on with a state     the same source; a list that build made is anybody's, of one part
//    ask, add, remove       as many parts, from wherever: ids of a list, of a column, of JSON
//
// If the set is wrong: nothing here. A set without the text may be anything: keys of several parts
//          are refused, since earlier versions joined them in another way; others are believed.
//          --same-keys believes all.
#pragma once

#include <string>

#include <bloomery/any_set.hpp>
#include <bloomery/engines/keys/fields.hpp>
#include <bloomery/text/lines.hpp>
#include <tools/inside.hpp>

#include <tools/cli/report/messages.hpp>

namespace bloomery::cli {

struct SourceOrder {
  const FieldCutter& cutter;
  const LineRules& lines;
  bool same_keys = false;
};

// For a state that is resumed. Refuses one whose keys were made from something else; warns of
// one that does not know, and notes the source there.
void expect_source(AnySet& set, const std::string& path, const SourceOrder& order,
                   Messages& messages);

// For a set that is asked or changed: refuses keys of another number of parts than it has.
void expect_parts(const AnySet& set, const std::string& path, const FieldCutter& cutter,
                  bool same_keys);

// Refuses a window that was told a time later than the clock shows: it would forget nothing until
// then. Clocks may differ by a third of the window.
void expect_clock(const AnySet& set, const std::string& path);

}  // namespace bloomery::cli
