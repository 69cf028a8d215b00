// Blocked sets, and what their single keys are compiled to.
#include "held/held_typed.hpp"

namespace bloomery::python {
namespace {

class HeldBlocked final : public HeldTyped<BlockedBloom> {
 public:
  using HeldTyped::HeldTyped;
  Set<BlockedBloom>* blocked() override { return &set_; }
};

}  // namespace

std::unique_ptr<Held> hold(Set<BlockedBloom> set) {
  return std::make_unique<HeldBlocked>(std::move(set));
}

}  // namespace bloomery::python
