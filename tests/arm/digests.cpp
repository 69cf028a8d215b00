// What every kind of set saves and answers, as sums: one line for each kind, sort of keys and rate.
// Prints the row of kernels in use first. The same lines must come from every row and from every
// CPU; same_digests.py compares them.
//
// Keys are added one by one and in bulk, and asked so, because both have code of their own; the
// rates ask for one line and for two, for one round of probes and for two.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/hash/xxh3.hpp>

namespace bloomery::detail {
namespace {

constexpr std::size_t singles = 150;
constexpr std::size_t removed = 500;

class Digest {
 public:
  void take(const void* bytes, std::size_t length) { sum_ = xxh3_64(bytes, length, sum_); }
  void take(std::uint64_t word) { take(&word, sizeof word); }
  void take(const std::vector<bool>& answers) {
    for (const bool answer : answers) take(std::uint64_t{answer});
  }
  void take(const Error& error) { take(error.sentence.data(), error.sentence.size()); }
  template <class T>
  void take(const Result<T>& result) {
    if (!result)
      take(result.error());
    else if constexpr (!std::is_void_v<T>)
      take(std::uint64_t{*result});
  }
  void take(const Result<std::vector<std::byte>>& bytes) {
    bytes ? take(bytes->data(), bytes->size()) : take(bytes.error());
  }
  std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

struct Sums {
  Digest saved;
  Digest answers;
};

void print(std::string_view kind, const char* keys, double rate, const Sums& sums) {
  std::printf("%.*s, %s, rate %g: saved %016llx, answers %016llx\n", static_cast<int>(kind.size()),
              kind.data(), keys, rate, static_cast<unsigned long long>(sums.saved.sum()),
              static_cast<unsigned long long>(sums.answers.sum()));
}

// -- keys ----------------------------------------------------------------------------------------

// Of any length up to 300, since long ones are hashed by other code; some come twice.
std::vector<std::string> random_texts(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> texts(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0 && random() % 16 == 0) {
      texts[i] = texts[random() % i];
      continue;
    }
    texts[i].resize(random() % 300);
    for (char& letter : texts[i]) letter = static_cast<char>('!' + random() % 90);
  }
  return texts;
}

std::vector<std::uint64_t> random_integers(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> integers(n);
  for (std::size_t i = 0; i < n; ++i)
    integers[i] = i > 0 && random() % 16 == 0 ? integers[random() % i] : random() >> random() % 50;
  return integers;
}

constexpr std::size_t key_count = 3000;
constexpr Range range{.low = 1'000'003, .high = 1'050'000};

std::vector<Ordinal> random_ordinals(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Ordinal> ordinals(n);
  for (Ordinal& one : ordinals) one = {range.low + random() % (range.high - range.low + 1)};
  return ordinals;
}

// -- kinds that are known at run time -------------------------------------------------------------

template <class Key>
void ask(const AnySet& set, const std::vector<Key>& keys, Digest& answers) {
  for (std::size_t i = 0; i < singles; ++i) answers.take(set.may_contain(keys[i]));
  const auto bools = std::make_unique<bool[]>(keys.size());
  answers.take(set.may_contain_all(keys, {bools.get(), keys.size()}));
  answers.take(bools.get(), keys.size());
}

template <class Key>
void add(AnySet& set, const std::vector<Key>& keys, Digest& answers) {
  for (std::size_t i = 0; i < singles; ++i) answers.take(set.add(keys[i]));
  const std::span<const Key> rest = std::span(keys).subspan(singles);
  const auto fresh = std::make_unique<bool[]>(rest.size());
  answers.take(set.add_all(rest, {fresh.get(), rest.size()}));
  answers.take(fresh.get(), rest.size());
}

template <class Key>
void remove_and_count(AnySet& set, const std::vector<Key>& keys, Digest& answers) {
  const std::vector<Key> some(keys.begin(), keys.begin() + removed);
  std::vector<std::uint64_t> counts(some.size());
  answers.take(set.counts(some, counts));
  for (const std::uint64_t count : counts) answers.take(count);
  answers.take(set.remove_all(some));
}

template <class Key>
void tell(const KindRow& row, const char* form, const Want& want, const std::vector<Key>& keys,
          const std::vector<Key>& others) {
  Sums sums;
  auto set = AnySet::make(row.id.name, want);
  if (!set) {
    sums.answers.take(set.error());
    return print(row.id.name, form, want.rate, sums);
  }
  add(*set, keys, sums.answers);
  ask(*set, keys, sums.answers);
  ask(*set, others, sums.answers);
  sums.saved.take(set->to_bytes());
  remove_and_count(*set, keys, sums.answers);
  ask(*set, keys, sums.answers);
  sums.saved.take(set->to_bytes());
  print(row.id.name, form, want.rate, sums);
}

template <class Key>
void tell_built(const KindRow& row, const char* form, const Want& want,
                const std::vector<Key>& keys, const std::vector<Key>& others) {
  Sums sums;
  const auto set = AnySet::build(row.id.name, want, std::span<const Key>(keys));
  if (set) {
    ask(*set, keys, sums.answers);
    ask(*set, others, sums.answers);
    sums.saved.take(set->to_bytes());
  } else {
    sums.answers.take(set.error());
  }
  print(row.id.name, form, want.rate, sums);
}

// -- kinds that are known to the compiler: integers hashed where they are used --------------------

template <class K>
void tell_compiled(double rate, const std::vector<std::uint64_t>& keys,
                   const std::vector<std::uint64_t>& others) {
  Sums sums;
  Set<K> set({.keys = key_count, .rate = rate}, Hasher(7));
  for (std::size_t i = 0; i < singles; ++i) sums.answers.take(std::uint64_t{set.add(keys[i])});
  std::vector<bool> fresh;
  set.add_all(std::span(keys).subspan(singles), fresh);
  sums.answers.take(fresh);
  for (const std::uint64_t key : others) sums.answers.take(std::uint64_t{set.may_contain(key)});
  sums.answers.take(set.may_contain_all(keys));
  sums.answers.take(set.may_contain_all(others));
  sums.saved.take(set.try_to_bytes());
  print(K::id.name, "compiled", rate, sums);
}

void tell_cascade(double rate, const std::vector<std::uint64_t>& keys,
                  const std::vector<std::uint64_t>& others) {
  Sums sums;
  const auto set = Set<Cascade>::build({.rate = rate}, keys, others);
  if (set) {
    sums.answers.take(set->may_contain_all(keys));
    sums.answers.take(set->may_contain_all(others));
    sums.saved.take(set->try_to_bytes());
  } else {
    sums.answers.take(set.error());
  }
  print(Cascade::id.name, "integers", rate, sums);
}

// -- all of them ----------------------------------------------------------------------------------

struct Keys {
  std::vector<std::string> texts[2] = {random_texts(key_count, 1), random_texts(key_count, 2)};
  std::vector<std::uint64_t> integers[2] = {random_integers(key_count, 3),
                                            random_integers(key_count, 4)};
  std::vector<Ordinal> ordinals[2] = {random_ordinals(key_count, 5), random_ordinals(key_count, 6)};
  std::vector<Hash> hashes[2] = {hashed(integers[0]), hashed(integers[1])};
  std::vector<std::string_view> views[2] = {{texts[0].begin(), texts[0].end()},
                                            {texts[1].begin(), texts[1].end()}};

