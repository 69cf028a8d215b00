// A program that knows bloomery::text by its headers: takes keys out of JSON lines, normalised.
#include <bloomery/engines/line_keys.hpp>
#include <iostream>

int main() {
  const auto cutter =
      bloomery::FieldCutter::make({.part = bloomery::KeyPart::json, .json_path = ".url"});
  const auto normalizer = bloomery::Normalizer::find("url");
  bloomery::LineKeys keys(cutter.value(), false, &normalizer.value());
  const std::string_view lines[] = {R"({"url":"HTTP://[::A]:80/%7e"})", "no JSON"};
  const bloomery::Lines made = keys.keys_of(lines);
  if (made[0] != "http://[::a]/~" || made[1].data() != nullptr) {
    std::cerr << "a key is not what it should be\n";
    return 1;
  }
  std::cout << "taken out and normalised\n";
}
