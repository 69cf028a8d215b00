#include "held/held_typed.hpp"

namespace bloomery::python {
namespace {

class HeldBitmap final : public HeldTyped<Bitmap> {
 public:
  using HeldTyped::HeldTyped;
  const Set<Bitmap>* bitmap() const override { return &set_; }
  std::optional<Range> range() const override {
    const auto shape = set_.kind().shape();
    return Range{shape.low, shape.high};
  }
};

}  // namespace

std::unique_ptr<Held> hold(Set<Bitmap> set) { return std::make_unique<HeldBitmap>(std::move(set)); }

}  // namespace bloomery::python
