// The text of a key source: which part of a line the keys are, as the flags that say so, always in
// the same order and spelling, so that two texts are equal if and only if the keys are made alike.
//
//    -k 2,1 -t ':'            -->  -k 2,1 -t :
//    -k 2,3,4                 -->  -k 2-4
//    --csv -t , --column a,b  -->  --csv --column a --column b
//    --json-key '."a".b'      -->  --json-key .a.b
//    none of them             -->  lines
//    the same, by build       -->  list         anybody's keys of one part
//
// See:     docs/format.md, note 0x0007.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <bloomery/engines/keys/fields.hpp>
#include <bloomery/text/lines.hpp>
#include <tools/inside.hpp>

namespace bloomery::cli {

enum class WholeLines { state, list };

std::string source_text(const FieldCutter& cutter, const LineRules& lines,
                        WholeLines whole = WholeLines::state);

// A text that an earlier version wrote, in the spelling of this one; as it is if it is not
// understood.
std::string respelled_source(const std::string& source);

// For people: "whole lines" for "lines".
std::string source_in_words(const std::string& source);

bool is_list_source(std::string_view source);

// How many parts a key has. One part is the key as it stands; several are netstrings.
struct KeyParts {
  bool several = false;
  std::size_t least = 1;
  std::size_t most = 1;

  // Whether a key of the one can be a key of the other.
  bool can_match(const KeyParts& other) const {
    return several == other.several && least <= other.most && other.least <= most;
  }
};
// Nothing for a text that is empty or not understood.
std::optional<KeyParts> parts_of(const std::string& source);
// "one part", "2 parts", "any number of parts"
std::string parts_in_words(const KeyParts& parts);

}  // namespace bloomery::cli
