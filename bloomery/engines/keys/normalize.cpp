#include <bloomery/text/normalize.hpp>

#include <algorithm>
#include <iterator>

#include <bloomery/text/lines.hpp>

namespace bloomery::inline v0 {

using namespace detail;
namespace {

constexpr bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

std::string_view trimmed(std::string_view key) {
  while (!key.empty() && is_blank(key.front())) key.remove_prefix(1);
  while (!key.empty() && is_blank(key.back())) key.remove_suffix(1);
  return key;
}

std::string_view lowered(std::string_view key, KeyRoom& room) {
  if (std::none_of(key.begin(), key.end(), is_capital)) return key;
  char* const place = room.reserve(key.size());
  std::transform(key.begin(), key.end(), place,
                 [](char c) { return is_capital(c) ? static_cast<char>(c | 0x20) : c; });
  return room.keep(place, key.size());
}

Normalized trim_1(std::string_view key, UrlScratch&, KeyRoom&) { return {trimmed(key)}; }

Normalized case_1(std::string_view key, UrlScratch&, KeyRoom& room) {
  return {lowered(trimmed(key), room)};
}

Normalized email_1(std::string_view key, UrlScratch&, KeyRoom& room) {
  key = trimmed(key);
  const std::size_t at = key.rfind('@');
  const bool sides = at != std::string_view::npos && at > 0 && at + 1 < key.size();
  if (!sides || std::any_of(key.begin(), key.end(), is_blank)) return {key, false};
  return {lowered(key, room)};
}

template <UrlLaw law>
Normalized url(std::string_view key, UrlScratch& scratch, KeyRoom& room) {
  key = trimmed(key);
  const auto found = normalize_url(key, law, scratch, room);
  return {found.value_or(key), found.has_value()};
}

}  // namespace

// The newest version of a profile stands last.
const Normalizer::Row Normalizer::rows[] = {{"trim/1", trim_1},
                                            {"case/1", case_1},
                                            {"email/1", email_1},
                                            {"url/1", url<UrlLaw::url_1>},
                                            {"crawl/1", url<UrlLaw::crawl_1>}};

Result<Normalizer> Normalizer::find(std::string_view name) {
  const auto profile_of = [](std::string_view text) { return text.substr(0, text.find('/')); };
  const Row* newest = nullptr;
  std::string names;
  for (const Row& row : rows) {
    if (row.name == name) return Normalizer(row.name, row.apply);
    if (profile_of(row.name) == profile_of(name)) newest = &row;
    names += (names.empty() ? "" : ", ") + std::string(profile_of(row.name));
  }
  if (newest == nullptr)
    return Error{Code::unsupported,
                 "unknown normalisation " + quoted(name) + "; use one of " + names};
  if (profile_of(name) == name) return Normalizer(newest->name, newest->apply);
  return Error{Code::unsupported, "the normalisation " + quoted(name) +
                                      " is not known here; the newest of its name is " +
                                      std::string(newest->name)};
}

}  // namespace bloomery::inline v0
