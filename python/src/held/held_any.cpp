// All kinds but the two that are held by their type; and which of the three holds what.
#include <memory>
#include <utility>

#include "held/held_erased.hpp"

namespace bloomery::python {
namespace {

class HeldAny final : public HeldErased {
 public:
  explicit HeldAny(AnySet set) : set_(std::move(set)) {}

  Result<std::unique_ptr<Held>> clone() const override {
    auto copy = set_.clone();
    if (!copy) return copy.error();
    return hold(std::move(*copy));
  }

 protected:
  AnySet& set() override { return set_; }
  const AnySet& set() const override { return set_; }

 private:
  AnySet set_;
};

template <class S>
Result<std::unique_ptr<Held>> held(Result<S> set) {
  if (!set) return set.error();
  return hold(std::move(*set));
}

}  // namespace

Result<std::unique_ptr<Held>> held_image(const std::string& name, Result<Image> image) {
  if (!image) return image.error();
  const auto is = [&](const KindId& kind) {
    const detail::Parts& parts = image->parts;
    return parts.form == detail::Form::single && parts.parts.size() == 1 &&
           parts.parts.front().kind == kind.number;
  };
  if (is(BlockedBloom::id)) return held(Set<BlockedBloom>::of(name, std::move(image)));
  if (is(Bitmap::id)) return held(Set<Bitmap>::of(name, std::move(image)));
  return held(AnySet::of(name, std::move(image)));
}

Result<std::unique_ptr<Held>> open_held(const std::filesystem::path& path,
                                        const OpenOptions& options) {
  return held_image(path.string(), open_image(path, options));
}

Result<std::unique_ptr<Held>> read_held(std::span<const std::byte> bytes,
                                        const OpenOptions& options) {
  return held_image("the image", read_image(bytes, options));
}

std::unique_ptr<Held> hold(AnySet set) { return std::make_unique<HeldAny>(std::move(set)); }

Result<std::unique_ptr<Held>> make_held(std::string_view kind, const Want& want, Hasher hasher) {
  if (kind == BlockedBloom::id.name) return held(Set<BlockedBloom>::make(want, hasher));
  if (kind == Bitmap::id.name) return held(Set<Bitmap>::make(want, hasher));
  return held(AnySet::make(kind, want, hasher));
}

Result<std::unique_ptr<Held>> build_held(std::string_view kind, const Want& want,
                                         std::span<const Hash> hashes, KeyForm form,
                                         Hasher hasher) {
  auto set = AnySet::build(kind, want, hashes, hasher);
  if (set) set->rules().form = form;  // not that of hashes: they may be asked for by their keys
  return held(std::move(set));
}

}  // namespace bloomery::python
