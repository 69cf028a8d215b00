// Every verb of one key, of every kind that inlines wider instructions; see shared_names.py.
#include <string>

#include <bloomery/bloomery.hpp>

namespace {

template <class K>
unsigned use(std::uint64_t number, const std::string& text) {
  bloomery::Set<K> numbers({.keys = number, .rate = 0.01});
  bloomery::Set<K> texts({.keys = number, .rate = 1e-4});
  unsigned answers = numbers.add(number) + texts.add(text) + texts.add("literal");
  answers += numbers.may_contain(number) + texts.may_contain(text) + texts.may_contain("literal");
  answers += numbers.try_add(bloomery::Hash{number}) == bloomery::Added::fresh;
  answers += numbers.add_shared(number) + numbers.may_contain_shared(number);
  const std::uint64_t keys[] = {number, number + 1};
  answers += static_cast<unsigned>(numbers.add_all(keys) + numbers.count_may_contain(keys));
  return answers;
}

}  // namespace

// One name in each file; main() is not needed to look at objects.
unsigned use_all(std::uint64_t number, const std::string& text) {
  bloomery::Set<bloomery::Sharded> sharded({.keys = number, .rate = 0.01});
  auto shard = sharded.shard(sharded.shard_of(number));
  return use<bloomery::BlockedBloom>(number, text) + use<bloomery::SplitBlock>(number, text) +
         use<bloomery::Sharded>(number, text) + shard.add(number) + shard.may_contain(number);
}
