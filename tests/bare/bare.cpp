// A program without exceptions and threads, as embedded systems and WebAssembly have it: it plans,
// makes sets of every kind, adds and asks, saves, and reads the image. Prints what is wrong.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <bloomery/bloomery.hpp>

namespace {

using bloomery::AnySet;
using bloomery::BlockedBloom;
using bloomery::Code;
using bloomery::Set;
using bloomery::Want;

static_assert(!std::is_constructible_v<Set<BlockedBloom>, Want>, "it would have to throw");

int wrong = 0;

void expect(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  ++wrong;
}

void use_a_set(const std::filesystem::path& path) {
  auto set = Set<BlockedBloom>::make({.keys = 1000, .rate = 0.001});
  auto other = Set<BlockedBloom>::make({.keys = 1000, .rate = 0.001});
  auto larger = Set<BlockedBloom>::make({.keys = 100'000, .rate = 0.001});
  if (!set || !other || !larger) return expect(false, "make");
  expect(set->add("a") && !set->add("a") && set->may_contain("a"), "add");
  expect(other->add("b"), "add to the other");
  expect(set->try_unite(*other).has_value() && set->may_contain("b"), "try_unite");
  const auto refused = set->try_unite(*larger);
  expect(!refused && refused.error().code == Code::mismatch, "a merge that is refused");
  expect(set->try_save(path).has_value(), "try_save");
  const auto again = Set<BlockedBloom>::open(path);
  expect(again && again->may_contain("a") && again->may_contain("b"), "open");
  const auto impossible = Set<BlockedBloom>::make({.keys = 0, .rate = 0.001});
  expect(!impossible && impossible.error().code == Code::impossible, "an impossible want");
}

// A set that can become full, and keys that do not fit it: Errors, although add_all would end the
// program.
void fill_a_set() {
  auto set = Set<bloomery::Cuckoo>::make({.keys = 1000, .rate = 0.01});
  if (!set) return expect(false, "make a cuckoo set");
  std::vector<std::uint64_t> keys(10'000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  const auto full = set->try_add_all(keys);
  expect(!full && full.error().code == Code::full && set->may_contain(keys[0]), "try_add_all");
  const auto other_form = set->try_add_all(std::vector<std::string>{"a"});
  expect(!other_form && other_form.error().code == Code::mismatch, "keys of another form");
  bool answer = false;
  const auto room = set->try_may_contain_all(keys, {&answer, 1});
  expect(!room && room.error().code == Code::bad_input, "too little room for answers");
  auto map = Set<bloomery::Bitmap>::make({.range = {0, 9}});
  if (!map) return expect(false, "make a map");
  const auto outside = map->try_add_all(keys);
  expect(!outside && outside.error().code == Code::out_of_range, "integers outside the range");
  expect(set->try_clear().has_value() && !set->may_contain(keys[0]), "try_clear");
}

void use_every_kind() {
  std::vector<std::string> texts;
  for (int i = 0; i < 500; ++i) texts.push_back("key " + std::to_string(i));
  const std::vector<std::string_view> keys(texts.begin(), texts.end());
  bool answers[500];
  for (const auto& row : AnySet::register_rows()) {
    const std::string name(row.id.name);
    if (row.two_lists || row.input == bloomery::InputForm::ordinal) continue;
    auto set = AnySet::build(row.id.name, {.keys = 500, .rate = row.whole_hashes ? 0 : 0.01}, keys);
    if (!set) {
      expect(false, (name + ": " + set.error().sentence).c_str());
      continue;
    }
    bool all = set->may_contain_all(keys, answers).has_value();
    for (const bool answer : answers) all = all && answer;
    expect(all, name.c_str());
  }
}

// The plan needs more bytes than 32 bits can address; so does a map of all 64-bit integers.
void plan_too_much() {
  const auto huge = Set<BlockedBloom>::make({.keys = std::uint64_t{1} << 62, .rate = 0.5});
  expect(!huge, "a set that no machine can hold");
  const auto map = Set<bloomery::Bitmap>::make({.range = {0, ~std::uint64_t{0} - 1}});
  expect(!map, "a map that no machine can hold");
}

void read_the_image(const std::filesystem::path& path) {
  auto image = bloomery::open_image(path);
  if (!image) return expect(false, image.error().sentence.c_str());
  const auto set = AnySet::from_parts(std::move(image->parts), image->hasher, image->rules);
  const std::vector<std::string_view> keys = {"a"};
  bool answer = false;
  expect(set && set->may_contain_all(keys, {&answer, 1}).has_value() && answer, "the image");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path path = argv[1];
  std::filesystem::remove(path);
  use_a_set(path);
  fill_a_set();
  use_every_kind();
  plan_too_much();
  read_the_image(path);
  return wrong == 0 ? 0 : 1;
}
