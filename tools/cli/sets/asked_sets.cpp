#include "asked_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include <bloomery/image.hpp>

#include <tools/cli/report/refuse.hpp>

#include "list_set.hpp"
#include "live_file.hpp"
#include "remote_set.hpp"

namespace bloomery::cli {
namespace {

// Of a file that cannot be opened it does not matter: the next to open it says why.
bool hardened(const std::string& path) {
  if (is_remote(path)) {
    const auto set = RedisSet::open(remote_address(path));
    if (!set) return set.error().code == Code::mismatch;
    return set->law().key_is_elsewhere;
  }
  const auto image = open_image(path, {.verify = Verify::header});
  if (!image) return image.error().code == Code::mismatch;
  return image->hasher.mode() == HashMode::hardened;
}

}  // namespace

AskedSets::AskedSets(const std::vector<std::string>& paths, const AskFlags& flags,
                     const std::function<void(const std::string&)>& reading, Messages& messages) {
  const Word& key_file = flags.key_file;
  bool key_used = paths.size() == 1 && !is_list(paths.front());
  for (const std::string& path : paths) {
    reading(path);
    if (is_list(path)) {
      const ListRules rules{flags.lines, normalizer_of(flags.keys)};
      sets_.push_back(std::make_unique<One>(path, read_list(path, rules, messages), flags.keys));
      continue;
    }
    // Alone, a set that has no secret key is refused with the key.
    const bool with_key = key_file && (paths.size() == 1 || hardened(path));
    key_used |= with_key;
    const Word key = with_key ? key_file : Word();
    std::optional<SetFile> file;
    if (!is_remote(path) && is_live_set(path)) file = follow_live_set(path, key);
    if (!file) file = open_live_set(path, key, verify_of(path, flags.trust));
    sets_.push_back(std::make_unique<One>(path, std::move(*file), flags.keys));
    expect_line_keys(sets_.back()->file.set, path);
  }
  if (key_file && !key_used)
    refuse("none of the sets is hardened, so they have no secret key; leave --key-file out");
}

std::uint64_t AskedSets::ask(Lines lines, const Inputs& inputs) {
  std::fill_n(any_.begin(), lines.size(), false);
  for (const auto& one : sets_) {
    const auto answers = std::span<bool>(one->answers).first(lines.size());
    one->keys.hand(lines, inputs, [&](auto keys) {
      one->file.set.may_contain_all(keys, answers.first(keys.size())).value();
    });
    one->keys.keys().spread(answers);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      one->matched += answers[i];
      any_[i] |= answers[i];
    }
  }
  return static_cast<std::uint64_t>(std::count(any_.begin(), any_.begin() + lines.size(), true));
}

}  // namespace bloomery::cli
