// Many small blocked filters side by side: the high bits of a hash choose one, the shard, and all
// of a key's bits lie in it. One owner a shard: for threads, for stores that want small values, for
// sets larger than memory.
//
//    hash --mulhi(hash, shards)--> shard   --rest of the product--> line in it, bits as in blocked
//
//    one line a key    shard i is lines i * blocks to (i + 1) * blocks of a blocked filter of
//                      shards * blocks lines: the same bits, cut into equal pieces
//    two lines a key   both lie in the shard of the first
//
// Shards have at most 64 KiB (128 KiB where a key has two lines) up to 2^24 of them, unless their
// number is given.
// Limits:  as blocked; two lines a key need 1,024 lines a shard, or the rate would suffer.
// Threads: any number may add at once if no two add to the same shard (shard.hpp); otherwise
//          as blocked.
// See:     docs/kinds.md "sharded"; sharded_test.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tuple>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/hash/budget.hpp>
#include <bloomery/detail/sets/bulk/batch.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/kinds/blocked_bloom.hpp>
#include <bloomery/detail/sets/parts.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

class Sharded {
 public:
  // Not a kind of its own in files: its form says that the part is many blocked sets side by side.
  static constexpr KindId id{1003, "sharded"};
  static constexpr Form form = Form::sharded;
  using Input = Hash;
  using Slot = BlockedBloom::Slot;
  struct Shape {
    std::uint64_t blocks = 0;  // in each shard
    std::uint32_t probes = 0;  // in each line
    std::uint32_t lines = 0;   // 1 or 2 lines a key
    std::uint32_t shards = 0;
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  static constexpr std::tuple fields{Field{"blocks", &Shape::blocks},
                                     Field{"probes", &Shape::probes}, Field{"lines", &Shape::lines},
                                     Field{"shards", &Shape::shards}};

  static Result<Shape> plan(const Want& want) {
    const auto whole = BlockedBloom::plan(want);
    if (!whole) return whole.error();
    const std::uint64_t most_lines = whole->lines == 1 ? 1'024 : 2'048;
    const std::uint64_t shards =
        want.shards != 0 ? want.shards
                         : std::min(most_shards, (whole->blocks + most_lines - 1) / most_lines);
    if (shards > most_shards)
      return Error{Code::impossible, std::to_string(shards) +
                                         " shards are more than the 2^24 that a set can have; ask "
                                         "for fewer"};
    const Shape shape{(whole->blocks + shards - 1) / shards, whole->probes, whole->lines,
                      static_cast<std::uint32_t>(shards)};
    if (shape.lines == 2 && shards > 1 && shape.blocks < least_lines_of_two)
      return Error{
          Code::impossible,
          "below a rate of 1e-4 a shard needs 64 KiB to hold the rate; ask for at most " +
              std::to_string(std::max<std::uint64_t>(1, whole->blocks / least_lines_of_two)) +
              " shards for so many keys"};
    return shape;
  }

  static Result<void> check(const Shape& shape, std::uint64_t payload_bytes) {
    if (shape.shards == 0 || shape.shards > most_shards || payload_bytes % shape.shards != 0)
      return Error{Code::damaged, "a sharded set of " + std::to_string(shape.shards) +
                                      " shards and " + std::to_string(payload_bytes) +
                                      " bytes is not possible"};
    return BlockedBloom::check(shard_shape(shape), payload_bytes / shape.shards);
  }

  static std::uint64_t bytes(const Shape& shape) { return BlockedBloom::bytes(whole_shape(shape)); }
  static double expected_rate(const Shape& shape, std::uint64_t keys) {
    if (shape.lines == 1 || shape.shards == 1)
      return BlockedBloom::expected_rate(whole_shape(shape), keys);
    // Shards have more and fewer keys, and both lines of a key see the same load: the mean over a
    // normal spread, by three points.
    const double mean = static_cast<double>(keys) / shape.shards;
    const double spread = std::sqrt(3 * mean);
    const auto rate = [&](double load) {
      return BlockedBloom::expected_rate(shard_shape(shape),
                                         static_cast<std::uint64_t>(std::max(0.0, load)));
    };
    return (rate(mean - spread) + 4 * rate(mean) + rate(mean + spread)) / 6;
  }

  // As saved: one part that is so many blocked sets.
  static void to_part(const Shape& shape, Part& part) {
    part.kind = BlockedBloom::id.number;
    part.count = shape.shards;
    part.shape = encode_shape<BlockedBloom>(shard_shape(shape));
  }
  static Result<Shape> from_part(const Part& part) {
    if (part.kind != BlockedBloom::id.number)
      return Error{Code::mismatch, "the image does not hold a sharded set"};
    const auto shard = decode_shape<BlockedBloom>(part.shape);
    if (!shard) return shard.error();
    return Shape{shard->blocks, shard->probes, shard->lines, part.count};
  }

  Sharded(const Shape& shape, std::span<std::byte> lent)
      : shape_(shape), whole_(whole_shape(shape), lent) {}

  Shape shape() const { return shape_; }
  std::uint64_t shards() const { return shape_.shards; }
  std::uint64_t shard_of(Hash hash) const { return mulhi(hash.bits, shape_.shards); }

