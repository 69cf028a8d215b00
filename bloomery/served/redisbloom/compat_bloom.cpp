#include <bloomery/served/redisbloom/compat_bloom.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include <bloomery/served/redisbloom/murmur.hpp>
#include <bloomery/served/redisbloom/packed_fields.hpp>

namespace bloomery::inline v0::detail::served {
namespace {

// The digits are those of RedisBloom; more exact constants would sometimes give other sizes.
constexpr double ln2 = 0.693147180559945;
constexpr double ln2_squared = 0.480453013918201;
constexpr double tightening = 0.5;

constexpr std::size_t chain_header_bytes = 20;
constexpr std::size_t link_header_bytes = 53;
// The rate is halved with each link, so a chain ends at the smallest double: some 1080 links.
constexpr std::size_t most_links = 2048;

double bits_per_entry_for(double error) { return std::fabs(std::log(error) / ln2_squared); }

std::uint32_t probes_for(double bits_per_entry) {
  return static_cast<std::uint32_t>(std::ceil(ln2 * bits_per_entry));
}

struct KeyHash {
  std::uint64_t a, b;
};

KeyHash hash_of(std::string_view key) {
  const std::uint64_t a = murmur_64a(key, murmur_multiplier);
  return {a, murmur_64a(key, a)};
}

bool link_contains(const CompatBloom::Link& link, KeyHash hash) {
  if (!link.bits.is_taken()) return false;
  const std::uint64_t bits = std::uint64_t{link.bits.size()} * 8;
  std::uint64_t at = hash.a;
  for (std::uint32_t probe = 0; probe < link.probes; ++probe, at += hash.b) {
    const std::uint64_t bit = at % bits;
    if ((link.bits.data()[bit >> 3] >> (bit & 7) & 1) == 0) return false;
  }
  return true;
}

// Was any bit unset?
bool link_add(CompatBloom::Link& link, KeyHash hash) {
  const std::uint64_t bits = std::uint64_t{link.bits.size()} * 8;
  bool fresh = false;
  std::uint64_t at = hash.a;
  for (std::uint32_t probe = 0; probe < link.probes; ++probe, at += hash.b) {
    const std::uint64_t bit = at % bits;
    const auto mask = static_cast<std::uint8_t>(1u << (bit & 7));
    std::uint8_t& byte = link.bits.data()[bit >> 3];
    fresh |= (byte & mask) == 0;
    byte |= mask;
  }
  return fresh;
}

Error damaged(const char* sentence) { return {Code::damaged, sentence}; }

// A number that its 32-bit field can hold; else one that no check lets pass.
std::uint32_t narrow(std::uint64_t number) {
  return number > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(number);
}

// What a header or an RDB file says of a link, before its bytes are looked at.
bool link_is_sound(const CompatBloom::Link& link) {
  if (!(link.error > 0 && link.error < 1)) return false;
  // Within what other mathematical libraries would have computed; it also bounds the probes.
  const double expected = bits_per_entry_for(link.error);
  if (!(std::fabs(link.bits_per_entry - expected) <= 1e-9 * expected)) return false;
  return link.entries > 0 && link.probes > 0 && link.probes == probes_for(link.bits_per_entry);
}

}  // namespace

Result<CompatBloom::Link> CompatBloom::make_link(std::uint64_t entries, double error,
                                                 std::uint64_t most_bytes) {
  if (entries == 0 || !(error > 0 && error < 1)) {
    return Error{Code::impossible, "a link needs entries and a rate between 0 and 1"};
  }
  Link link;
  link.entries = entries;
  link.error = error;
  link.bits_per_entry = bits_per_entry_for(error);
  link.probes = probes_for(link.bits_per_entry);
  const double bits = static_cast<double>(entries) * link.bits_per_entry;
  // Beyond 2^62 bits a double cannot count any more, and no machine has them.
  if (!(bits < 4.6e18)) return Error{Code::no_memory, "the filter would be too large"};
  const std::uint64_t words =
      (std::max<std::uint64_t>(1, static_cast<std::uint64_t>(bits)) + 63) / 64;
  if (words * 8 > most_bytes) return Error{Code::no_memory, "the filter would exceed its cap"};
  link.bits = HostBytes::promised(words * 8);
  return link;
}

Result<std::unique_ptr<CompatBloom>> CompatBloom::make(const Want& want) {
  if (!(want.rate > 0 && want.rate < 1) || want.capacity == 0) {
    return Error{Code::impossible, "a filter needs a capacity and a rate between 0 and 1"};
  }
  std::unique_ptr<CompatBloom> bloom(new CompatBloom);
  bloom->growth_ = want.growth;
  if (!want.scaling) bloom->options_ |= option_no_scaling;
  const double rate = std::min(want.rate, most_rate);
  auto link = make_link(want.capacity, want.scaling ? rate * tightening : rate, want.cap_bytes);
  if (!link) return link.error();
  bloom->links_.push_back(std::move(*link));
  return bloom;
}

Result<void> CompatBloom::check(const Fields& fields) {
  const std::uint32_t known = option_no_rounding | option_wide_hash | option_no_scaling;
  if ((fields.options & ~known) != 0 || (fields.options & option_no_rounding) == 0 ||
      (fields.options & option_wide_hash) == 0) {
    return damaged("unknown options, or those of a filter with 32-bit hashes");
  }
  if (fields.links.empty() || fields.links.size() > most_links) {
    return damaged("a chain has 1 to 2048 links");
  }
  std::uint64_t keys = 0;
  for (const Link& link : fields.links) {
    if (!link_is_sound(link)) return damaged("a link contradicts itself");
    if (__builtin_add_overflow(keys, link.keys, &keys)) return damaged("too many keys");
  }
  if (keys != fields.keys) return damaged("the links do not add up to the keys of the chain");
  return {};
}

Result<std::unique_ptr<CompatBloom>> CompatBloom::from(Fields fields) {
  if (auto checked = check(fields); !checked) return checked.error();
  for (const Link& link : fields.links) {
    if (link.bits.size() == 0) return damaged("a link without bits");
  }
  std::unique_ptr<CompatBloom> bloom(new CompatBloom);
  bloom->links_ = std::move(fields.links);
  bloom->keys_ = fields.keys;
  bloom->options_ = fields.options;
  bloom->growth_ = fields.growth;
  return bloom;
}

Result<std::unique_ptr<CompatBloom>> CompatBloom::from_header(std::string_view header,
                                                              std::uint64_t cap_bytes) {
  PackedReader reader(header);
  Fields fields;
  fields.keys = reader.read<std::uint64_t>();
  const auto links = reader.read<std::uint32_t>();
  fields.options = reader.read<std::uint32_t>();
  fields.growth = reader.read<std::uint32_t>();
  if (!reader.whole() || links == 0 || links > most_links ||
      reader.left() != std::size_t{links} * link_header_bytes) {
    return damaged("the header does not have the length that it states");
  }
  std::vector<std::uint64_t> sizes;
  std::uint64_t total = 0;
  for (std::uint32_t n = 0; n < links; ++n) {
    Link link;
    const auto bytes = reader.read<std::uint64_t>();
    const auto bits = reader.read<std::uint64_t>();
    link.keys = reader.read<std::uint64_t>();
    link.error = reader.read<double>();
    link.bits_per_entry = reader.read<double>();
    link.probes = reader.read<std::uint32_t>();
    link.entries = reader.read<std::uint64_t>();
    const auto rounded_bits = reader.read<std::uint8_t>();
    if (bytes == 0 || bytes > UINT64_MAX / 8 || bits != bytes * 8 || rounded_bits != 0) {
      return damaged("a link does not have the bits that it states");
    }
    if (__builtin_add_overflow(total, bytes, &total)) return damaged("too many bytes");
    sizes.push_back(bytes);
    fields.links.push_back(std::move(link));
  }
  if (auto checked = check(fields); !checked) return checked.error();
  if (total > cap_bytes) return Error{Code::no_memory, "the filter would exceed its cap"};
  for (std::size_t n = 0; n < sizes.size(); ++n) {
    fields.links[n].bits = HostBytes::promised(sizes[n]);
  }
  return from(std::move(fields));
}

std::unique_ptr<FilterBody> CompatBloom::clone() const {
  std::unique_ptr<CompatBloom> twin(new CompatBloom);
  twin->keys_ = keys_;
  twin->options_ = options_;
  twin->growth_ = growth_;
  for (const Link& link : links_) {
    auto bits = HostBytes::copy_of(link.bits);
    if (!bits) return nullptr;
    twin->links_.push_back({.bits = std::move(*bits),
                            .keys = link.keys,
                            .entries = link.entries,
                            .error = link.error,
                            .bits_per_entry = link.bits_per_entry,
                            .probes = link.probes});
  }
  return twin;
}

AddOutcome CompatBloom::add(std::string_view key, std::uint64_t cap_bytes) {
  const KeyHash hash = hash_of(key);
  for (auto link = links_.rbegin(); link != links_.rend(); ++link) {
    if (link_contains(*link, hash)) return AddOutcome::seen;
  }
  if (links_.back().keys >= links_.back().entries) {
    if (!scaling()) return AddOutcome::full;
    const Link& newest = links_.back();
    std::uint64_t entries = 0;
    if (growth_ == 0 || links_.size() == most_links ||
        __builtin_mul_overflow(newest.entries, std::uint64_t{growth_}, &entries)) {
      return AddOutcome::refused;
    }
    const std::uint64_t held = payload_bytes();
    auto link =
        make_link(entries, newest.error * tightening, cap_bytes - std::min(cap_bytes, held));
    if (!link)
      return link.error().code == Code::no_memory ? AddOutcome::no_memory : AddOutcome::refused;
    if (!link->bits.take()) return AddOutcome::no_memory;
    links_.push_back(std::move(*link));
  }
  Link& newest = links_.back();
  if (keys_ == UINT64_MAX) return AddOutcome::refused;
  if (!newest.bits.take()) return AddOutcome::no_memory;
  if (!link_add(newest, hash)) return AddOutcome::seen;
  ++newest.keys;
  ++keys_;
  return AddOutcome::fresh;
}

bool CompatBloom::may_contain(std::string_view key) const {
  const KeyHash hash = hash_of(key);
  for (auto link = links_.rbegin(); link != links_.rend(); ++link) {
    if (link_contains(*link, hash)) return true;
  }
  return false;
}

std::size_t CompatBloom::add_all(std::span<const std::string_view> keys, std::uint64_t cap_bytes,
                                 std::span<AddOutcome> answers) {
  for (std::size_t n = 0; n < keys.size(); ++n) {
    answers[n] = add(keys[n], cap_bytes);
    if (!is_there(answers[n])) return n + 1;
  }
  return keys.size();
}

void CompatBloom::may_contain_all(std::span<const std::string_view> keys,
                                  std::span<bool> answers) const {
  std::ranges::transform(keys, answers.begin(),
                         [&](std::string_view key) { return may_contain(key); });
}

BloomBody::Info CompatBloom::info() const {
  return {.capacity = capacity(),
          .bytes = 32 + 64 * links_.size() + payload_bytes(),
          .filters = links_.size(),
          .keys = keys_,
          .expansion = scaling() ? std::optional(growth_) : std::nullopt};
}

std::uint64_t CompatBloom::capacity() const {
  std::uint64_t sum = 0;
  // Entries come from headers unchecked, and two may exceed what a number holds.
  for (const Link& link : links_) {
    if (__builtin_add_overflow(sum, link.entries, &sum)) return UINT64_MAX;
  }
  return sum;
}

std::uint64_t CompatBloom::move_parts(const Mover& mover, std::uint64_t from) {
  for (std::size_t n = from; n < links_.size(); ++n) {
    if (n != from && mover.should_stop(mover.host)) return n;
    mover.bytes(links_[n].bits);
  }
  return 0;
}

std::uint64_t CompatBloom::payload_bytes() const {
  std::uint64_t sum = 0;
  for (const Link& link : links_) sum += link.bits.size();
  return sum;
}

std::uint64_t CompatBloom::memory_bytes() const {
  std::uint64_t sum = sizeof(CompatBloom) + links_.capacity() * sizeof(Link);
  for (const Link& link : links_) sum += link.bits.memory_bytes();
  return sum;
}

double CompatBloom::rate_now() const {
  double passes_none = 1;
  for (const Link& link : links_) {
    if (!link.bits.is_taken()) continue;
    std::uint64_t ones = 0;
    for (std::size_t at = 0; at + 8 <= link.bits.size(); at += 8) {
      std::uint64_t word;
      std::memcpy(&word, link.bits.data() + at, 8);
      ones += static_cast<std::uint64_t>(std::popcount(word));
    }
    for (std::size_t at = link.bits.size() / 8 * 8; at < link.bits.size(); ++at) {
      ones += static_cast<std::uint64_t>(std::popcount(link.bits.data()[at]));
    }
    const double fill = static_cast<double>(ones) / (8.0 * static_cast<double>(link.bits.size()));
    passes_none *= 1 - std::pow(fill, link.probes);
  }
  return 1 - passes_none;
}

std::string CompatBloom::header() const {
  std::string out;
  out.reserve(chain_header_bytes + links_.size() * link_header_bytes);
  write_packed(out, keys_);
  write_packed(out, static_cast<std::uint32_t>(links_.size()));
  write_packed(out, options_);
  write_packed(out, growth_);
  for (const Link& link : links_) {
    write_packed(out, std::uint64_t{link.bits.size()});
    write_packed(out, std::uint64_t{link.bits.size()} * 8);
    write_packed(out, link.keys);
    write_packed(out, link.error);
    write_packed(out, link.bits_per_entry);
    write_packed(out, link.probes);
    write_packed(out, link.entries);
    write_packed(out, std::uint8_t{0});
  }
  return out;
}

Piece CompatBloom::piece(std::uint64_t position) const {
  if (position == 0) return {.next = 1, .own = header()};
  std::uint64_t offset = position - 1;
  for (const Link& link : links_) {
    if (offset >= link.bits.size()) {
      offset -= link.bits.size();
      continue;
    }
    const std::string_view piece = link.bits.piece(offset, link.bits.size() - offset);
    return {.next = position + piece.size(), .lent = piece};
  }
  return {};
}

Result<void> CompatBloom::load_piece(std::uint64_t next, std::string_view bytes) {
  const Error no_link{Code::out_of_range, "no link has bits there"};
  if (next < bytes.size() + 1) return no_link;
  std::uint64_t offset = next - bytes.size() - 1;
  for (Link& link : links_) {
    if (offset >= link.bits.size()) {
      offset -= link.bits.size();
      continue;
    }
    if (bytes.size() > link.bits.size() - offset)
      return Error{Code::mismatch, "these are more bits than the link has"};
    if (link.bits.put(offset, bytes)) return {};
    return Error{Code::no_memory, "there is not enough memory for the link"};
  }
  return no_link;
}

// -- RDB files, type MBbloom-- --------------------------------------------------------------------

void CompatBloom::save(FieldWriter& writer) const {
  writer.number(keys_);
  writer.number(links_.size());
  writer.number(options_);
  writer.number(growth_);
  for (const Link& link : links_) {
    writer.number(link.entries);
    writer.real(link.error);
    writer.number(link.probes);
    writer.real(link.bits_per_entry);
    writer.number(std::uint64_t{link.bits.size()} * 8);
    writer.number(0);
    writer.bytes(link.bits);
    writer.number(link.keys);
  }
}

// Encoding 2 and 3 had no growth: it was 2.
Result<std::unique_ptr<CompatBloom>> CompatBloom::load(FieldReader& reader, int encoding) {
  if (encoding < 2 || encoding > 4) return Error{Code::unsupported, "its encoding is unknown"};
  Fields fields;
  fields.keys = reader.number();
  const std::uint64_t links = reader.number();
  fields.options = narrow(reader.number());
  fields.growth = encoding < 4 ? 2 : narrow(reader.number());
  // Each link is bytes that were read, so a count that lies ends at the end of the payload.
  for (std::uint64_t n = 0; n < links && !reader.failed(); ++n) {
    Link link;
    link.entries = reader.number();
    link.error = reader.real();
    link.probes = narrow(reader.number());
    link.bits_per_entry = reader.real();
    const std::uint64_t bits = reader.number();
    const std::uint64_t rounded_bits = reader.number();
    link.bits = reader.bytes();
    link.keys = reader.number();
    if (rounded_bits != 0 || link.bits.size() == 0 || bits != std::uint64_t{link.bits.size()} * 8)
      return damaged("a link does not have the bits that it states");
    link.bits = promised_if_zero(std::move(link.bits));
    fields.links.push_back(std::move(link));
  }
  if (reader.failed()) return damaged("it ends early");
  return from(std::move(fields));
}

std::vector<std::string> CompatBloom::debug_lines() const {
  std::vector<std::string> lines{"size:" + std::to_string(keys_)};
  for (const Link& link : links_) {
    char line[256];
    std::snprintf(line, sizeof line,
                  "bytes:%zu bits:%zu hashes:%u hashwidth:64 capacity:%llu size:%llu ratio:%g",
                  link.bits.size(), link.bits.size() * 8, link.probes,
                  static_cast<unsigned long long>(link.entries),
                  static_cast<unsigned long long>(link.keys), link.error);
    lines.emplace_back(line);
  }
  return lines;
}

}  // namespace bloomery::inline v0::detail::served
