#include "confirmed_hits.hpp"

#include <tools/cli/flags/flags.hpp>

namespace bloomery::cli {
namespace {

HashSet empty_set() { return HashSet::make({}).value(); }

}  // namespace

ConfirmedHits::ConfirmedHits(SetLines& keys)
    : keys_(keys),
      hasher_(hasher_of({.seed = {}, .hardened = true, .key_file = {}})),
      candidates_(empty_set()),
      confirmed_(empty_set()) {}

std::span<const WideHash> ConfirmedHits::hashes(Lines lines, const Inputs& inputs) {
  keys_.hand(lines, inputs, [&](auto keys) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if constexpr (std::is_same_v<decltype(keys), std::span<const Ordinal>>)
        hashes_[i] = hasher_.wide(keys[i].value);
      else
        hashes_[i] = hasher_.wide(keys[i]);
    }
  });
  const auto hashes = std::span<WideHash>(hashes_).first(lines.size());
  // A line without a key is not a hit, so its zeros are never among the candidates.
  keys_.keys().spread(hashes);
  return hashes;
}

void ConfirmedHits::note_all(std::span<const WideHash> hits) {
  candidates_.add_all(hits, nullptr).value();
}

std::uint64_t ConfirmedHits::seek(const LineSource& list, Messages& messages) {
  std::array<bool, lines_per_batch> found{};
  std::vector<WideHash> hits;
  const auto all_found = [&] { return confirmed_.count() == candidates_.count(); };
  if (all_found()) return 0;
  const auto take = [&](Lines lines, const Inputs& inputs) {
    const auto listed = hashes(lines, inputs);
    candidates_.may_contain_all(listed, found.data());
    hits.clear();
    for (std::size_t i = 0; i < listed.size(); ++i)
      if (found[i]) hits.push_back(listed[i]);
    confirmed_.add_all(hits, nullptr).value();
    return hits.empty() || !all_found();
  };
  return each_batch(list, messages, take).lines;
}

}  // namespace bloomery::cli
