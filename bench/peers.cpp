#include <bench/peers.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#ifdef BLOOMERY_BENCH_LIBBLOOM
#include <bloom.h>
#endif
#ifdef BLOOMERY_BENCH_LEVELDB
#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>
#endif
#ifdef BLOOMERY_BENCH_ABSL
#include <absl/container/flat_hash_set.h>
#endif
#ifdef BLOOMERY_BENCH_BOOST
#include <boost/unordered/unordered_flat_set.hpp>
#endif

#include <bloomery/detail/sets/kinds/blocked_bloom.hpp>

#include <bench/beside.hpp>
#include <bench/counted.hpp>
#include <bench/measure.hpp>

namespace bloomery::bench {
namespace {

// Unused where no peer that takes bytes is installed.
[[maybe_unused]] const char* bytes_of(const Integer& key) {
  return reinterpret_cast<const char*>(&key);
}
[[maybe_unused]] const char* bytes_of(const Text& key) { return key.data(); }
[[maybe_unused]] std::size_t length_of(const Integer&) { return sizeof(Integer); }
[[maybe_unused]] std::size_t length_of(const Text& key) { return key.size(); }

#ifdef BLOOMERY_BENCH_LIBBLOOM
class LibBloom {
 public:
  static constexpr const char* name = "libbloom";
  static std::uint64_t planned_bytes(const Want& want, std::size_t) { return want.keys * 2; }
  // Its counts, of bits too, are ints.
  static std::string refusal(const Want& want) {
    const double bits = plan::classic_bits(static_cast<double>(want.keys), want.rate);
    return bits < std::numeric_limits<int>::max() ? "" : "counts its bits in 31 bits";
  }

  static Result<LibBloom> make(const Want& want) {
    LibBloom made;
    if (bloom_init(&made.bloom_, static_cast<int>(want.keys), want.rate) != 0)
      return Error{Code::impossible, "libbloom refuses these numbers"};
    bloom_reset(&made.bloom_);  // touches its pages
    return made;
  }
  LibBloom(LibBloom&& other) noexcept : bloom_(std::exchange(other.bloom_, {})) {}
  ~LibBloom() {
    if (bloom_.bf != nullptr) bloom_free(&bloom_);
  }

  template <class Key>
  bool add(const Key& key) {
    return bloom_add(&bloom_, bytes_of(key), static_cast<int>(length_of(key))) == 0;
  }
  template <class Key>
  bool may_contain(const Key& key) const {
    return bloom_check(&bloom_, bytes_of(key), static_cast<int>(length_of(key))) == 1;
  }
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(bloom_.bytes); }

 private:
  LibBloom() = default;
  mutable bloom bloom_{};
};
#endif

#ifdef BLOOMERY_BENCH_LEVELDB
class LevelDb {
 public:
  static constexpr const char* name = "LevelDB policy";
  // The filter, and a slice for each key while it is made.
  static std::uint64_t planned_bytes(const Want& want, std::size_t) { return want.keys * 10; }
  static std::string refusal(const Want& want) {
    return want.keys < std::numeric_limits<int>::max() ? "" : "counts its keys in 31 bits";
  }

  static Result<LevelDb> make(const Want& want) {
    const double bits = plan::classic_bits(1, want.rate);
    LevelDb made;
    made.policy_.reset(leveldb::NewBloomFilterPolicy(static_cast<int>(std::ceil(bits))));
    return made;
  }

  template <class Key>
  std::size_t add_all(std::span<const Key> keys) {
    std::vector<leveldb::Slice> slices;
    slices.reserve(keys.size());
    for (const Key& key : keys) slices.emplace_back(bytes_of(key), length_of(key));
    policy_->CreateFilter(slices.data(), static_cast<int>(slices.size()), &filter_);
    return keys.size();
  }
  template <class Key>
  bool may_contain(const Key& key) const {
    return policy_->KeyMayMatch({bytes_of(key), length_of(key)}, filter_);
  }
  std::uint64_t bytes() const { return filter_.size(); }

 private:
  std::unique_ptr<const leveldb::FilterPolicy> policy_;
  std::string filter_;
};
#endif

// Texts that a set owns.
using OwnText = std::basic_string<char, std::char_traits<char>, Counted<char>>;
template <class Key>
using Held = std::conditional_t<std::is_same_v<Key, Text>, OwnText, Key>;

// The library's own hash, also of a view of a text, so that asking copies none.
template <template <class> class Of>
struct TextHash {
  using is_transparent = void;
  using is_avalanching = void;  // as boost says of its own hash of a text; nobody else looks
  std::size_t operator()(const Text& key) const { return Of<Text>{}(key); }
};
template <template <class> class Of, class Key>
using HashOf = std::conditional_t<std::is_same_v<Key, Text>, TextHash<Of>, Of<Key>>;

// Set<Held, Hash, Equal, Allocator> is one of the three hash sets.
template <class Inner>
class HashSetPeer {
 public:
  // About the largest of them, its heap rounded up; a text takes a block of its own.
  static std::uint64_t planned_bytes(const Want& want, std::size_t key_bytes) {
    return want.keys * (Inner::most_bytes + (key_bytes > 8 ? key_bytes + 52 : 0));
  }
  static std::string refusal(const Want&) { return ""; }

