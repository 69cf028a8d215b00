// CompatCuckoo behind the interface that CF.* commands use.
#pragma once

#include <algorithm>
#include <utility>

#include <bloomery/served/cuckoo_body.hpp>
#include <bloomery/served/redisbloom/compat_cuckoo.hpp>

namespace bloomery::inline v0::detail::served {

class CompatCuckooBody final : public CuckooBody {
 public:
  explicit CompatCuckooBody(std::unique_ptr<CompatCuckoo> cuckoo) : cuckoo_(std::move(cuckoo)) {}

  const CompatCuckoo& cuckoo() const { return *cuckoo_; }

  bool has_grown_out(std::uint64_t most_expansions) const override {
    return cuckoo_->tables().size() >= most_expansions;
  }
  void add_all(std::span<const std::string_view> keys, const Adding& adding,
               std::span<AddOutcome> answers) override {
    std::ranges::transform(keys, answers.begin(), [&](std::string_view key) {
      return outcome_of(adding.only_absent ? cuckoo_->add_new(key, adding.cap_bytes)
                                           : cuckoo_->add(key, adding.cap_bytes));
    });
  }
  void may_contain_all(std::span<const std::string_view> keys,
                       std::span<bool> answers) const override {
    std::ranges::transform(keys, answers.begin(),
                           [&](std::string_view key) { return cuckoo_->may_contain(key); });
  }
  std::uint64_t count(std::string_view key) const override { return cuckoo_->count(key); }
  bool remove(std::string_view key) override { return cuckoo_->remove(key); }
  bool wants_compaction() const override { return cuckoo_->wants_compaction(); }
  void compact(const Compaction& part) override {
    const auto how = part.through_all ? CompatCuckoo::Compaction::through_all
                                      : CompatCuckoo::Compaction::while_tables_empty;
    const auto next = cuckoo_->compact(how, {part.table, part.place}, part.steps);
    unfinished_.reset();
    if (next) {
      unfinished_ = {.table = next->table, .place = next->place, .through_all = part.through_all};
    }
  }

  Info info() const override {
    const CompatCuckoo::Fields& fields = cuckoo_->fields();
    return {.bytes = cuckoo_->reported_bytes(),
            .buckets = fields.buckets,
            .filters = cuckoo_->tables().size(),
            .keys = fields.keys,
            .removed = fields.removed,
            .bucket_size = fields.bucket_size,
            .expansion = fields.expansion,
            .max_iterations = fields.max_iterations};
  }
  std::uint64_t payload_bytes() const override { return cuckoo_->payload_bytes(); }
  std::uint64_t memory_bytes() const override { return sizeof *this + cuckoo_->memory_bytes(); }
  std::string debug_line() const override { return cuckoo_->debug_line(); }

  Piece piece(std::uint64_t position) const override {
    if (position == 0) return {.next = 1, .lent = {}, .own = cuckoo_->header()};
    const auto chunk = cuckoo_->chunk(position);
    return {.next = chunk.next, .lent = chunk.bytes, .own = {}};
  }
  bool load_piece(std::uint64_t next, std::string_view bytes) override {
    return cuckoo_->load_chunk(next, bytes);
  }
  std::unique_ptr<CuckooBody> clone() const override {
    auto twin = cuckoo_->clone();
    if (!twin) return nullptr;
    return std::make_unique<CompatCuckooBody>(std::move(*twin));
  }

  std::uint64_t move_parts(const Mover& mover, std::uint64_t from) override {
    if (from == 0) mover.object(cuckoo_);
    return cuckoo_->move_parts(mover, from);
  }

 private:
  static AddOutcome outcome_of(CompatCuckoo::Added added) {
    switch (added) {
      case CompatCuckoo::Added::fresh: return AddOutcome::fresh;
      case CompatCuckoo::Added::seen: return AddOutcome::seen;
      case CompatCuckoo::Added::full: return AddOutcome::full;
      case CompatCuckoo::Added::no_memory: break;
    }
    return AddOutcome::no_memory;
  }

  std::unique_ptr<CompatCuckoo> cuckoo_;
};

}  // namespace bloomery::inline v0::detail::served
