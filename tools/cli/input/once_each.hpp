// The keys of a list once each, for kinds that keep copies: a list is a set unless --multiset says
// that its repeats are copies.
//
// By an exact set of 128-bit hashes beside the one that is filled, 18 to 23 bytes a key: the filled
// one cannot tell, since a key that looks like another would get no copy of its own, and removing
// the other would remove it.
// Threads: one.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/text/lines.hpp>
#include <tools/inside.hpp>

namespace bloomery::cli {

// Refuses --multiset for a kind that keeps no copies.
void expect_copies(const KindRow& row);

class OnceEach {
 public:
  // Lets everything through if the kind keeps no copies, or is to keep them.
  OnceEach(const KindRow& row, bool multiset) {
    if (row.keeps_copies && !multiset) seen_.emplace(AnySet::make("hash-set", {}).value());
  }

  // Those of at most lines_per_batch keys that did not come before; valid until the next call.
  Lines first_ones(Lines keys) {
    if (!seen_) return keys;
    const auto fresh = std::span<bool>(fresh_).first(keys.size());
    seen_->add_all(keys, fresh).value();
    firsts_.clear();
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (fresh[i]) firsts_.push_back(keys[i]);
    return firsts_;
  }
  // Integers are kept in maps, which have no copies.
  std::span<const Ordinal> first_ones(std::span<const Ordinal> keys) const { return keys; }

 private:
  std::optional<AnySet> seen_;
  std::array<bool, lines_per_batch> fresh_{};
  std::vector<std::string_view> firsts_;
};

}  // namespace bloomery::cli
