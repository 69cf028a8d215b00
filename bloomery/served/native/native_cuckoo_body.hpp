// NativeCuckoo behind the interface that CF.* commands use.
#pragma once

#include <algorithm>
#include <cstdio>
#include <utility>

#include <bloomery/served/cuckoo_body.hpp>
#include <bloomery/served/native/native_cuckoo.hpp>

namespace bloomery::inline v0::detail::served {

class NativeCuckooBody final : public CuckooBody {
 public:
  explicit NativeCuckooBody(NativeCuckoo set) : set_(std::move(set)) {}

  const NativeCuckoo& set() const { return set_; }

  // It grows by parts and keeps its rate, so it needs no limit but its own.
  bool has_grown_out(std::uint64_t) const override { return false; }
  bool dumps_when_empty() const override { return true; }

  void add_all(std::span<const std::string_view> keys, const Adding& adding,
               std::span<AddOutcome> answers) override {
    set_.cap_memory(adding.cap_bytes == UINT64_MAX ? 0 : adding.cap_bytes);
    if (keys.size() == 1) {
      const Added added = adding.only_absent ? set_.add_nx(keys[0]) : set_.add(keys[0]);
      answers[0] = outcome_of(keys[0], added, adding);
      return;
    }
    Added added[group];
    for (std::size_t done = 0; done < keys.size(); done += group) {
      const auto part = keys.subspan(done, std::min(group, keys.size() - done));
      set_.add_all(part, adding.only_absent, added);
      for (std::size_t n = 0; n < part.size(); ++n) {
        answers[done + n] = outcome_of(part[n], added[n], adding);
      }
    }
  }
  void may_contain_all(std::span<const std::string_view> keys,
                       std::span<bool> answers) const override {
    set_.may_contain_all(keys, answers.data());
  }
  std::uint64_t count(std::string_view key) const override { return set_.count(key); }
  bool remove(std::string_view key) override { return set_.remove(key); }
  // Without memory to compact into the filter stays as it is.
  void compact(const Compaction& part) override {
    unfinished_.reset();
    const auto next = set_.compact(part.place, part.steps);
    if (next && *next != 0) unfinished_ = {.place = *next};
  }

  Info info() const override {
    const NativeCuckoo::Info info = set_.info();
    return {.bytes = memory_bytes(),
            .buckets = info.buckets,
            .filters = info.filters,
            .keys = info.items,
            .removed = info.removed,
            .bucket_size = info.bucket_size,
            .expansion = info.expansion,
            .max_iterations = info.max_iterations};
  }
  std::uint64_t payload_bytes() const override { return set_.memory_usage(); }
  std::uint64_t memory_bytes() const override {
    return sizeof *this - sizeof set_ + set_.memory_usage();
  }

  std::string debug_line() const override {
    const NativeCuckoo::Info info = set_.info();
    const auto wide = [](std::uint64_t number) -> unsigned long long { return number; };
    char line[256];
    std::snprintf(line, sizeof line,
                  "engine:native bytes:%llu items:%llu deletes:%llu filters:%llu most items:%llu "
                  "rate asked:%g rate now:%g bits per item:%.2f hardened:%d",
                  wide(info.bytes), wide(info.items), wide(info.removed), wide(info.filters),
                  wide(info.most_items), info.rate_asked, info.rate_now, info.bits_per_key,
                  info.hardened ? 1 : 0);
    return line;
  }

  Piece piece(std::uint64_t position) const override {
    auto chunk = set_.dump(position);
    if (!chunk) return {};
    return {.next = chunk->next, .lent = {}, .own = std::move(chunk->bytes)};
  }
  bool load_piece(std::uint64_t, std::string_view bytes) override {
    return set_.load_chunk(bytes).has_value();
  }
  std::unique_ptr<CuckooBody> clone() const override {
    auto twin = set_.clone();
    if (!twin) return nullptr;
    return std::make_unique<NativeCuckooBody>(std::move(*twin));
  }

  std::uint64_t move_parts(const Mover& mover, std::uint64_t from) override {
    return set_.move_parts(mover, from);
  }

 private:
  static constexpr std::size_t group = 256;
  static constexpr std::uint64_t most_copies = 255;

  AddOutcome outcome_of(std::string_view key, Added added, const Adding& adding) const {
    if (added == Added::full) return why_full(key);
    // One copy more of what is there is an add like any other.
    return added == Added::fresh || !adding.only_absent ? AddOutcome::fresh : AddOutcome::seen;
  }

  AddOutcome why_full(std::string_view key) const {
    if (!set_.is_whole()) return AddOutcome::refused;
    const bool full = set_.count(key) >= most_copies || set_.items() >= set_.info().most_items;
    return full ? AddOutcome::full : AddOutcome::no_memory;
  }

  NativeCuckoo set_;
};

}  // namespace bloomery::inline v0::detail::served
