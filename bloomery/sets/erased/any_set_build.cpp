// Sets of given keys, whatever their kind.
#include <algorithm>
#include <utility>

#include <bloomery/any_set.hpp>

namespace bloomery::inline v0 {

using namespace detail;
namespace {

// What a kind that is added to is planned for.
Want want_for(Want want, std::size_t keys) {
  if (want.keys == 0) want.keys = std::max<std::size_t>(1, keys);
  return want;
}

}  // namespace

Result<AnySet> AnySet::build(std::string_view kind, const Want& want,
                             std::span<const std::string_view> keys, Hasher hasher,
                             const Crew& crew) {
  const HashSource source(hashed_source<Hash>(keys, hasher));
  if (auto made = built(kind, want, source, hasher, crew)) {
    if (*made && !keys.empty()) (*made)->rules_.form = KeyForm::text;
    return std::move(*made);
  }
  auto set = make(kind, want_for(want, keys.size()), hasher);
  if (!set) return set;
  if (const auto added = set->add_all(keys); !added) return added.error();
  return set;
}

Result<AnySet> AnySet::build(std::string_view kind, const Want& want, std::span<const Hash> hashes,
                             Hasher hasher, const Crew& crew) {
  if (auto made = built(kind, want, hashes, hasher, crew)) {
    if (*made && !hashes.empty()) (*made)->rules_.form = KeyForm::hash;
    return std::move(*made);
  }
  auto set = make(kind, want_for(want, hashes.size()), hasher);
  if (!set) return set;
  if (const auto added = set->add_all(hashes); !added) return added.error();
  return set;
}

}  // namespace bloomery::inline v0
