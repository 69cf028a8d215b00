// Normalisation: twice is once, for every profile; the quick way to take an authority apart agrees
// with uriparser.
#include <array>
#include <string>
#include <string_view>

#include <bloomery/text/normalize.hpp>

#include <tests/fuzz/byte_feed.hpp>
#include <tests/fuzz/must.hpp>

namespace bloomery::fuzz {
namespace {

void check_profile(const Normalizer& profile, std::string_view key) {
  static UrlScratch scratch;
  static KeyRoom room;
  room.clear();
  const Normalized once = profile(key, scratch, room);
  const Normalized twice = profile(once.key, scratch, room);
  must(twice.key == once.key, "normalising twice is normalising once");
  must(twice.fits == once.fits, "a normalised key fits its profile as the key did");
}

void check_authority(std::string_view text) {
  const auto plain = detail::split_plain_authority(text);
  const auto any = detail::split_authority(text);
  if (!plain) return;
  must(any.has_value(), "uriparser takes every plain authority");
  must(plain->user == any->user && plain->host == any->host && plain->port == any->port &&
           plain->bracketed == any->bracketed,
       "a plain authority has the parts that uriparser finds");
}

}  // namespace
}  // namespace bloomery::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomery;
  static const std::array profiles = {
      Normalizer::find("trim/1").value(), Normalizer::find("case/1").value(),
      Normalizer::find("email/1").value(), Normalizer::find("url/1").value(),
      Normalizer::find("crawl/1").value()};
  const std::string_view key = fuzz::ByteFeed(data, size).rest();
  for (const Normalizer& profile : profiles) fuzz::check_profile(profile, key);
  const std::size_t authority = key.find("://");
  if (authority != key.npos) {
    const std::string_view behind = key.substr(authority + 3);
    fuzz::check_authority(behind.substr(0, behind.find_first_of("/?#")));
  }
  return 0;
}
