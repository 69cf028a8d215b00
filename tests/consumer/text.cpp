// A program that links bloomery::text: normalises URLs; reads the lines of a compressed file and
// writes them.
#include <bloomery/text/decompress.hpp>
#include <bloomery/text/line_writer.hpp>
#include <bloomery/text/lines.hpp>
#include <bloomery/text/normalize.hpp>
#include <iostream>

namespace {

bool keys_are_made() {
  const auto normalizer = bloomery::Normalizer::find("url");
  bloomery::KeyRoom room;
  bloomery::UrlScratch scratch;
  const auto made = normalizer.value()("HTTP://[::A]:80/%7e", scratch, room);
  return made.fits && made.key == "http://[::a]/~";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (!keys_are_made()) {
    std::cerr << "a key is not what it should be\n";
    return 1;
  }
  bloomery::Inputs inputs({argv[1]}, {.decode = bloomery::open_decompressor});
  const auto lines = inputs.next();
  if (!lines || lines->size() != 2) {
    std::cerr << "a compressed file does not hold its two lines\n";
    return 1;
  }
  bloomery::LineWriter out(1, "standard output");
  for (const std::string_view line : *lines) out.append(line);
  return out.close() ? 0 : 1;
}
