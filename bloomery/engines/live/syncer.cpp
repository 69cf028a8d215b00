#include <bloomery/engines/live/syncer.hpp>

#include <utility>

namespace bloomery::inline v0::detail {

Syncer::Syncer(std::chrono::milliseconds interval, std::function<void()> sync)
    : interval_(interval), sync_(std::move(sync)), thread_([this] { work(); }) {}

Syncer::~Syncer() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Syncer::hurry() {
  {
    const std::lock_guard lock(mutex_);
    hurried_ = true;
  }
  changed_.notify_all();
}

void Syncer::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait_for(lock, interval_, [this] { return ended_ || hurried_; });
    if (ended_) return;
    hurried_ = false;
    lock.unlock();
    sync_();
    lock.lock();
  }
}

}  // namespace bloomery::inline v0::detail