  static Result<HashSetPeer> make(const Want& want) {
    HashSetPeer made;
    made.before_ = counted_bytes;
    made.set_.reserve(want.keys);
    return made;
  }
  template <class Key>
  bool add(const Key& key) {
    return set_.emplace(key).second;
  }
  template <class Key>
  bool may_contain(const Key& key) const {
    return set_.find(key) != set_.end();
  }
  std::uint64_t bytes() const { return counted_bytes - before_; }

 private:
  typename Inner::Set set_;
  std::uint64_t before_ = 0;
};

template <class Key>
struct StdSet {
  static constexpr const char* name = "std::unordered_set";
  static constexpr std::uint64_t most_bytes = 48;
  using Set =
      std::unordered_set<Held<Key>, HashOf<std::hash, Key>, std::equal_to<>, Counted<Held<Key>>>;
};
#ifdef BLOOMERY_BENCH_ABSL
template <class Key>
struct AbslSet {
  static constexpr const char* name = "absl::flat_hash_set";
  static constexpr std::uint64_t most_bytes = 24;
  using Set =
      absl::flat_hash_set<Held<Key>, HashOf<absl::Hash, Key>, std::equal_to<>, Counted<Held<Key>>>;
};
#endif
#ifdef BLOOMERY_BENCH_BOOST
template <class Key>
struct BoostSet {
  static constexpr const char* name = "boost::unordered_flat_set";
  static constexpr std::uint64_t most_bytes = 24;
  using Set = boost::unordered_flat_set<Held<Key>, HashOf<boost::hash, Key>, std::equal_to<>,
                                        Counted<Held<Key>>>;
};
#endif

template <class Key>
class Peers {
 public:
  Peers(const KeyStore<Key>& keys, const Task& task, Findings& findings)
      : keys_(keys), task_(task), findings_(findings) {}

  template <class Peer>
  void measure(const char* name) {
    const auto leave_out = [&](std::string why) {
      findings_.left_out.push_back({name, std::move(why)});
    };
    const Want want{.keys = keys_.members().size(), .rate = task_.rate};
    if (std::string why = Peer::refusal(want); !why.empty()) return leave_out(std::move(why));
    const auto shape = BlockedBloom::plan(want);
    if (!shape) return leave_out(shape.error().sentence);
    const std::size_t key_bytes = std::is_same_v<Key, Text> ? text_bytes : sizeof(Key);
    const std::uint64_t bytes = Peer::planned_bytes(want, key_bytes) + BlockedBloom::bytes(*shape);
    if (std::string why = refusal_of_memory(keys_, task_, bytes); !why.empty())
      return leave_out(std::move(why));
    auto roofline = Roofline::make(BlockedBloom::bytes(*shape));
    if (!roofline) return leave_out(roofline.error().sentence);
    task_.begin(name);
    Beside<Peer, Hash, Key> beside(keys_, want, std::move(*roofline));
    findings_.found.push_back(beside.measure(name, task_));
  }

  void missing(const char* name, const char* package) {
    findings_.left_out.push_back({name, std::string("is not compiled in: install ") + package});
  }

 private:
  const KeyStore<Key>& keys_;
  const Task& task_;
  Findings& findings_;
};

}  // namespace

template <class Key>
void measure_peers(const KeyStore<Key>& keys, const Task& task, Findings& findings) {
  Peers<Key> peers(keys, task, findings);
#ifdef BLOOMERY_BENCH_LIBBLOOM
  peers.template measure<LibBloom>(LibBloom::name);
#else
  peers.missing("libbloom", "libbloom-dev");
#endif
#ifdef BLOOMERY_BENCH_LEVELDB
  peers.template measure<LevelDb>(LevelDb::name);
#else
  peers.missing("LevelDB policy", "libleveldb-dev");
#endif
#ifdef BLOOMERY_BENCH_BOOST
  peers.template measure<HashSetPeer<BoostSet<Key>>>(BoostSet<Key>::name);
#else
  peers.missing("boost::unordered_flat_set", "libboost1.81-dev");
#endif
#ifdef BLOOMERY_BENCH_ABSL
  peers.template measure<HashSetPeer<AbslSet<Key>>>(AbslSet<Key>::name);
#else
  peers.missing("absl::flat_hash_set", "libabsl-dev");
#endif
  peers.template measure<HashSetPeer<StdSet<Key>>>(StdSet<Key>::name);
}

template void measure_peers(const KeyStore<Integer>&, const Task&, Findings&);
template void measure_peers(const KeyStore<Text>&, const Task&, Findings&);

}  // namespace bloomery::bench
