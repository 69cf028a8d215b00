#include "dedup_keys.hpp"

#include <memory>

namespace bloomery::cli {
namespace {

// Adds up what each thread's maker has counted.
class CountedKeys final : public KeyMaker {
 public:
  CountedKeys(LineKeys keys, std::atomic<std::uint64_t>& not_normalized)
      : keys_(std::move(keys)), not_normalized_(not_normalized) {}
  ~CountedKeys() override { not_normalized_ += keys_.not_normalized(); }

  Lines keys_of(Lines records) override { return keys_.keys_of(records); }
  std::string why_none(std::string_view record) const override { return keys_.why_none(record); }
  std::span<const std::uint32_t> empty_keys() const override { return keys_.empty_keys(); }

 private:
  LineKeys keys_;
  std::atomic<std::uint64_t>& not_normalized_;
};

}  // namespace

MakeKeys DedupKeys::made_with(const Spelling& spelling) {
  if (cutter_.whole_line() && !spelling.strip_cr && !spelling.normalizer && !find_empty_lines_)
    return {};
  return [this, &spelling](std::size_t file) -> std::unique_ptr<KeyMaker> {
    const Normalizer* normalizer = spelling.normalizer ? &*spelling.normalizer : nullptr;
    LineKeys keys(cutter_, spelling.strip_cr, normalizer, &columns_.at(file));
    if (find_empty_lines_) keys.find_empty_lines();
    return std::make_unique<CountedKeys>(std::move(keys), not_normalized_);
  };
}

std::function<Result<void>(std::size_t, std::string_view)> DedupKeys::on_head(
    const std::vector<std::string>& names) {
  if (!cutter_.has_header()) return {};
  return [this, &names](std::size_t file, std::string_view head) -> Result<void> {
    auto columns = cutter_.columns_of(head, names.empty() ? "standard input" : names.at(file));
    if (!columns) return columns.error();
    columns_.at(file) = std::move(*columns);
    return {};
  };
}

}  // namespace bloomery::cli
