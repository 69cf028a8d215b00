// Which part of a line the keys of a set are, in words that are stored with it: the flags that
// say so, always in the same order and spelling, so that two texts are equal if and only if the
// keys are made alike.
//
//    -k 2,1 -t ':'      -->  -k 2,1 -t :
//    --csv -t , --column id -->  --csv --column id
//    none of them       -->  lines
#pragma once

#include <string>

#include <bloomery/engines/fields.hpp>
#include <bloomery/engines/lines.hpp>
#include <bloomery/sets/any_set.hpp>

namespace bloomery::cli {

std::string key_source_of(const FieldCutter& cutter, const LineRules& lines);

// For a set that is gone on with. Refuses one whose keys were made from something else; one that
// does not know is believed, but for keys of several parts, which were joined in another way once.
// Notes the source where none is.
void expect_source(AnySet& set, const std::string& path, const FieldCutter& cutter,
                   const LineRules& lines);

// For a list that is asked. Its keys are its whole lines: refuses to ask it with a key of several
// parts, which none of them is.
void expect_one_part(const FieldCutter& cutter, const std::string& list);

// Refuses a window that was told a time later than the clock shows: it would forget nothing until
// then. Clocks may differ by a third of the window.
void expect_clock(const AnySet& set, const std::string& path);

}  // namespace bloomery::cli