  static std::vector<Hash> hashed(const std::vector<std::uint64_t>& integers) {
    std::vector<Hash> hashes;
    for (const std::uint64_t integer : integers) hashes.push_back(Hasher()(integer));
    return hashes;
  }
};

void tell_all(const Keys& keys) {
  for (const KindRow& row : AnySet::register_rows()) {
    if (row.input == InputForm::ordinal)
      tell(row, "ordinals", {.range = range}, keys.ordinals[0], keys.ordinals[1]);
    else
      for (const double rate : {0.4, 0.05, 0.01, 1e-3, 1e-5, 1e-9}) {
        const Want want{
            .keys = key_count, .rate = row.whole_hashes ? 0 : rate, .removal = rate > 1e-4};
        if (row.two_lists) {
          tell_cascade(rate, keys.integers[0], keys.integers[1]);
        } else if (row.built) {
          tell_built(row, "texts", want, keys.views[0], keys.views[1]);
          tell_built(row, "hashes", want, keys.hashes[0], keys.hashes[1]);
        } else {
          tell(row, "texts", want, keys.views[0], keys.views[1]);
          tell(row, "integers", want, keys.integers[0], keys.integers[1]);
        }
        if (row.whole_hashes) break;
      }
  }
  for (const double rate : {0.4, 0.05, 0.01, 1e-3, 1e-5, 1e-9}) {
    tell_compiled<BlockedBloom>(rate, keys.integers[0], keys.integers[1]);
    if (rate >= 1e-3) tell_compiled<SplitBlock>(rate, keys.integers[0], keys.integers[1]);
    tell_compiled<Sharded>(rate, keys.integers[0], keys.integers[1]);
    tell_compiled<BloomChain>(rate, keys.integers[0], keys.integers[1]);
  }
}

}  // namespace
}  // namespace bloomery::detail

int main() {
  using namespace bloomery::detail;
  if (const char* refused = kernels_refused()) {
    std::fprintf(stderr, "%s\n", refused);
    return 2;
  }
  std::printf("row %s\n", kernels().name);
  tell_all(Keys{});
}
