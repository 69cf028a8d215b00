#include <bloomery/detail/engines/keys/url.hpp>

#include <uriparser/Uri.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>

namespace bloomery::inline v0::detail {
namespace {

constexpr char upper_digits[] = "0123456789ABCDEF";

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }
constexpr bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
constexpr bool is_unreserved(char c) {
  return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

// How one part of a URL spells each byte.
struct Spelling {
  std::array<char, 256> plain{};    // a byte as it stands; 0: it is escaped
  std::array<char, 256> escaped{};  // a byte that is escaped; 0: it stays so
};

// These may stand in a path, and mean something else there than their escapes.
constexpr std::string_view path_marks = "/!$&'()*+,;=:@";
// In a query only & = + mean something; the others are the same with and without an escape.
constexpr std::string_view query_marks = "/?!$'()*,;:@";
constexpr std::string_view authority_marks = "!$&'()*+,;=";

constexpr Spelling make_spelling(std::string_view marks, bool lower_case) {
  Spelling spelling;
  for (int c = 1; c < 128; ++c) {
    const char letter = static_cast<char>(c);
    const auto at = static_cast<std::size_t>(c);
    const char spelled = lower_case ? lower(letter) : letter;
    if (is_unreserved(letter)) spelling.plain[at] = spelling.escaped[at] = spelled;
    if (marks.find(letter) != std::string_view::npos) spelling.plain[at] = letter;
  }
  return spelling;
}

constexpr Spelling make_query_spelling() {
  Spelling spelling = make_spelling(query_marks, false);
  for (const char c : query_marks) spelling.escaped[static_cast<std::size_t>(c)] = c;
  for (const char c : {'&', '=', '+'}) spelling.plain[static_cast<std::size_t>(c)] = c;
  spelling.plain[' '] = spelling.escaped[' '] = '+';
  return spelling;
}

constexpr Spelling path_spelling = make_spelling(path_marks, false);
constexpr Spelling query_spelling = make_query_spelling();
constexpr Spelling user_spelling = make_spelling("!$&'()*+,;=:", false);
constexpr Spelling host_spelling = make_spelling(authority_marks, true);

constexpr int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  return lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : -1;
}

char* write_escape(char* out, std::uint8_t byte) {
  out[0] = '%';
  out[1] = upper_digits[byte >> 4];
  out[2] = upper_digits[byte & 15];
  return out + 3;
}

// At most three bytes for each. A % that begins no escape is escaped itself: were it left, the text
// behind it could become an escape that a second pass undoes.
char* spell(std::string_view text, const Spelling& spelling, char* out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if (const char plain = spelling.plain[byte]; plain != 0) [[likely]] {
      *out++ = plain;
      continue;
    }
    if (byte != '%' || text.size() - i < 3 || hex_value(text[i + 1]) < 0 ||
        hex_value(text[i + 2]) < 0) {
      out = write_escape(out, byte);
      continue;
    }
    const auto meant =
        static_cast<std::uint8_t>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
    if (const char plain = spelling.escaped[meant]; plain != 0)
      *out++ = plain;
    else
      out = write_escape(out, meant);
    i += 2;
  }
  return out;
}

char* write(std::string_view text, char* out) {
  if (!text.empty()) std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

struct Split {
  std::string_view scheme;
  std::string_view authority;
  std::string_view path;
  std::string_view query;  // without its ?
};

std::optional<Split> split_url(std::string_view text) {
  std::size_t colon = 0;
  while (colon < text.size() && (is_letter(text[colon]) || is_digit(text[colon]) ||
                                 text[colon] == '+' || text[colon] == '-' || text[colon] == '.'))
    ++colon;
  if (colon == 0 || !is_letter(text[0]) || !text.substr(colon).starts_with("://"))
    return std::nullopt;
  Split split;
  split.scheme = text.substr(0, colon);
  std::string_view rest = text.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  const std::size_t query = rest.find('?');
  if (query != std::string_view::npos) {
    split.query = rest.substr(query + 1);
    rest = rest.substr(0, query);
  }
  const std::size_t path = std::min(rest.find('/'), rest.size());
  split.authority = rest.substr(0, path);
  split.path = rest.substr(path);
  return split;
}

// Judged by uriparser with its bytes beyond ASCII as escapes; views into `escaped`.
std::optional<detail::Authority> authority_of(std::string_view text, std::string& escaped) {
  if (const auto plain = detail::split_plain_authority(text)) return plain;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    char room[3];
    if (byte < 0x80)
      escaped += c;
    else
      escaped.append(room, write_escape(room, byte));
  }
  return detail::split_authority(escaped);
}

