// A program that links bloomery::text: takes keys out of JSON lines, normalised; reads the lines
// of a compressed file; works on sparse integers.
#include <bloomery/engines/integers/sparse_integers.hpp>
#include <bloomery/engines/keys/line_keys.hpp>
#include <bloomery/text/decompress.hpp>
#include <bloomery/text/lines.hpp>
#include <iostream>

namespace {

bool keys_are_made() {
  const auto cutter =
      bloomery::FieldCutter::make({.part = bloomery::KeyPart::json, .json_paths = {".url"}});
  const auto normalizer = bloomery::Normalizer::find("url");
  bloomery::LineKeys keys(cutter.value(), false, &normalizer.value());
  const std::string_view lines[] = {R"({"url":"HTTP://[::A]:80/%7e"})", "no JSON"};
  const bloomery::Lines made = keys.keys_of(lines);
  return made[0] == "http://[::a]/~" && made[1].data() == nullptr;
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
  const auto report = bloomery::run_sparse_integers(
      {argv[1]}, {.lines = {.decode = bloomery::open_decompressor}}, out);
  return report && report->distinct == 2 ? 0 : 1;
}
