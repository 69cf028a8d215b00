// The public face of live files: made, opened, sealed.
#include <bloomery/live.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include <bloomery/engines/live/syncer.hpp>
#include <bloomery/image.hpp>
#include <bloomery/storage/live/live_body.hpp>
#include <bloomery/storage/live/live_create.hpp>
#include <bloomery/storage/live/live_image.hpp>

namespace bloomery::inline v0 {

using namespace detail;

Result<void> create_live(const std::filesystem::path& path, const AnySet& set,
                         const LiveCreation& how) {
  auto image = image_of(set);
  if (!image) return image.error();
  image->key_is_elsewhere = image->key_is_elsewhere || how.key_is_elsewhere;
  return create_live_file(path, *AnySet::find_row(set.kind().name), *image, how);
}

Result<bool> is_live(const std::filesystem::path& path) { return is_live_file(path); }

AnyLiveSet::AnyLiveSet(AnySet set, LiveBody* body, const Recovery& recovery)
    : set_(std::move(set)), body_(body), recovery_(recovery) {}
AnyLiveSet::AnyLiveSet(AnyLiveSet&& other) noexcept
    : set_(std::move(other.set_)),
      body_(std::exchange(other.body_, nullptr)),
      syncer_(std::move(other.syncer_)),
      recovery_(other.recovery_) {}
AnyLiveSet& AnyLiveSet::operator=(AnyLiveSet&& other) noexcept {
  end_syncer();
  set_ = std::move(other.set_);
  syncer_ = std::move(other.syncer_);
  body_ = std::exchange(other.body_, nullptr);
  recovery_ = other.recovery_;
  return *this;
}
AnyLiveSet::~AnyLiveSet() { end_syncer(); }

void AnyLiveSet::end_syncer() {
  // In a child of fork() there is no such thread, and nobody to give back its locks.
  if (body_ != nullptr && body_->is_of_parent()) static_cast<void>(syncer_.release());
  syncer_.reset();
}

Result<AnyLiveSet> AnyLiveSet::open(const std::filesystem::path& path, const LiveOptions& options) {
  Recovery recovery;
  auto body = LiveBody::open(path, options, recovery);
  if (!body) return body.error();
  LiveBody* const live = body->get();
  const Hasher hasher = live->head().hasher;
  KeyRules rules = live->head().directory.rules;
  rules.form = live->known_form(rules.form);
  AnyLiveSet opened(AnySet::of(std::move(*body), hasher, std::move(rules)), live, recovery);
  if (options.durability == Durability::interval && !options.read_only) {
    opened.syncer_ =
        std::make_unique<Syncer>(std::chrono::milliseconds(std::max(1U, options.interval_ms)),
                                 [live] { live->sync_aside(); });
    live->hurry_by([syncer = opened.syncer_.get()] { syncer->hurry(); });
  }
  return opened;
}

Result<void> AnyLiveSet::sync() {
  if (body_ == nullptr) return moved_from_error();
  return body_->sync();
}
Result<void> AnyLiveSet::checkpoint() {
  if (body_ == nullptr) return moved_from_error();
  return body_->checkpoint();
}
Result<void> AnyLiveSet::close() {
  if (body_ == nullptr) return moved_from_error();
  if (!body_->is_of_parent()) body_->hurry_by({});
  end_syncer();
  return body_->close();
}

Result<Recovery> seal_live(const std::filesystem::path& path, const LiveOptions& options) {
  auto live = AnyLiveSet::open(path, options);
  if (!live) return live.error();
  const auto sealed =
      live->body_->seal([&](const Image& image) { return save_image(path, image); });
  if (!sealed) return sealed.error();
  return live->recovery();
}

}  // namespace bloomery::inline v0
