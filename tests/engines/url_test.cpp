#include <bloomery/detail/engines/keys/url.hpp>

#include <gtest/gtest.h>
#include <uriparser/Uri.h>

#include <random>
#include <string>

namespace bloomery::detail {
namespace {

std::string normal(UrlLaw law, std::string_view text) {
  UrlScratch scratch;
  KeyRoom room;
  const auto found = normalize_url(text, law, scratch, room);
  return found ? std::string(*found) : "no URL";
}

struct Golden {
  const char* url;
  const char* key;
  const char* why;
};

// A profile never changes: if one of these has to, it is a new version of the profile.
constexpr Golden url_goldens[] = {
    {"http://example.com/a/b?c=d", "http://example.com/a/b?c=d", "already so"},
    {"HTTP://Example.COM/A", "http://example.com/A", "scheme and host have no case, a path has"},
    {"http://example.com", "http://example.com/", "an empty path is the root"},
    {"http://example.com?a=1", "http://example.com/?a=1", "also before a query"},
    {"http://example.com:80/", "http://example.com/", "the port that http has anyway"},
    {"https://example.com:443/", "https://example.com/", "the port that https has anyway"},
    {"ftp://example.com:21/x", "ftp://example.com/x", "and ftp"},
    {"https://example.com:80/", "https://example.com:80/", "not the port of this scheme"},
    {"http://example.com:/", "http://example.com/", "an empty port is dropped"},
    {"http://example.com:0080/", "http://example.com/", "zeros before a port mean nothing"},
    {"http://example.com:08080/", "http://example.com:8080/", "zeros before a port mean nothing"},
    {"http://example.com/#top", "http://example.com/", "a fragment stays in the browser"},
    {"http://example.com/?#a?b", "http://example.com/", "an empty query is dropped"},
    {"http://example.com/a#b?c=d", "http://example.com/a", "a ? in a fragment is not a query"},
    {"http://example.com/%7ejoe/%41", "http://example.com/~joe/A", "unreserved: escapes undone"},
    {"http://example.com/%2fa%3f", "http://example.com/%2Fa%3F", "reserved: kept, in capitals"},
    {"http://example.com/a b|c", "http://example.com/a%20b%7Cc", "forbidden bytes are escaped"},
    {"http://example.com/[x]", "http://example.com/%5Bx%5D", "brackets too"},
    {"http://example.com/Z\xc3\xbc", "http://example.com/Z%C3%BC", "and bytes beyond ASCII"},
    {"http://example.com/100%", "http://example.com/100%25", "a % that begins no escape"},
    {"http://example.com/%zz%4", "http://example.com/%25zz%254", "a % that begins no escape"},
    {"http://example.com/%%34%31", "http://example.com/%2541", "two escapes make no new one"},
    {"http://example.com/?b=2&a=1", "http://example.com/?a=1&b=2", "arguments are sorted"},
    {"http://example.com/?a=2&a=1", "http://example.com/?a=1&a=2", "those of one name too"},
    {"http://example.com/?a&b=", "http://example.com/?a=&b=", "blank values are kept, with a ="},
    {"http://example.com/?&&a=1&", "http://example.com/?a=1", "empty arguments are dropped"},
    {"http://example.com/?q=a%20b", "http://example.com/?q=a+b", "blanks of a query are +"},
    {"http://example.com/?q=a b", "http://example.com/?q=a+b", "escaped or not"},
    {"http://example.com/?q=a%2Bb", "http://example.com/?q=a%2Bb", "an escaped + stays"},
    {"http://example.com/?u=http%3A%2F%2Fx", "http://example.com/?u=http://x",
     "marks that mean nothing in a query"},
    {"http://example.com/?a=b%26c%3Dd", "http://example.com/?a=b%26c%3Dd", "marks that do"},
    {"http://example.com/?a=1;b=2", "http://example.com/?a=1;b=2", "; separates nothing"},
    {"http://example.com/a/../b/./c", "http://example.com/a/../b/./c", "dots stay, but in crawl"},
    {"http://example.com//a//", "http://example.com//a//", "slashes are kept"},
    {"http://www.example.com/", "http://www.example.com/", "and www."},
    {"http://Joe:Pw@example.com/", "http://Joe:Pw@example.com/", "a user keeps its case"},
    {"http://@example.com/", "http://example.com/", "an empty user is dropped"},
    {"http://%65xample.com/", "http://example.com/", "escapes of a host are undone"},
    {"http://M\xc3\xbcnchen.de/", "http://m%C3%BCnchen.de/", "beyond ASCII, as escapes: no IDNA"},
    {"http://m%c3%bcnchen.de/", "http://m%C3%BCnchen.de/", "the same host, escaped"},
    {"http://[2001:DB8::1]:80/", "http://[2001:db8::1]/", "IPv6 in small letters"},
    {"http://192.168.0.1:8080/", "http://192.168.0.1:8080/", "IPv4 as it is"},
    {"http://a_b.example.com/", "http://a_b.example.com/", "names that DNS has"},
    {"s3://Bucket/Key", "s3://bucket/Key", "any scheme with a host"},
    {"git+ssh://x/y", "git+ssh://x/y", "any scheme with a host"},
    {"example.com/a", "no URL", "no scheme"},
    {"//example.com/a", "no URL", "no scheme"},
    {"mailto:joe@example.com", "no URL", "no host"},
    {"javascript:void(0)", "no URL", "no host"},
    {"http:///a", "no URL", "no host"},
    {"http://?a", "no URL", "no host"},
    {"file:///etc/hosts", "no URL", "no host"},
    {"1http://a/", "no URL", "a scheme begins with a letter"},
    {"http://a b/", "no URL", "no such host"},
    {"http://exa<mple/", "no URL", "no such host"},
    {"http://a:b/", "no URL", "no such port"},
    {"http://[::1/", "no URL", "a bracket that is not closed"},
    {"http://[gggg::1]/", "no URL", "no such address"},
    {"", "no URL", "nothing"},
};

constexpr Golden crawl_goldens[] = {
    {"http://example.com/a", "http://example.com/a", "already so"},
    {"https://example.com/a", "http://example.com/a", "one page under both schemes"},
    {"https://example.com:443/", "http://example.com/", "the port of either goes"},
    {"https://example.com:80/", "http://example.com/", "the port of either goes"},
    {"ftp://example.com:443/", "ftp://example.com:443/", "of these two only"},
    {"http://www.example.com/", "http://example.com/", "www. goes"},
    {"http://WWW.www.example.com/", "http://example.com/", "as often as it is there"},
    {"http://www.com/", "http://www.com/", "not when too little would be left"},
    {"http://www2.example.com/", "http://www2.example.com/", "www and nothing else"},
    {"http://example.com./", "http://example.com/", "the dot of the root of DNS"},
    {"http://.../", "no URL", "no host is left"},
    {"http://example.com/a/./b/../c", "http://example.com/a/c", "dot segments"},
    {"http://example.com/../../a", "http://example.com/a", "that lead above the root"},
    {"http://example.com/a/%2e%2E/b", "http://example.com/b", "also when escaped"},
    {"http://example.com/a/..", "http://example.com/", "at the end"},
    {"http://example.com/a/", "http://example.com/a", "a slash at the end"},
    {"http://example.com//a//b//", "http://example.com//a//b", "slashes at the end only"},
    {"http://example.com///", "http://example.com/", "the root has one"},
    {"http://example.com/index.html", "http://example.com/", "the page of a folder"},
    {"http://example.com/a/index.php?x=1", "http://example.com/a?x=1", "before a query too"},
    {"http://example.com/default.aspx/", "http://example.com/", "whatever comes first"},
    {"http://example.com/Index.html", "http://example.com/Index.html", "paths have case"},
    {"http://example.com/myindex.html", "http://example.com/myindex.html", "the whole name"},
    {"http://example.com/?utm_source=x&id=7", "http://example.com/?id=7", "who came from where"},
    {"http://example.com/?UTM_Campaign=x", "http://example.com/", "names have no case there"},
    {"http://example.com/?gclid=1&fbclid=2&msclkid=3&b", "http://example.com/?b=", "clicks"},
    {"http://example.com/?%75tm_source=x", "http://example.com/", "also when escaped"},
    {"http://example.com/?utm_=1&xutm_a=2", "http://example.com/?utm_=1&xutm_a=2", "others stay"},
    {"http://example.com/?PHPSESSID=abc&a=1", "http://example.com/?a=1", "sessions"},
    {"http://example.com/?ASPSESSIONIDQQ=abc", "http://example.com/", "sessions"},
    {"http://example.com/?sid=5", "http://example.com/?sid=5", "may be a page: stays"},
    {"http://example.com/a;jsessionid=1?b=2", "http://example.com/a?b=2", "sessions in a path"},
    {"http://example.com/a;JSESSIONID=1;v=2/b", "http://example.com/a;v=2/b", "that alone"},
    {"http://example.com/..;jsessionid=1/a", "http://example.com/a", "before dots are looked at"},
    {"http://example.com/index.php;jsessionid=1", "http://example.com/", "and index pages"},
    {"http://example.com/#!/a", "http://example.com/", "a fragment of any form"},
    {"http://Joe@www.example.com/", "http://Joe@example.com/", "the user stays"},
    {"http://[::1]:443/", "http://[::1]/", "addresses too"},
    {"example.com/a", "no URL", "no scheme"},
};

TEST(Url, GoldenUrl) {
  for (const Golden& golden : url_goldens)
    EXPECT_EQ(normal(UrlLaw::url_1, golden.url), golden.key) << golden.url << ": " << golden.why;
}

TEST(Url, GoldenCrawl) {
  for (const Golden& golden : crawl_goldens)
    EXPECT_EQ(normal(UrlLaw::crawl_1, golden.url), golden.key) << golden.url << ": " << golden.why;
}

TEST(Url, WhatIsLongerThanTheLimitIsNone) {
  const std::string begin = "http://a/";
  const std::string longest = begin + std::string(longest_url - begin.size(), ' ');
  EXPECT_EQ(normal(UrlLaw::url_1, longest).size(), begin.size() + 3 * (longest_url - begin.size()));
  EXPECT_EQ(normal(UrlLaw::url_1, longest + "x"), "no URL");
  std::string arguments = "http://a/?";
  arguments.append(30000, '&').append("b&c&d&e");
  EXPECT_EQ(normal(UrlLaw::url_1, arguments), "http://a/?b=&c=&d=&e=");
  std::string many = "http://a?";
  for (int i = 0; i < 30000; ++i) many += i % 2 == 0 ? "x&" : "\xff&";
  EXPECT_EQ(normal(UrlLaw::url_1, many).size(), 10 + 15000 * 3 + 15000 * 5 - 1);
}

// A random word over an alphabet.
std::string word(std::mt19937_64& random, std::string_view alphabet, std::size_t most) {
  std::string text(random() % (most + 1), ' ');
  for (char& c : text) c = alphabet[random() % alphabet.size()];
  return text;
}

TEST(Url, APlainAuthorityIsTakenApartAsUriparserDoes) {
  constexpr std::uint64_t seed = 4711;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  int plain = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string text = word(random, "abzABZ019.-_~", 12);
    if (random() % 2 == 0) text.append(":").append(word(random, "0123456789", 6));
    if (random() % 8 == 0) text += word(random, "ab:@[]%.!", 3);
    const auto ours = detail::split_plain_authority(text);
    if (!ours) continue;
    ++plain;
    const auto theirs = detail::split_authority(text);
    ASSERT_TRUE(theirs) << text;
    ASSERT_EQ(ours->user, theirs->user) << text;
    ASSERT_EQ(ours->host, theirs->host) << text;
    ASSERT_EQ(ours->port, theirs->port) << text;
    ASSERT_EQ(ours->bracketed, theirs->bracketed) << text;
  }
  EXPECT_GT(plain, 10000);
}

struct Parsed {
  explicit Parsed(const std::string& url) {
    good = uriParseSingleUriA(&uri, url.c_str(), nullptr) == URI_SUCCESS;
  }
  Parsed(const Parsed&) = delete;
  Parsed& operator=(const Parsed&) = delete;
  ~Parsed() {
    if (good) uriFreeUriMembersA(&uri);
  }
  std::string text() {
    int length = 0;
    EXPECT_EQ(uriToStringCharsRequiredA(&uri, &length), URI_SUCCESS);
    std::string written(static_cast<std::size_t>(length) + 1, '\0');
    EXPECT_EQ(uriToStringA(written.data(), &uri, length + 1, nullptr), URI_SUCCESS);
    written.resize(static_cast<std::size_t>(length));
    return written;
  }
  UriUriA uri{};
  bool good;
};

// Whatever bytes it is made of, the result is a URI by the grammar of RFC 3986, and nothing that
// uriparser's normalisation of scheme, host, escapes (and for crawl, dots) would change.
TEST(Url, ResultsAreUrisThatUriparserFindsNormal) {
  constexpr std::uint64_t seed = 1234;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  constexpr std::string_view bytes = "aZ0/.?&=%#2e;:@+ ~|[]\xff\"<\\";
  int urls = 0;
  for (int round = 0; round < 30000; ++round) {
    const std::string text =
        "hTTp://" + word(random, "aB.%41-:8@", 6) + "x/" + word(random, bytes, 24);
    for (const UrlLaw law : {UrlLaw::url_1, UrlLaw::crawl_1}) {
      const std::string key = normal(law, text);
      if (key == "no URL") continue;
      ++urls;
      Parsed parsed(key);
      ASSERT_TRUE(parsed.good) << text << " -> " << key;
      unsigned parts = URI_NORMALIZE_SCHEME | URI_NORMALIZE_QUERY;
      // It lowers the case of escapes in a host, which RFC 3986 (6.2.2.1) does not.
      if (key.find('%') > key.find('/', 7)) parts |= URI_NORMALIZE_HOST;
      if (law == UrlLaw::crawl_1) parts |= URI_NORMALIZE_PATH;
      ASSERT_EQ(uriNormalizeSyntaxExA(&parsed.uri, parts), URI_SUCCESS);
      ASSERT_EQ(parsed.text(), key) << text;
    }
  }
  EXPECT_GT(urls, 20000);
}

TEST(Url, DotSegmentsGoAsUriparserHasThemGo) {
  constexpr std::uint64_t seed = 31;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 30000; ++round) {
    std::string path = "/";
    path += word(random, "a../.", 12);
    const std::string url = "x://h" + path;
    Parsed parsed(url);
    ASSERT_TRUE(parsed.good) << url;
    ASSERT_EQ(uriNormalizeSyntaxExA(&parsed.uri, URI_NORMALIZE_PATH), URI_SUCCESS);
    path.resize(detail::remove_dot_segments(path.data(), path.size()));
    ASSERT_EQ("x://h" + path, parsed.text()) << url;
  }
}

}  // namespace
}  // namespace bloomery::detail
