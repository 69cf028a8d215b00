// Set files that are asked about the same lines, each by its own rules: hash, carriage returns,
// normalisation, text or integers. Which part of a line is the key, the flags say for all. A plain
// text list is as good as a set (list_set.hpp).
//
//    AskedSets sets(paths, {key_file, keys, lines, false}, reading, messages);
//    sets.ask(batch, inputs);      then sets.any()[i], and sets.each()[s].answers[i]
//
// If the set is wrong: a stranger is in one of n sets more often than in one alone; the chances add
//          up.
// Threads: one.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <bloomery/text/lines.hpp>

#include <tools/cli/input/set_lines.hpp>

#include "set_file.hpp"

namespace bloomery::cli {

struct AskFlags {
  const Word& key_file;
  const KeyFlags& keys;
  const LineFlags& lines;
  bool trust;  // skip the checksums of payloads
};

class AskedSets {
 public:
  struct One {
    One(std::string path, SetFile opened, const KeyFlags& flags)
        : name(std::move(path)), file(std::move(opened)), keys(file.set, name, flags) {}

    std::string name;  // as typed
    SetFile file;
    SetLines keys;
    std::array<bool, lines_per_batch> answers{};  // to the last batch
    std::uint64_t matched = 0;                    // lines, of all batches
  };

  // Refuses what cannot be asked with lines. The key is for those of them that are hardened; there
  // must be one. `reading` hears the name of each file before it is read.
  AskedSets(const std::vector<std::string>& paths, const AskFlags& flags,
            const std::function<void(const std::string&)>& reading, Messages& messages);

  // Asks all of them about every line; one without a key is in none. Returns how many lines one of
  // them may contain.
  std::uint64_t ask(Lines lines, const Inputs& inputs);
  // Whether any of them may contain line i of the last batch.
  std::span<const bool> any() const { return any_; }

  std::span<const std::unique_ptr<One>> each() const { return sets_; }
  One& only() { return *sets_.front(); }
  const One& only() const { return *sets_.front(); }

 private:
  std::vector<std::unique_ptr<One>> sets_;
  std::array<bool, lines_per_batch> any_{};
};

}  // namespace bloomery::cli
