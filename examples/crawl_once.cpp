// A crawler's memory: prints each URL of the standard input that no earlier run has printed.
//
//    crawl_once seen.blm < urls.txt
//
// If the set is wrong: a new URL is taken for an old one, at most one in ten thousand, and not
// crawled. None is crawled twice.
#include <filesystem>
#include <iostream>
#include <string>

#include <bloomery/bloomery.hpp>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: crawl_once SET_FILE < URLS\n";
    return 2;
  }
  using Seen = bloomery::Set<bloomery::BloomChain>;
  auto seen = std::filesystem::exists(argv[1]) ? Seen::open(argv[1])
                                               : Seen::make({.keys = 1'000'000, .rate = 0.0001});
  if (!seen) {
    std::cerr << "crawl_once: " << seen.error().sentence << '\n';
    return 2;
  }
  for (std::string url; std::getline(std::cin, url);)
    if (seen->add(url)) std::cout << url << '\n';
  if (auto saved = seen->try_save(argv[1]); !saved) {
    std::cerr << "crawl_once: " << saved.error().sentence << '\n';
    return 2;
  }
}
