// The scaling Bloom filter of RedisBloom, bit for bit: a chain of links, each larger and stricter.
//
//    key -> a = murmur(key, m), b = murmur(key, a);  bit i of a link = (a + i * b) mod bits
//
//    link 0            link 1                  link 2
//    capacity          capacity * growth       ...            entries
//    rate / 2          rate / 4                rate / 8       error
//
// A link of rate e takes -ln(e) / ln(2)^2 bits a key, rounded up to whole 64-bit words. Saved forms
// (docs/redis.md): a header and chunks (SCANDUMP, LOADCHUNK), and the fields of an RDB file.
// Whatever comes from outside is checked before anything is made of it; a header promises bytes
// that are not there yet, so it is held to a cap. A link takes its memory when the first key or the
// first chunk comes for it.
// Limits:  the rate of RedisBloom, not better: in links of few bits the positions of a key fall
//          together, and more strangers pass than asked. People who choose keys can forge them.
//          Filters of the 1.x versions with 32-bit hashes are refused.
// Threads: any number may ask; one may add.
// See:     tests/served/compat_bloom_test.cpp for the golden bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/error.hpp>
#include <bloomery/served/host_bytes.hpp>
#include <bloomery/served/mover.hpp>

namespace bloomery::inline v0::detail::served {

class CompatBloom : public InHostMemory {
 public:
  struct Want {
    double rate = 0.01;  // in (0, 1); above most_rate it is most_rate
    std::uint64_t capacity = 100;
    std::uint32_t growth = 2;
    bool scaling = true;
    std::uint64_t cap_bytes = UINT64_MAX;
  };
  static constexpr double most_rate = 0.25;

  // One link; public because RDB files hold it field by field.
  struct Link {
    HostBytes bits;
    std::uint64_t keys = 0;
    std::uint64_t entries = 0;
    double error = 0;
    double bits_per_entry = 0;
    std::uint32_t probes = 0;
  };
  struct Fields {
    std::uint64_t keys = 0;
    std::uint32_t options = 0;
    std::uint32_t growth = 0;
    std::vector<Link> links;
  };

  static Result<std::unique_ptr<CompatBloom>> make(const Want& want);
  // From what an RDB file holds; the bits are there already.
  static Result<std::unique_ptr<CompatBloom>> from(Fields fields);
  // From a header; the bits are zero until load_chunk brings them.
  static Result<std::unique_ptr<CompatBloom>> from_header(std::string_view header,
                                                          std::uint64_t cap_bytes);
  Result<std::unique_ptr<CompatBloom>> clone() const;
  // For active defragmentation: moves parts from a number on; the next number, or 0 at the end.
  std::uint64_t move_parts(const Mover& mover, std::uint64_t from);

  enum class Added { fresh, seen, full, refused, no_memory };
  Added add(std::string_view key, std::uint64_t cap_bytes = UINT64_MAX);
  bool may_contain(std::string_view key) const;

  const std::vector<Link>& links() const { return links_; }
  std::uint64_t keys() const { return keys_; }
  std::uint32_t options() const { return options_; }
  std::uint32_t growth() const { return growth_; }
  bool scaling() const { return (options_ & option_no_scaling) == 0; }
  std::uint64_t capacity() const;
  std::uint64_t payload_bytes() const;
  // As BF.INFO reports it: what RedisBloom's structures would take.
  std::uint64_t reported_bytes() const { return 32 + 64 * links_.size() + payload_bytes(); }
  std::uint64_t memory_bytes() const;
  // The chance that a stranger passes now, from the bits that are set; too low for small links.
  double rate_now() const;

  std::string header() const;
  // At position 0 the header is meant, from 1 on the bits; `next` 0 says that this was the end.
  struct Chunk {
    std::uint64_t next = 0;
    std::string_view bytes;
  };
  static constexpr std::uint64_t most_chunk_bytes = HostBytes::most_piece_bytes;
  Chunk chunk(std::uint64_t position) const;
  enum class Loaded { done, no_link, too_big, no_memory };
  Loaded load_chunk(std::uint64_t next, std::string_view bytes);

  // One line for the chain, one for each link, as BF.DEBUG prints them.
  std::vector<std::string> debug_lines() const;

  static constexpr std::uint32_t option_no_rounding = 1;
  static constexpr std::uint32_t option_wide_hash = 4;
  static constexpr std::uint32_t option_no_scaling = 8;

 private:
  CompatBloom() = default;
  static Result<Link> make_link(std::uint64_t entries, double error, std::uint64_t most_bytes);
  static Result<void> check(const Fields& fields);

  std::vector<Link> links_;
  std::uint64_t keys_ = 0;
  std::uint32_t options_ = option_no_rounding | option_wide_hash;
  std::uint32_t growth_ = 2;
};

}  // namespace bloomery::inline v0::detail::served
