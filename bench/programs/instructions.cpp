// Does everything that bench/instructions.py counts, each in a function of its own: the script
// finds the functions by their names in what callgrind wrote.
//
//    measured<kind, operation, sort, K, Key>      4096 keys each, in a set planned for 4096
//
// Prints the number and the name of every kind. Small on purpose: how many instructions an
// operation takes does not depend on where its memory is.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include <bloomery/bloomery.hpp>

#include <bench/keys.hpp>
#include <bench/roofline.hpp>
#include <bench/static_set.hpp>

namespace {

using namespace bloomery;
using namespace bloomery::bench;

constexpr std::uint64_t key_count = 4096;

enum Operation { add, add_all, ask, ask_all };
enum Sort { members, strangers };

template <unsigned kind, Operation operation, Sort sort, class K, class Key>
[[gnu::noinline]] void measured(Subject<K>& set, std::span<const Key> keys, bool* answers) {
  asm volatile("" : : "i"(sort));  // or two functions with one text become one
  std::size_t sum = 0;
  if constexpr (operation == add) {
    for (const Key& key : keys) sum += set.add(key);
  } else if constexpr (operation == add_all) {
    sum = set.add_all(keys);
  } else if constexpr (operation == ask) {
    for (const Key& key : keys) sum += set.may_contain(key);
  } else {
    set.may_contain_all(keys, std::span<bool>(answers, keys.size()));
  }
  keep(sum);
}

template <class K, class Key>
void measure_kind(const KeyStore<Key>& keys) {
  if constexpr (KeyOf<Key, K> && !TwoListed<K>) {
    constexpr unsigned number = K::id.number;
    Want want{.keys = key_count, .rate = Exact<K> ? 0 : 0.01};
    if constexpr (std::is_same_v<typename K::Input, Ordinal>) want.range = {0, keys.range() - 1};
    const auto answers = std::make_unique<bool[]>(key_count);
    auto bulk = Subject<K>::make(want).value();
    if constexpr (!Buildable<K>) {
      Set<K> one_by_one(want);
      measured<number, add, members, K>(one_by_one, keys.members(), answers.get());
    }
    measured<number, add_all, members, K>(bulk, keys.members(), answers.get());
    measured<number, ask, members, K>(bulk, keys.members(), answers.get());
    measured<number, ask_all, members, K>(bulk, keys.members(), answers.get());
    measured<number, ask, strangers, K>(bulk, keys.strangers(), answers.get());
    measured<number, ask_all, strangers, K>(bulk, keys.strangers(), answers.get());
  }
}

template <class Key>
void measure_all() {
  const auto keys = KeyStore<Key>::make(key_count, key_count).value();
  AllKinds::for_each([&]<class K>() { measure_kind<K>(keys); });
}

}  // namespace

int main() {
  if (const char* refused = kernels_refused()) {
    fmt::print(stderr, "bench_instructions: error: {}\n", refused);
    return 2;
  }
  AllKinds::for_each([]<class K>() { fmt::print("{} {}\n", K::id.number, K::id.name); });
  measure_all<Integer>();
  measure_all<Text>();
}