std::string_view default_port(std::string_view scheme) {
  if (scheme == "http" || scheme == "ws") return "80";
  if (scheme == "https" || scheme == "wss") return "443";
  return scheme == "ftp" ? "21" : "";
}

// Removes "www." and dots at the end, as often as they are there, so that a second pass changes
// nothing.
std::string_view crawled_host(std::string_view host) {
  while (host.ends_with('.')) host.remove_suffix(1);
  while (host.starts_with("www.") && host.find('.', 4) != std::string_view::npos)
    host.remove_prefix(4);
  return host;
}

// `out` points behind "scheme://". Returns nullptr when no host is left.
char* write_authority(const detail::Authority& authority, std::string_view scheme, UrlLaw law,
                      char* out) {
  if (!authority.user.empty()) {
    out = spell(authority.user, user_spelling, out);
    *out++ = '@';
  }
  if (authority.bracketed) {
    *out++ = '[';
    for (const char c : authority.host) *out++ = lower(c);
    *out++ = ']';
  } else {
    char* const start = out;
    out = spell(authority.host, host_spelling, out);
    if (law == UrlLaw::crawl_1) {
      const std::string_view host = crawled_host({start, static_cast<std::size_t>(out - start)});
      std::memmove(start, host.data(), host.size());
      out = start + host.size();
    }
    if (out == start) return nullptr;
  }
  std::string_view port = authority.port;
  while (port.size() > 1 && port.front() == '0') port.remove_prefix(1);
  const bool web = law == UrlLaw::crawl_1 && scheme == "http";
  if (port.empty() || port == default_port(scheme) || (web && port == "443")) return out;
  *out++ = ':';
  return write(port, out);
}

// Equal without regard to case; `name` is in lower case.
bool is_name(std::string_view text, std::string_view name) {
  return std::equal(text.begin(), text.end(), name.begin(), name.end(),
                    [](char a, char b) { return lower(a) == b; });
}

// Arguments that name a referrer or a session, not a page.
constexpr std::string_view tracking_names[] = {
    "_ga",        "_gl",       "dclid",  "fbclid",  "gbraid",    "gclid",     "gclsrc",
    "igshid",     "mc_cid",    "mc_eid", "msclkid", "twclid",    "wbraid",    "yclid",
    "jsessionid", "phpsessid", "cfid",   "cftoken", "sessionid", "session_id"};

bool is_tracking(std::string_view argument) {
  const std::string_view name = argument.substr(0, argument.find('='));
  if (name.size() > 4 && is_name(name.substr(0, 4), "utm_")) return true;
  if (name.size() > 12 && is_name(name.substr(0, 12), "aspsessionid")) return true;
  // The shortest and the longest of the names.
  if (name.size() < 3 || name.size() > 10) return false;
  return std::any_of(std::begin(tracking_names), std::end(tracking_names),
                     [&](std::string_view tracking) { return is_name(name, tracking); });
}

// Spelled into `room`, sorted, written behind `out`.
char* write_query(std::string_view query, UrlLaw law, UrlScratch& scratch, char* room, char* out) {
  std::vector<std::string_view>& arguments = scratch.arguments;
  arguments.clear();
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view argument = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (argument.empty()) continue;
    char* const start = room;
    room = spell(argument, query_spelling, room);
    if (argument.find('=') == std::string_view::npos) *room++ = '=';
    const std::string_view spelled(start, static_cast<std::size_t>(room - start));
    if (law == UrlLaw::crawl_1 && is_tracking(spelled)) continue;
    arguments.push_back(spelled);
  }
  if (!std::is_sorted(arguments.begin(), arguments.end()))
    std::sort(arguments.begin(), arguments.end());
  char mark = '?';
  for (const std::string_view argument : arguments) {
    *out++ = mark;
    out = write(argument, out);
    mark = '&';
  }
  return out;
}

// "/a;jsessionid=1;v=2/b" --> "/a;v=2/b"
std::size_t remove_session_parameters(char* path, std::size_t length) {
  constexpr std::string_view session = ";jsessionid=";
  std::size_t kept = 0;
  for (std::size_t at = 0; at < length;) {
    const std::string_view rest(path + at, length - at);
    if (rest.size() >= session.size() && is_name(rest.substr(0, session.size()), session)) {
      at += std::min(rest.find_first_of("/;", 1), rest.size());
      continue;
    }
    path[kept++] = path[at++];
  }
  return kept;
}

constexpr std::string_view index_pages[] = {"index.html",   "index.htm",   "index.php",
                                            "default.html", "default.htm", "default.asp",
                                            "default.aspx"};

