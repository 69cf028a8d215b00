// A set in a live file, which other processes add to and ask at the same time.
//
//    verb --> the process that opened it?  yes: AnyLiveSet
//                                          no, a child of it: the file is opened again first
//
// A child that fork() made shares its parent's locks on the file, and has none of its threads. It
// must give nothing back that is the parent's: so it forgets what it inherited without closing it.
// Limits:  what a child forgets stays mapped until it ends or runs another program.
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "held/held_erased.hpp"

namespace bloomery::python {
namespace {

class HeldLive final : public HeldErased, public Live {
 public:
  HeldLive(std::filesystem::path path, AnyLiveSet set, const LiveOptions& asked,
           const LiveOptions& opened)
      : path_(std::move(path)),
        set_(std::make_unique<AnyLiveSet>(std::move(set))),
        asked_(asked),
        opened_(opened),
        kind_(AnySet::find_row(set_->set().kind().name)) {}
  ~HeldLive() override {
    if (process_ != getpid()) forget();
  }

  const KindRow& row() const override { return *kind_; }
  Live* live() override { return this; }

  // Of this moment, in memory of its own.
  Result<std::unique_ptr<Held>> clone() const override {
    return held_image(path_.string(), image(Bytes::copied));
  }
  KeyRules rules() const override {
    const KeyRules& mine = set().rules();
    if (mine.form != KeyForm::none) return mine;
    // Another process may have added the first key.
    const auto now = image(Bytes::mapped);
    return now ? now->rules : mine;
  }
  bool equals(const Held&) const override { return false; }  // copies are compared
  Result<void> unite(const Held&) override { return whole("be merged into"); }
  Result<void> intersect(const Held&) override { return whole("be merged into"); }
  Result<void> subtract(const Held&) override { return whole("be merged into"); }
  Result<void> exclusive(const Held&) override { return whole("be merged into"); }
  Result<void> cap_memory(std::uint64_t) override { return whole("be capped"); }
  Result<void> save(const std::filesystem::path& path, Overwrite overwrite) const override {
    const auto now = image(Bytes::mapped);
    if (!now) return now.error();
    return save_image(path, *now, {.overwrite = overwrite});
  }
  Result<void> save_live(const std::filesystem::path& path, Overwrite overwrite) const override {
    auto now = clone();
    return now ? (*now)->save_live(path, overwrite) : now.error();
  }
  Result<std::vector<std::byte>> to_bytes() const override {
    const auto now = image(Bytes::mapped);
    if (!now) return now.error();
    return image_bytes(*now);
  }

  // One sync for all that a call has added, however many steps it took.
  Result<void> keep_promise() override {
    if (asked_.durability != Durability::every) return {};
    return sync();
  }
  Result<void> sync() override { return here().sync(); }
  Result<void> checkpoint() override { return here().checkpoint(); }
  Result<void> seal() override {
    auto sealed = seal_live(path_, {.key = asked_.key});
    if (!sealed) return sealed.error();
    return {};
  }
  Result<void> close() override {
    if (process_ != getpid()) return {};
    return set_->close();
  }
  const Recovery& recovery() const override { return set_->recovery(); }

 protected:
  AnySet& set() override { return here().set(); }
  const AnySet& set() const override { return here().set(); }

 private:
  static Result<void> whole(const std::string& what) {
    return Error{Code::unsupported, "a live set cannot " + what +
                                        ": use update() to add keys, or seal() it and open the "
                                        "ordinary file that this makes"};
  }
  Result<Image> image(Bytes bytes) const {
    here();
    return open_image(path_, {.verify = Verify::header, .key = asked_.key, .bytes = bytes});
  }

  // Throws a Failure.
  AnyLiveSet& here() const {
    if (process_ != getpid()) [[unlikely]]
      open_again();
    return *set_;
  }
  void forget() const { static_cast<void>(set_.release()); }
  void open_again() const {
    auto again = AnyLiveSet::open(path_, opened_);
    if (!again) throw Failure(again.error());
    if (again->set().kind().number != kind_->id.number)
      throw Failure({Code::mismatch, path_.string() + " was replaced by a set of another kind"});
    forget();
    set_ = std::make_unique<AnyLiveSet>(std::move(*again));
    process_ = getpid();
  }

  std::filesystem::path path_;  // absolute: the folder may change before it is opened again
  mutable std::unique_ptr<AnyLiveSet> set_;
  LiveOptions asked_;
  LiveOptions opened_;
  const KindRow* kind_;
  mutable pid_t process_ = getpid();
};

}  // namespace

Result<std::unique_ptr<Held>> open_live(const std::filesystem::path& path,
                                        const LiveOptions& options) {
  LiveOptions opened = options;
  // Synced once a call (keep_promise()), not once for each thousand keys of it.
  if (options.durability == Durability::every) opened.durability = Durability::none;
  auto set = AnyLiveSet::open(path, opened);
  if (!set) return set.error();
  std::error_code failed;
  auto whole = std::filesystem::absolute(path, failed);
  std::unique_ptr<Held> held = std::make_unique<HeldLive>(failed ? path : std::move(whole),
                                                          std::move(*set), options, opened);
  return held;
}

}  // namespace bloomery::python
