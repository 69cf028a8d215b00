#include <bloomery/text/normalize.hpp>

#include <gtest/gtest.h>

#include <random>

namespace bloomery::detail {
namespace {

constexpr const char* every_profile[] = {"trim/1", "case/1", "email/1", "url/1", "crawl/1"};

// "! " before a key that the profile is not for.
std::string normal(std::string_view profile, std::string_view key) {
  UrlScratch scratch;
  KeyRoom room;
  const Normalized normalized = Normalizer::find(profile).value()(key, scratch, room);
  return (normalized.fits ? "" : "! ") + std::string(normalized.key);
}

TEST(Normalize, FindsAProfileWithItsVersionOrTheNewest) {
  for (const char* name : every_profile) {
    EXPECT_EQ(Normalizer::find(name).value().name(), name);
    const std::string profile(name, std::string_view(name).find('/'));
    EXPECT_EQ(Normalizer::find(profile).value().name(), name);
  }
  for (const char* name : {"", "ur", "url/", "url/2", "url/1x", "URL", "trim,case", "/1"}) {
    const auto found = Normalizer::find(name);
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(found.error().code, Code::unsupported);
  }
}

// A profile never changes: if one of these has to, it is a new version of the profile.
TEST(Normalize, GoldenTrim) {
  EXPECT_EQ(normal("trim/1", " \t\r\n\v\fa b \n"), "a b");
  EXPECT_EQ(normal("trim/1", "   "), "");
  EXPECT_EQ(normal("trim/1", ""), "");
  // Only ASCII blanks: a no-break space stays.
  EXPECT_EQ(normal("trim/1", "\xc2\xa0x"), "\xc2\xa0x");
  EXPECT_EQ(normal("trim/1", std::string_view("\0a\0", 3)), std::string("\0a\0", 3));
}

TEST(Normalize, GoldenCase) {
  EXPECT_EQ(normal("case/1", " ABYZ abyz @[`{ "), "abyz abyz @[`{");
  // Bytes beyond ASCII stay: the same with every version of Unicode, valid UTF-8 or not.
  EXPECT_EQ(normal("case/1", "\xc3\x84X\xff"), "\xc3\x84x\xff");
}

TEST(Normalize, GoldenEmail) {
  EXPECT_EQ(normal("email/1", " Joe.Smith+Tag@Example.COM\r"), "joe.smith+tag@example.com");
  EXPECT_EQ(normal("email/1", "\"A@B\"@C.D"), "\"a@b\"@c.d");
  EXPECT_EQ(normal("email/1", "J\xc3\x96@Ex.com"), "j\xc3\x96@ex.com");
  EXPECT_EQ(normal("email/1", " Nobody "), "! Nobody");
  EXPECT_EQ(normal("email/1", "@X"), "! @X");
  EXPECT_EQ(normal("email/1", "X@"), "! X@");
  EXPECT_EQ(normal("email/1", "Joe Smith <J@X.Y>"), "! Joe Smith <J@X.Y>");
}

TEST(Normalize, TwiceIsOnce) {
  constexpr std::uint64_t seed = 99;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  // Pieces that mean something to one of the profiles, and bytes.
  const std::vector<std::string> pieces = {"http://",
                                           "https://",
                                           "HTTP://",
                                           "ftp://",
                                           "www.",
                                           "WWW.",
                                           "example",
                                           ".com",
                                           ".",
                                           "..",
                                           "/",
                                           "/../",
                                           "/./",
                                           "//",
                                           "index.html",
                                           "index.php",
                                           ";jsessionid=1",
                                           ";JSESSIONID=",
                                           ";",
                                           "?",
                                           "&",
                                           "=",
                                           "a",
                                           "B",
                                           "utm_source=x",
                                           "gclid=",
                                           "#",
                                           "%41",
                                           "%2e",
                                           "%2F",
                                           "%",
                                           "%%34%31",
                                           "%25",
                                           "%zz",
                                           "+",
                                           " ",
                                           "%20",
                                           ":80",
                                           ":443",
                                           ":",
                                           "@",
                                           "user:pw@",
                                           "[::1]",
                                           "[",
                                           "]",
                                           "\xc3\xbc",
                                           "\xff",
                                           std::string(1, '\0'),
                                           "\t",
                                           "\r",
                                           "X@Y",
                                           "|",
                                           "%5b",
                                           ":0080",
                                           "%77ww.",
                                           "0",
                                           "\\"};
  for (int round = 0; round < 60000; ++round) {
    std::string key;
    if (round % 2 == 0) key = round % 4 == 0 ? "http://a" : "https://www.b.c";
    for (std::size_t i = random() % 9; i > 0; --i) key += pieces[random() % pieces.size()];
    for (const char* profile : every_profile) {
      UrlScratch scratch;
      KeyRoom room;
      const auto normalizer = Normalizer::find(profile).value();
      const Normalized once = normalizer(key, scratch, room);
      const Normalized twice = normalizer(once.key, scratch, room);
      ASSERT_EQ(once.key, twice.key) << profile << ": " << key;
      ASSERT_EQ(once.fits, twice.fits) << profile << ": " << key;
    }
  }
}

}  // namespace
}  // namespace bloomery::detail
