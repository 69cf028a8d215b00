// CompatBloom behind the interface that BF.* commands use.
#pragma once

#include <algorithm>
#include <utility>

#include <bloomery/served/bloom_body.hpp>
#include <bloomery/served/redisbloom/compat_bloom.hpp>

namespace bloomery::inline v0::detail::served {

class CompatBloomBody final : public BloomBody {
 public:
  explicit CompatBloomBody(std::unique_ptr<CompatBloom> bloom) : bloom_(std::move(bloom)) {}

  const CompatBloom& bloom() const { return *bloom_; }

  std::size_t add_all(std::span<const std::string_view> keys, std::uint64_t cap_bytes,
                      std::span<AddOutcome> answers) override {
    for (std::size_t n = 0; n < keys.size(); ++n) {
      answers[n] = static_cast<AddOutcome>(bloom_->add(keys[n], cap_bytes));
      if (answers[n] > AddOutcome::seen) return n + 1;
    }
    return keys.size();
  }

  void may_contain_all(std::span<const std::string_view> keys,
                       std::span<bool> answers) const override {
    std::ranges::transform(keys, answers.begin(),
                           [&](std::string_view key) { return bloom_->may_contain(key); });
  }

  Info info() const override {
    return {.capacity = bloom_->capacity(),
            .bytes = bloom_->reported_bytes(),
            .filters = bloom_->links().size(),
            .keys = bloom_->keys(),
            .expansion = bloom_->scaling() ? std::optional(bloom_->growth()) : std::nullopt};
  }

  double rate_now() const override { return bloom_->rate_now(); }
  std::uint64_t payload_bytes() const override { return bloom_->payload_bytes(); }
  std::uint64_t memory_bytes() const override { return sizeof *this + bloom_->memory_bytes(); }
  std::vector<std::string> debug_lines() const override { return bloom_->debug_lines(); }

  Piece piece(std::uint64_t position) const override {
    if (position == 0) return {.next = 1, .lent = {}, .own = bloom_->header()};
    const auto chunk = bloom_->chunk(position);
    return {.next = chunk.next, .lent = chunk.bytes, .own = {}};
  }

  Loaded load_piece(std::uint64_t next, std::string_view bytes) override {
    return static_cast<Loaded>(bloom_->load_chunk(next, bytes));
  }

  std::unique_ptr<BloomBody> clone() const override {
    auto twin = bloom_->clone();
    if (!twin) return nullptr;
    return std::make_unique<CompatBloomBody>(std::move(*twin));
  }

  std::uint64_t move_parts(const Mover& mover, std::uint64_t from) override {
    if (from == 0) mover.object(bloom_);
    return bloom_->move_parts(mover, from);
  }

 private:
  static_assert(static_cast<int>(CompatBloom::Added::no_memory) ==
                static_cast<int>(AddOutcome::no_memory));
  static_assert(static_cast<int>(CompatBloom::Loaded::no_memory) ==
                static_cast<int>(Loaded::no_memory));

  std::unique_ptr<CompatBloom> bloom_;
};

}  // namespace bloomery::inline v0::detail::served
