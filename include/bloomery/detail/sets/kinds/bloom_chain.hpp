// A chain of blocked filters that grows: for an unknown number of keys.
//
//    link 0  | capacity c   | rate 0.7 p            |
//    link 1  | capacity 2c  | rate 1/4 p 6/(pi 1)^2 |   adds go to the newest link
//    link 2  | capacity 4c  | rate 1/4 p 6/(pi 2)^2 |   asks go to all, newest first
//    ...
//
// The rates of all links, however many, sum to 0.95 p; the rest is for chance, which makes a small
// link a little better or worse than its plan. The first link has most of it, since a good guess
// of the number of keys makes it the only one; then the chain costs less than a bit a key more than
// a plain blocked filter.
// Limits:  a chain that has grown costs more: see docs/kinds.md "chain". Under a memory cap, and
//          beyond what 64-bit hashes can tell apart (by the plans 2e9 keys at 1e-6 from a first
//          link of 1M), the last link is overfilled rather than a key lost, and overfull() says
//          so. A cap is not saved.
// Threads: add_shared and may_contain_shared by any number at once, also while it grows; the rest
//          by one. Two threads that add the same key at once may both get Added::fresh.
// See:     bloom_chain_test.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <bloomery/detail/bits/lock.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/kinds/blocked_bloom.hpp>
#include <bloomery/detail/sets/owned.hpp>
#include <bloomery/detail/sets/parts.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

class BloomChain {
 public:
  // Not a kind of its own in files: its form says that the parts are links of a chain.
  static constexpr KindId id{1002, "chain"};
  static constexpr Form form = Form::chain;
  using Input = Hash;
  using Link = Owned<BlockedBloom>;
  using Shape = BlockedBloom::Shape;

  // The first link.
  static Result<Shape> plan(const Want& want);
  static std::uint64_t bytes(const Shape& shape) { return BlockedBloom::bytes(shape); }
  // What a chain of this want has become with so many keys, by the plans of its links.
  static Result<Grown> grown(const Want& want, std::uint64_t keys);

  // keys: how many are expected (0: start small). rate: kept, whatever comes, until overfull().
  // memory_bytes: the chain does not grow beyond it.
  static Result<BloomChain> make(const Want& want);
  static Result<BloomChain> from_parts(Parts parts);
  // From now on it grows no further than this; 0: no cap.
  void cap_memory(std::uint64_t bytes) {
    chain_->want.memory_bytes = bytes;
    chain_->capped = false;
  }
  Parts parts() const;

  Added add(Hash hash);
  Added add_shared(Hash hash);
  bool may_contain(Hash hash) const;
  bool may_contain_shared(Hash hash) const;
  // Full only when the system refuses the memory to grow; what was added before stays.
  Result<std::size_t> add_all(std::span<const Hash> hashes, bool* fresh);
  void may_contain_all(std::span<const Hash> hashes, bool* answers) const;

  // Unites link by link and takes over the links that the other has more; both chains must have
  // begun with the same want.
  Result<void> unite(const BloomChain& other);
  // Refused: a key may be in different links of the two, and would be lost.
  Result<void> intersect(const BloomChain& other);

  // Only the first link stays, empty.
  Result<void> clear();

  std::size_t links() const { return chain_->count.load(std::memory_order_acquire); }
  const Link& link(std::size_t i) const { return *chain_->links[i]; }
  std::uint64_t bytes() const;
  std::uint64_t capacity() const;
  double rate_asked() const { return chain_->want.rate; }
  std::uint64_t adds() const;
  double estimate() const;
  double rate_now() const;
  double expected_rate_now() const;
  double fill_ratio() const;
  bool overfull() const;

 private:
  // Doubling from a single key, forty links are more keys than any hash can tell apart.
  static constexpr std::size_t most_links = 40;

  struct Chain {
    Want want;
    // A link, once there, stays where it is; readers see it after the count that includes it.
    std::array<std::unique_ptr<Link>, most_links> links{};
    std::atomic<std::size_t> count = 0;
    std::atomic<bool> capped = false;  // may not grow further
    SharedMutex growing;
  };

  explicit BloomChain(std::unique_ptr<Chain> chain) : chain_(std::move(chain)) {}

  static Want link_want(const Want& want, std::size_t link);
  Link& newest() const { return *chain_->links[links() - 1]; }
  std::optional<Want> next_want() const;
  // Appends a link. An Error when memory is refused. When no further link is possible, that is not
  // an Error: the chain is then capped.
  Result<void> grow() const;
  // Does the newest link want a successor before it takes another key?
  bool wants_growth() const;
  Error full_error() const;

  std::unique_ptr<Chain> chain_;
};

}  // namespace bloomery::inline v0::detail