// Slashes at the end and the name of an index page go, in turn, until neither is there.
std::size_t remove_index(const char* path, std::size_t length) {
  for (;;) {
    while (length > 0 && path[length - 1] == '/') --length;
    const std::string_view kept(path, length);
    const std::size_t slash = kept.rfind('/');
    if (slash == std::string_view::npos) return length;
    const std::string_view page = kept.substr(slash + 1);
    if (std::find(std::begin(index_pages), std::end(index_pages), page) == std::end(index_pages))
      return length;
    length = slash;
  }
}

char* write_path(std::string_view path, UrlLaw law, char* out) {
  char* const start = out;
  out = spell(path, path_spelling, out);
  if (law == UrlLaw::crawl_1) {
    auto length = static_cast<std::size_t>(out - start);
    const std::string_view spelled(start, length);
    if (spelled.find(';') != std::string_view::npos)
      length = remove_session_parameters(start, length);
    if (spelled.find("/.") != std::string_view::npos)
      length = detail::remove_dot_segments(start, length);
    out = start + remove_index(start, length);
  }
  if (out == start) *out++ = '/';
  return out;
}

}  // namespace

std::optional<Authority> split_plain_authority(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_unreserved(text[end])) ++end;
  if (end == 0) return std::nullopt;
  Authority authority{.user = {}, .host = text.substr(0, end), .port = {}};
  if (end == text.size()) return authority;
  if (text[end] != ':') return std::nullopt;
  authority.port = text.substr(end + 1);
  if (!std::all_of(authority.port.begin(), authority.port.end(), is_digit)) return std::nullopt;
  return authority;
}

std::optional<Authority> split_authority(std::string_view text) {
  const std::string url = "x://" + std::string(text);
  UriUriA uri;
  const int parsed = uriParseSingleUriExA(&uri, url.data(), url.data() + url.size(), nullptr);
  if (parsed == URI_ERROR_MALLOC) throw std::bad_alloc();
  if (parsed != URI_SUCCESS) return std::nullopt;
  const auto part = [&](const UriTextRangeA& range) -> std::string_view {
    if (range.first == nullptr || range.first == range.afterLast) return {};
    return text.substr(static_cast<std::size_t>(range.first - url.data()) - 4,
                       static_cast<std::size_t>(range.afterLast - range.first));
  };
  Authority authority{part(uri.userInfo), part(uri.hostText), part(uri.portText),
                      uri.hostData.ip6 != nullptr || uri.hostData.ipFuture.first != nullptr};
  uriFreeUriMembersA(&uri);
  if (authority.host.empty()) return std::nullopt;
  return authority;
}

std::size_t remove_dot_segments(char* path, std::size_t length) {
  std::size_t kept = 0;
  for (std::size_t at = 0; at < length;) {
    // path[at] is the slash before a segment.
    const char* const next =
        static_cast<const char*>(std::memchr(path + at + 1, '/', length - at - 1));
    const std::size_t end = next == nullptr ? length : static_cast<std::size_t>(next - path);
    const std::string_view segment(path + at + 1, end - at - 1);
    const bool last = end == length;
    if (segment == "." || segment == "..") {
      if (segment.size() == 2)
        while (kept > 0 && path[--kept] != '/') {
        }
      if (last) path[kept++] = '/';
    } else {
      std::memmove(path + kept, path + at, end - at);
      kept += end - at;
    }
    at = end;
  }
  return kept;
}

std::optional<std::string_view> normalize_url(std::string_view text, UrlLaw law,
                                              UrlScratch& scratch, KeyRoom& room) {
  if (text.size() > longest_url) return std::nullopt;
  const auto split = split_url(text);
  if (!split) return std::nullopt;
  std::string escaped;
  const auto authority = authority_of(split->authority, escaped);
  if (!authority) return std::nullopt;
  // Three bytes for each, a = for each argument, a / for an empty path.
  const std::size_t most = 4 * text.size() + 8;
  char* const start = room.reserve(2 * most);
  char* out = start;
  for (const char c : split->scheme) *out++ = lower(c);
  if (law == UrlLaw::crawl_1 && std::string_view(start, out) == "https") --out;
  const std::string_view scheme(start, static_cast<std::size_t>(out - start));
  out = write("://", out);
  out = write_authority(*authority, scheme, law, out);
  if (out == nullptr) return std::nullopt;
  out = write_path(split->path, law, out);
  if (!split->query.empty()) out = write_query(split->query, law, scratch, start + most, out);
  return room.keep(start, static_cast<std::size_t>(out - start));
}

}  // namespace bloomery::inline v0::detail