  Slot locate(Hash hash) const {
    const std::uint64_t first = mulhi(hash.bits, whole_.lines());
    std::uint64_t second = first;
    if (shape_.lines == 2) [[unlikely]]
      second = shard_of(hash) * shape_.blocks + mulhi(remix(hash, 2), shape_.blocks);
    return {first, second, hash};
  }
  [[gnu::always_inline]] void prefetch(const Slot& slot) const { whole_.prefetch(slot); }

  template <class Visit>
  void each_byte(const Slot& slot, Visit&& visit) const {
    whole_.each_byte(slot, visit);
  }

  Added add(const Slot& slot) {
    if (shape_.lines == 2) [[unlikely]]
      return whole_.add_at(slot);
    return whole_.add(slot);
  }
  Added add_shared(const Slot& slot) { return whole_.add_shared(slot); }
  // A single key, as in BlockedBloom. With one line a key, its line is the same as in the whole
  // set.
  bool is_simple() const { return whole_.is_simple(); }
  template <class Cpu = ThisCpu>
  Added add_simple(Hash hash) {
    return whole_.add_simple<Cpu>(hash);
  }
  template <class Cpu = ThisCpu>
  bool has_simple(Hash hash) const {
    return whole_.has_simple<Cpu>(hash);
  }
  template <class Cpu = ThisCpu>
  Added add_lone(Hash hash) {
    return shape_.lines == 2 ? whole_.add_at<Cpu>(locate(hash)) : whole_.add_lone<Cpu>(hash);
  }
  template <class Cpu = ThisCpu>
  bool has_lone(Hash hash) const {
    return shape_.lines == 2 ? whole_.has_at<Cpu>(locate(hash)) : whole_.has_lone<Cpu>(hash);
  }
  bool may_contain(const Slot& slot) const {
    if (shape_.lines == 2) [[unlikely]]
      return whole_.has_at(slot);
    return whole_.may_contain(slot);
  }
  bool may_contain_shared(const Slot& slot) const { return whole_.may_contain_shared(slot); }

  // With one line a key the kernels treat it as a blocked filter; with two, keys are prefetched and
  // used one by one.
  std::uint64_t add_step(const Hash* hashes, std::size_t n, std::size_t ahead) {
    if (shape_.lines == 1) [[likely]]
      return whole_.add_step(hashes, n, ahead);
    return step_one_by_one(*this, hashes, n, ahead,
                           [&](Hash hash) { return add(locate(hash)) == Added::fresh; });
  }
  std::uint64_t ask_step(const Hash* hashes, std::size_t n, std::size_t ahead) const {
    if (shape_.lines == 1) [[likely]]
      return whole_.ask_step(hashes, n, ahead);
    return step_one_by_one(*this, hashes, n, ahead,
                           [&](Hash hash) { return may_contain(locate(hash)); });
  }
  bool fuses() const { return shape_.lines == 1 && whole_.fuses(); }
  void call(CalledKeys& called, const NextKeys& first) const { whole_.call(called, first); }
  std::uint64_t add_fused(CalledKeys& called, const NextKeys& next) {
    return whole_.add_fused(called, next);
  }
  std::uint64_t ask_fused(CalledKeys& called, const NextKeys& next) const {
    return whole_.ask_fused(called, next);
  }

  std::uint64_t lines() const { return whole_.lines(); }
  void find_lines(const Hash* hashes, std::size_t n, std::uint64_t* lines) const {
    whole_.find_lines(hashes, n, lines);
  }
  bool has_one_line() const { return shape_.lines == 1; }

  // Exact: the bytes are those of a set that was given both lists.
  void unite(const Sharded& other) { whole_.unite(other.whole_); }
  // Holds the keys of both, and has more false positives than a set built from those keys.
  void intersect(const Sharded& other) { whole_.intersect(other.whole_); }
  // The set of everything.
  void fill() { whole_.fill(); }

  double estimate() const { return whole_.estimate(); }
  // The mean over the shards, since both lines of a key lie in one.
  double rate_now() const {
    if (shape_.lines == 1 || shape_.shards == 1) return whole_.rate_now();
    double sum = 0;
    for (std::uint64_t shard = 0; shard < shape_.shards; ++shard)
      sum += BlockedBloom(shard_shape(shape_), shard_bytes(shard)).rate_now();
    return sum / shape_.shards;
  }
  double fill_ratio() const { return whole_.fill_ratio(); }

 private:
  static constexpr std::uint64_t most_shards = std::uint64_t{1} << 24;
  static constexpr std::uint64_t least_lines_of_two = 1'024;

  static BlockedBloom::Shape shard_shape(const Shape& shape) {
    return {shape.blocks, shape.probes, shape.lines};
  }
  static BlockedBloom::Shape whole_shape(const Shape& shape) {
    return {shape.blocks * shape.shards, shape.probes, shape.lines};
  }
  std::span<std::byte> shard_bytes(std::uint64_t shard) const {
    const std::uint64_t stride = shape_.blocks * line_bytes;
    return whole_.bytes_lent().subspan(shard * stride, stride);
  }

  Shape shape_;
  BlockedBloom whole_;
};

}  // namespace bloomery::inline v0::detail
