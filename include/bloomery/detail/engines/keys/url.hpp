// URLs in one spelling: the law of the profiles url/1 and crawl/1, which docs/normalize.md tells in
// full and the table in tests/engines/url_test.cpp pins.
//
//    HTTP://user@Example.COM:80/a%7eb/c d?b=2&a#top
//    ^scheme     ^authority     ^path     ^query ^fragment
//    http://user@example.com/a~b/c%20d?a=&b=2
//
// The split at : / ? # is done here. The authority of nearly every URL is a plain name with or
// without a port, and is taken apart here too; any other (user, IPv6, escapes, letters beyond
// ASCII) is taken apart and judged by uriparser, which would take twice as long to parse a URL as
// all of this together (docs/normalize.md). url_test compares the two on the plain ones.
// Limits:  a text without a scheme followed by "//", without a host, with an authority that RFC
//          3986 does not allow, or longer than 64 KiB is not a URL. Host names are not converted to
//          or from Punycode. If memory runs out, also in uriparser, std::bad_alloc is thrown.
// Threads: pure but for the scratch, which belongs to one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <bloomery/detail/engines/keys/key_room.hpp>

namespace bloomery::inline v0::detail {

enum class UrlLaw { url_1, crawl_1 };

struct UrlScratch {
  std::vector<std::string_view> arguments;
};

inline constexpr std::size_t longest_url = std::size_t{64} << 10;

// `text` has no blanks around it. nullopt: it is not a URL. The result is in the room.
std::optional<std::string_view> normalize_url(std::string_view text, UrlLaw law,
                                              UrlScratch& scratch, KeyRoom& room);

struct Authority {
  std::string_view user;  // without the @; empty: none
  std::string_view host;  // without brackets
  std::string_view port;  // digits; empty: none
  bool bracketed = false;
};

// Letters, digits, - . _ ~ and perhaps a port: nothing to decode, nothing to judge.
std::optional<Authority> split_plain_authority(std::string_view text);
// Any authority, by uriparser. Views into `text`; bytes beyond ASCII are not allowed in it.
std::optional<Authority> split_authority(std::string_view text);

// The segments . and .. of an absolute path (RFC 3986, 5.2.4), in place; returns its new length.
std::size_t remove_dot_segments(char* path, std::size_t length);

}  // namespace bloomery::inline v0::detail
