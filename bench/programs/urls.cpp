// Prints lines that look like the URLs of a crawl, for benchmarks of the command:
//
//    bench_urls LINES REPEATS [SEED]      bench_urls 50000000 0.3 > urls.txt
//
// Each line is, with the chance REPEATS, one of those printed before, each as likely as any other,
// and else a new one; the lines depend on the numbers given alone. About 60 bytes a line.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

namespace {

// SplitMix64: a number from a number; the law of the lines, so it may not change.
std::uint64_t mixed(std::uint64_t n) {
  n += 0x9e3779b97f4a7c15;
  n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9;
  n = (n ^ (n >> 27)) * 0x94d049bb133111eb;
  return n ^ (n >> 31);
}

// The URL with this number; different numbers give different URLs.
void append_url(fmt::memory_buffer& out, std::uint64_t number) {
  constexpr const char* words[] = {"news",  "shop",  "blog", "wiki",
                                   "forum", "photo", "docs", "item"};
  const std::uint64_t r = mixed(number);
  fmt::format_to(fmt::appender(out), "https://www.{}{}.example/{}/{:x}/page-{}.html?ref={}\n",
                 words[r & 7], (r >> 3) % 20000, words[(r >> 20) & 7], (r >> 24) & 0xffff, number,
                 (r >> 50) % 1000);
}

}  // namespace

int main(int count, char** words) {
  if (count < 3 || count > 4) {
    std::fputs("usage: bench_urls LINES REPEATS [SEED]\n", stderr);
    return 2;
  }
  const std::uint64_t lines = std::strtoull(words[1], nullptr, 10);
  const double repeats = std::strtod(words[2], nullptr);
  const std::uint64_t seed = count == 4 ? std::strtoull(words[3], nullptr, 10) : 1;
  fmt::memory_buffer out;
  std::uint64_t distinct = 0;
  for (std::uint64_t i = 0; i < lines; ++i) {
    const std::uint64_t r = mixed(seed ^ mixed(i));
    const bool repeat = distinct != 0 && static_cast<double>(r >> 11) * 0x1p-53 < repeats;
    append_url(out, repeat ? mixed(r) % distinct : distinct++);
    if (out.size() < 1 << 20 && i + 1 < lines) continue;
    if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size()) return 1;
    out.clear();
  }
  return std::fclose(stdout) == 0 ? 0 : 1;
}
