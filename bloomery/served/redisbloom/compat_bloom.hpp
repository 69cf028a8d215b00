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
// Limits:  the rate of RedisBloom, not better: in links of few bits the positions of a key
//          coincide, and the false-positive rate is higher than asked. An attacker who chooses keys
//          can make false positives. Filters of the 1.x versions with 32-bit hashes are refused.
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
#include <bloomery/served/bloom_body.hpp>

namespace bloomery::inline v0::detail::served {

class CompatBloom final : public BloomBody {
 public:
  struct Want {
    double rate = 0.01;  // in (0, 1); above most_rate it is most_rate
    std::uint64_t capacity = 100;
    std::uint32_t growth = 2;
    bool scaling = true;
    std::uint64_t cap_bytes = UINT64_MAX;
  };
  static constexpr double most_rate = 0.25;

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
  // From what save() wrote, or RedisBloom, in an encoding from 2 on.
  static Result<std::unique_ptr<CompatBloom>> load(FieldReader& reader, int encoding);
  // From a header; the bits are zero until load_piece brings them.
  static Result<std::unique_ptr<CompatBloom>> from_header(std::string_view header,
                                                          std::uint64_t cap_bytes);

  AddOutcome add(std::string_view key, std::uint64_t cap_bytes = UINT64_MAX);
  bool may_contain(std::string_view key) const;
  std::size_t add_all(std::span<const std::string_view> keys, std::uint64_t cap_bytes,
                      std::span<AddOutcome> answers) override;
  void may_contain_all(std::span<const std::string_view> keys,
                       std::span<bool> answers) const override;

  const std::vector<Link>& links() const { return links_; }
  std::uint64_t keys() const { return keys_; }
  bool scaling() const { return (options_ & option_no_scaling) == 0; }
  std::uint64_t capacity() const;
  // Its bytes are what RedisBloom's structures would take.
  Info info() const override;
  std::uint64_t payload_bytes() const override;
  std::uint64_t memory_bytes() const override;
  // From the bits that are set; too low for small links.
  double rate_now() const override;
  // One line for the chain, one for each link, as BF.DEBUG prints them.
  std::vector<std::string> debug_lines() const override;

  // At position 0 the header, from 1 on the bits.
  Piece piece(std::uint64_t position) const override;
  Result<void> load_piece(std::uint64_t next, std::string_view bytes) override;
  void save(FieldWriter& writer) const override;
  std::unique_ptr<FilterBody> clone() const override;
  std::uint64_t move_parts(const Mover& mover, std::uint64_t from) override;

  static constexpr std::uint32_t option_no_rounding = 1;
  static constexpr std::uint32_t option_wide_hash = 4;
  static constexpr std::uint32_t option_no_scaling = 8;

 private:
  CompatBloom() = default;
  static Result<Link> make_link(std::uint64_t entries, double error, std::uint64_t most_bytes);
  static Result<void> check(const Fields& fields);
  static Result<std::unique_ptr<CompatBloom>> from(Fields fields);
  std::string header() const;

  std::vector<Link> links_;
  std::uint64_t keys_ = 0;
  std::uint32_t options_ = option_no_rounding | option_wide_hash;
  std::uint32_t growth_ = 2;
};

}  // namespace bloomery::inline v0::detail::served
