#include <bloomery/remote/redis_any_set.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/sets/parts.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/sets/erased/any_body.hpp>

namespace bloomery::inline v0::detail {
namespace {

// What others add meanwhile is not looked for more often.
constexpr auto estimate_lasts = std::chrono::seconds(2);

Error not_there(const char* what) {
  return {Code::unsupported,
          std::string("a set on a Redis server cannot ") + what + "; a local copy of it can"};
}
Error wrong_keys(const AnyInputs& inputs) {
  return detail::wrong_input("blocked", std::holds_alternative<std::span<const Ordinal>>(inputs)
                                            ? "hashed keys, not integers"
                                            : "64-bit hashes, not those of 128 bits");
}
Error no_removal() {
  return {Code::unsound,
          "keys cannot be removed from a set on a Redis server: their bits may "
          "belong to others too"};
}
Error no_counts() {
  return {Code::unsound, "a set on a Redis server does not count how often a key was added"};
}

Part part_of(const RedisLaw& law, std::uint64_t adds) {
  return {.kind = BlockedBloom::id.number,
          .shape = encode_shape<BlockedBloom>(law.shape),
          .capacity = law.capacity,
          .rate_asked = law.rate,
          .adds = adds};
}

KeyRules rules_of(const RedisLaw& law, KeyForm form) {
  return {.form = form,
          .strip_cr = law.strip_cr,
          .normalisation = law.normalisation,
          .made_from = law.made_from};
}

struct RedisBody : AnySet::Body {
  RedisBody(std::shared_ptr<RedisSet> remote, KeyForm form)
      : remote_(std::move(remote)), form_(form) {}

  const KindRow& row() const override { return *AnySet::find_row("blocked"); }

  Result<std::size_t> add(const AnyInputs& inputs, bool* fresh) override {
    const auto* const hashes = std::get_if<std::span<const Hash>>(&inputs);
    if (hashes == nullptr) return wrong_keys(inputs);
    answers_.resize(hashes->size());
    estimate_.reset();
    const auto added = remote_->add_all(*hashes, answers_, form_);
    for (std::size_t i = 0; fresh != nullptr && i < hashes->size(); ++i)
      fresh[i] = answers_[i] == RemoteAdd::fresh || answers_[i] == RemoteAdd::in_doubt;
    if (!added) return added.error();
    return added->fresh + added->in_doubt;
  }
  Result<void> ask(const AnyInputs& inputs, bool* answers) const override {
    const auto* const hashes = std::get_if<std::span<const Hash>>(&inputs);
    if (hashes == nullptr) return wrong_keys(inputs);
    return remote_->may_contain_all(*hashes, {answers, hashes->size()}, form_);
  }
  Result<std::size_t> remove(const AnyInputs&, bool*) override { return no_removal(); }
  Result<void> count(const AnyInputs&, std::uint64_t*) const override { return no_counts(); }

  Result<void> merge(Merge how, const Body&) override {
    switch (how) {
      case Merge::unite: return not_there("be united in place");
      case Merge::intersect: return not_there("be intersected in place");
      case Merge::subtract: return not_there("be subtracted from");
      case Merge::exclusive: break;
    }
    return not_there("be combined in place");
  }
  Result<void> clear() override {
    estimate_.reset();
    return remote_->clear();
  }
  Result<void> advance_to(std::uint64_t, std::uint64_t) override {
    return not_there("forget by time; give it a ttl= when it is made");
  }
  void cap_memory(std::uint64_t) override {}
  Result<std::uint64_t> best_fold(double) const override { return not_there("be folded in place"); }
  Result<std::unique_ptr<Body>> folded(std::uint64_t, double) const override {
    return not_there("be folded in place");
  }

  BodyFacts facts() const override {
    const RedisLaw& law = remote_->law();
    return {.bytes = BlockedBloom::bytes(law.shape),
            .adds = remote_->adds(),
            .capacity = law.capacity,
            .rate_asked = law.rate,
            .shared = true,
            .on_server = true};
  }
  Result<void> measure() const override {
    if (estimate_ && Clock::now() - estimated_at_ <= estimate_lasts) return {};
    estimate_.reset();
    auto estimated = remote_->estimate();
    if (!estimated) return estimated.error();
    estimate_ = *estimated;
    estimated_at_ = Clock::now();
    return {};
  }
  double estimate() const override { return measured(&RedisSet::Estimate::keys); }
  double rate_now() const override { return measured(&RedisSet::Estimate::rate); }
  double fill_ratio() const override { return measured(&RedisSet::Estimate::fill); }
  double expected_rate_now() const override { return remote_->expected_rate_now(); }
  bool overfull() const override { return remote_->adds() > remote_->law().capacity; }
  std::vector<std::pair<std::string, std::string>> shape_facts() const override {
    return shape_facts_of<BlockedBloom>(remote_->law().shape);
  }
  std::optional<std::uint64_t> stuck() const override { return std::nullopt; }

  Result<Parts> parts() const override {
    const auto bytes = remote_->download();
    if (!bytes) return bytes.error();
    auto memory = Memory::copy_of(*bytes);
    if (!memory) return memory.error();
    Part part = part_of(remote_->law(), remote_->adds());
    part.memory = std::move(*memory);
    part.payload = part.memory.bytes();
    Parts parts;
    parts.parts.push_back(std::move(part));
    return parts;
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Not a number when the server does not answer.
  double measured(double RedisSet::Estimate::*number) const {
    return measure() ? *estimate_.*number : std::numeric_limits<double>::quiet_NaN();
  }

  std::shared_ptr<RedisSet> remote_;
  KeyForm form_;
  std::vector<RemoteAdd> answers_;
  mutable std::optional<RedisSet::Estimate> estimate_;
  mutable Clock::time_point estimated_at_;
};

Result<AnySet> local_set(const RedisLaw& law, Result<Memory> memory, std::uint64_t adds,
                         KeyForm form) {
  if (!memory) return memory.error();
  Part part = part_of(law, adds);
  part.memory = std::move(*memory);
  part.payload = part.memory.bytes();
  Parts parts;
  parts.parts.push_back(std::move(part));
  return AnySet::from_parts(std::move(parts), law.hasher, rules_of(law, form));
}

}  // namespace

AnySet any_set_of(std::shared_ptr<RedisSet> remote, KeyForm form) {
  const RedisLaw& law = remote->law();
  const KeyRules rules = rules_of(law, remote->form());
  const Hasher hasher = law.hasher;
  return AnySet::of(std::make_unique<RedisBody>(std::move(remote), form), hasher, rules);
}

Result<AnySet> local_copy_of(RedisSet& remote) {
  const auto bytes = remote.download();
  if (!bytes) return bytes.error();
  return local_set(remote.law(), Memory::copy_of(*bytes), remote.adds(), remote.form());
}

Result<AnySet> local_set_for(const RedisLaw& law) {
  return local_set(law, Memory::make(BlockedBloom::bytes(law.shape)), 0, KeyForm::none);
}

}  // namespace bloomery::inline v0::detail
