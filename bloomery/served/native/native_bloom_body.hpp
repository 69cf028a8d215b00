// NativeBloom behind the interface that BF.* commands use.
#pragma once

#include <algorithm>
#include <utility>

#include <bloomery/served/bloom_body.hpp>
#include <bloomery/served/native/native_bloom.hpp>

namespace bloomery::inline v0::detail::served {

class NativeBloomBody final : public BloomBody {
 public:
  explicit NativeBloomBody(NativeBloom set) : set_(std::move(set)) {}

  NativeBloom& set() { return set_; }
  const NativeBloom& set() const { return set_; }
  NativeBloomBody* native() override { return this; }

  std::size_t add_all(std::span<const std::string_view> keys, std::uint64_t cap_bytes,
                      std::span<AddOutcome> answers) override {
    set_.cap_memory(cap_bytes == UINT64_MAX ? 0 : cap_bytes);
    if (keys.size() == 1) {
      answers[0] = outcome_of(set_.add(keys[0]));
      return 1;
    }
    bool fresh[group];
    for (std::size_t done = 0; done < keys.size();) {
      const auto part = keys.subspan(done, std::min(group, keys.size() - done));
      const std::size_t taken = set_.add_all(part, fresh);
      for (std::size_t n = 0; n < taken; ++n) {
        answers[done + n] = fresh[n] ? AddOutcome::fresh : AddOutcome::seen;
      }
      done += taken;
      if (taken < part.size()) {
        answers[done] = why_full();
        return done + 1;
      }
    }
    return keys.size();
  }

  void may_contain_all(std::span<const std::string_view> keys,
                       std::span<bool> answers) const override {
    if (keys.size() == 1) {
      answers[0] = set_.may_contain(keys[0]);
    } else {
      set_.may_contain_all(keys, answers.data());
    }
  }

  // A window counts every add, also of what it has seen.
  bool changes_when_seen() const override { return set_.want().window != 0; }

  Info info() const override {
    const NativeBloom::Info info = set_.info();
    const bool grows = !info.nonscaling && info.window == 0;
    return {.capacity = info.capacity,
            .bytes = memory_bytes(),
            .filters = info.filters,
            .keys = info.items,
            .expansion = grows ? std::optional(info.expansion) : std::nullopt};
  }

  double rate_now() const override { return set_.info().rate_now; }
  std::uint64_t payload_bytes() const override { return set_.memory_usage(); }
  std::uint64_t memory_bytes() const override {
    return sizeof *this - sizeof set_ + set_.memory_usage();
  }

  std::vector<std::string> debug_lines() const override {
    const NativeBloom::Info info = set_.info();
    char line[256];
    std::snprintf(line, sizeof line,
                  "engine:native bytes:%llu filters:%llu capacity:%llu window:%llu rate asked:%g "
                  "rate now:%g bits per item:%.2f hardened:%d",
                  wide(info.bytes), wide(info.filters), wide(info.capacity), wide(info.window),
                  info.rate_asked, info.rate_now, info.bits_per_key, info.hardened ? 1 : 0);
    return {"size:" + std::to_string(info.items), line};
  }

  Piece piece(std::uint64_t position) const override {
    auto chunk = set_.dump(position);
    if (!chunk) return {};
    return {.next = chunk->next, .lent = {}, .own = std::move(chunk->bytes)};
  }

  Loaded load_piece(std::uint64_t, std::string_view bytes) override {
    return set_.load_chunk(bytes).has_value() ? Loaded::done : Loaded::damaged;
  }

  std::unique_ptr<BloomBody> clone() const override {
    auto twin = set_.clone();
    if (!twin) return nullptr;
    return std::make_unique<NativeBloomBody>(std::move(*twin));
  }

  std::uint64_t move_parts(const Mover& mover, std::uint64_t from) override {
    return set_.move_parts(mover, from);
  }

 private:
  static constexpr std::size_t group = 256;

  static unsigned long long wide(std::uint64_t number) { return number; }

  AddOutcome outcome_of(Added added) const {
    if (added == Added::full) return why_full();
    return added == Added::fresh ? AddOutcome::fresh : AddOutcome::seen;
  }

  AddOutcome why_full() const {
    if (!set_.is_whole()) return AddOutcome::refused;
    return set_.is_at_capacity() ? AddOutcome::full : AddOutcome::no_memory;
  }

  NativeBloom set_;
};

}  // namespace bloomery::inline v0::detail::served
