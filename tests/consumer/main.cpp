// A program that knows bloomery only by its one header: adds, saves, opens and asks again.
#include <bloomery/bloomery.hpp>
#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) return 2;

  bloomery::Set<bloomery::BlockedBloom> seen({.keys = 1000, .rate = 0.01});
  if (!seen.add("x") || seen.add("x") || !seen.may_contain("x")) {
    std::cerr << "a fresh set does not remember what was added\n";
    return 1;
  }
  seen.save(argv[1]);

  auto opened = bloomery::Set<bloomery::BlockedBloom>::open(argv[1]).value();
  if (!opened.may_contain("x")) {
    std::cerr << "the saved set does not remember what was added\n";
    return 1;
  }
  std::cout << "remembered\n";
}
