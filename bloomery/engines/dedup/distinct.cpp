#include <bloomery/engines/dedup/distinct.hpp>

#include <cmath>
#include <memory>
#include <unordered_set>

#include <bloomery/engines/input/blocks.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {
namespace {

constexpr std::size_t most_kept = std::size_t{1} << 16;

class Sample {
 public:
  void add(std::string_view key) {
    const std::uint64_t hash = hasher_(key).bits;
    if (hash > bound_) return;
    kept_.insert(hash);
    while (kept_.size() > most_kept) {
      bound_ /= 2;
      std::erase_if(kept_, [&](std::uint64_t one) { return one > bound_; });
    }
  }

  std::uint64_t estimate() const {
    const auto kept = static_cast<double>(kept_.size());
    if (bound_ == ~std::uint64_t{0}) return kept_.size();
    const double part = (static_cast<double>(bound_) + 1) * 0x1p-64;
    return static_cast<std::uint64_t>(std::llround((kept + 3 * std::sqrt(kept)) / part));
  }

 private:
  Hasher hasher_;
  std::uint64_t bound_ = ~std::uint64_t{0};
  std::unordered_set<std::uint64_t> kept_;
};

}  // namespace

Result<std::uint64_t> estimate_distinct(const std::vector<std::string>& files,
                                        const LineRules& rules, const DedupRules& how) {
  Sample sample;
  BlockInputs inputs(files, rules);
  Block block;
  std::unique_ptr<KeyMaker> maker;
  std::size_t maker_of = 0;
  for (;;) {
    const auto filled = inputs.fill(block);
    if (!filled) return filled.error();
    if (!*filled) return sample.estimate();
    block.split(rules.delimiter);
    Lines records = block.records;
    if (how.on_head && block.first_of_file) {
      if (auto told = how.on_head(block.file, records.front()); !told) return told.error();
      records = records.subspan(1);
    }
    if (how.make_keys && (maker == nullptr || maker_of != block.file)) {
      maker = how.make_keys(block.file);
      maker_of = block.file;
    }
    // Lines without a key are not counted; the later run decides whether to refuse them.
    for (const std::string_view key : maker == nullptr ? records : maker->keys_of(records))
      if (key.data() != nullptr) sample.add(key);
  }
}

}  // namespace bloomery::inline v0::detail
