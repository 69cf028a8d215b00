#include <bloomery/storage/live/live_file.hpp>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <bloomery/detail/hash/xxh3.hpp>
#include <bloomery/storage/image_layout.hpp>

namespace bloomery::inline v0::detail {
namespace {

class SharedSource final : public ImageSource {
 public:
  explicit SharedSource(const SharedFile& file, std::uint64_t bytes)
      : file_(file), size_bytes_(bytes) {}
  std::uint64_t size_bytes() const override { return size_bytes_; }
  Result<void> read(std::uint64_t offset, std::span<std::byte> into) const override {
    return file_.read(offset, into);
  }
  Result<Memory> all(const OpenOptions&) const override { return file_.map(0, size_bytes_); }

 private:
  const SharedFile& file_;
  std::uint64_t size_bytes_;
};

std::uint64_t low_half(const Uuid& uuid) {
  std::uint64_t low = 0;
  std::memcpy(&low, uuid.data() + 8, sizeof low);
  return low;
}

// Word by word: the new keys of an intent are moved together where all of them lie. Whoever ends in
// the middle leaves each in its old place or in its new one, which memcpy() does not promise.
void store_ascending(std::byte* to, std::span<const std::byte> from) {
  for (std::size_t at = 0; at < from.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, from.data() + at, sizeof word);
    *reinterpret_cast<volatile std::uint64_t*>(to + at) = word;
  }
}

// An intent in one word: whole or not there.
std::uint64_t packed(const LogRecord& record) {
  return std::uint64_t{record.keys} | std::uint64_t{record.words} << 32 |
         static_cast<std::uint64_t>(record.form) << 40;
}
}  // namespace

// -- opening --------------------------------------------------------------------------------------

Result<std::unique_ptr<LiveFile>> LiveFile::open(const std::filesystem::path& path,
                                                 const std::optional<SecretKey>& key,
                                                 SharedFile::Access access, Secret secret) {
  auto file = SharedFile::open(path, access);
  if (!file) return file.error();
  // What is acknowledged must be found under this name.
  if (access == SharedFile::Access::change)
    if (auto synced = file->sync_name(); !synced) return synced.error();
  const auto bytes = file->size_bytes();
  if (!bytes) return bytes.error();
  auto head = live_head_from(path.string(), SharedSource(*file, *bytes), key, secret);
  if (!head) return head.error();
  return mapped(std::move(*file), std::move(*head), *bytes, secret);
}

Result<std::unique_ptr<LiveFile>> LiveFile::mapped(SharedFile file, LiveHead head,
                                                   std::uint64_t bytes, Secret secret) {
  std::unique_ptr<LiveFile> live(new LiveFile(std::move(file), std::move(head), secret));
  auto image = live->file_.map(0, live->head_.block.file_bytes);
  if (!image) return image.error();
  live->image_ = std::move(*image);
  if (auto mapped = live->map_log(bytes); !mapped) return mapped.error();
  return live;
}

Result<std::unique_ptr<LiveFile>> LiveFile::twin() const {
  auto file = file_.opened_again();
  if (!file) return file.error();
  const auto bytes = file->size_bytes();
  if (!bytes) return bytes.error();
  auto head = read_head();
  if (!head) return head.error();
  return mapped(std::move(*file), std::move(*head), *bytes, secret_);
}

LiveFile::~LiveFile() = default;

Result<void> LiveFile::map_log(std::uint64_t file_bytes) {
  if (runtime_ == nullptr) {
    auto page = file_.map(head_.block.file_bytes, page_bytes);
    if (!page) return page.error();
    page_ = std::move(*page);
    runtime_ = reinterpret_cast<LiveRuntime*>(page_.bytes().data());
  }
  auto log = file_.map(log_at(), (file_bytes - log_at()) / page_bytes * page_bytes);
  if (!log) return log.error();
  log_ = std::move(*log);
  return {};
}

Result<LiveHead> LiveFile::read_head() const {
  const auto bytes = file_.size_bytes();
  if (!bytes) return bytes.error();
  const Hasher& hasher = head_.hasher;
  const bool secret = hasher.mode() == HashMode::hardened;
  return live_head_from(name(), SharedSource(file_, *bytes),
                        secret ? std::optional(hasher.key()) : std::nullopt, secret_);
}

void LiveFile::expect_runs_from(std::uint32_t run) {
  std::uint64_t newest = runtime_->runs;
  while (newest < run && !runtime_->runs.compare_exchange_weak(newest, run)) {
  }
}

Result<Parts> LiveFile::image_parts(bool own) const {
  auto head = read_head();
  if (!head) return head.error();
  Memory memory = image_.part(0, image_.size());
  if (own || !in_place()) {
    auto mapped = file_.map_privately(head_.block.file_bytes);
    if (!mapped) return mapped.error();
    memory = std::move(*mapped);
  }
  return parts_in(*head, memory);
}

Memory LiveFile::payload() const {
  const Region& place = head_.layout.payloads.at(0);
  return image_.part(place.offset, place.length);
}

std::uint64_t LiveFile::region_at(std::uint64_t epoch) const {
  return log_at() + (in_place() ? (epoch & 1) * head_.block.live.region_bytes : 0);
}

std::span<const std::byte> LiveFile::region(std::uint64_t epoch) const {
  const auto log = std::as_const(log_).bytes();
  if (!in_place()) return log;
  const std::uint64_t bytes = head_.block.live.region_bytes;
  return log.subspan((epoch & 1) * bytes, bytes);
}

LogSeal LiveFile::seal(std::uint64_t epoch) const {
  return {low_half(head_.block.uuid), epoch, !in_place()};
}

// -- adding ---------------------------------------------------------------------------------------

LiveFile::Turn::Turn(LiveFile& file) : file_(file), lock_(file.runtime_->add_lock) {
  if (file_.in_place()) file_.settle_intent();
  file_.settle_retirement();
}

// Of a process that ended while it put another file in the place of this one.
void LiveFile::settle_retirement() {
  const std::uint32_t retiring = runtime_->retiring;
  if (retiring == 0) return;
  if (!has_its_name()) runtime_->retired = retiring;
  runtime_->retiring = 0;
}

Result<void> LiveFile::Turn::retire(Retired how, const std::function<Result<void>()>& replace) {
  file_.runtime_->retiring = static_cast<std::uint32_t>(how);
  auto replaced = replace();
  // It may have got the name and failed all the same, where its directory could not be synced.
  if (replaced) file_.runtime_->retired = static_cast<std::uint32_t>(how);
  file_.settle_retirement();
  return replaced;
}

Result<void> LiveFile::Turn::check() const {
  if (file_.runtime_->failed != 0) return file_.poisoned();
  switch (retired()) {
    case Retired::no: return {};
    case Retired::replaced:
      return Error{Code::mismatch,
                   file_.name() + " was replaced by another program; open it again"};
    case Retired::sealed: break;
  }
  return Error{Code::mismatch,
               file_.name() + " was sealed by another program, and takes no more live keys"};
}

Retired LiveFile::Turn::retired() const {
  return static_cast<Retired>(file_.runtime_->retired.load());
}

Result<bool> LiveFile::Turn::has_room(std::uint64_t record_bytes) {
  return file_.has_stored(file_.log_bytes() + record_bytes);
}

// Two ways into the same bytes: a call is cheaper for bytes that are synced next, since a page that
// is written through a mapping costs a fault after each sync.
Result<void> LiveFile::put(std::uint64_t at, std::span<const std::byte> bytes, bool by_call) {
  if (by_call) {
    if (auto whole = expect_uncut(); !whole) return whole.error();
    return file_.write(at, bytes);
  }
  // A record without keys, such as that of a run that begins, has no address either.
  if (!bytes.empty()) store_ascending(log_.bytes().data() + (at - log_at()), bytes);
  return {};
}

Result<void> LiveFile::put_record(std::uint64_t place, std::span<const std::byte> head,
                                  const LogRecord& record, bool by_call) {
  const auto content = std::as_bytes(record.content);
  if (by_call) {
    if (auto whole = expect_uncut(); !whole) return whole.error();
    return file_.write(place, head, content);
  }
  if (auto done = put(place + head.size(), content, false); !done) return done;
  return put(place, head, false);
}

Result<void> LiveFile::Turn::intend(const LogRecord& record, bool by_call) {
  LiveRuntime& runtime = *file_.runtime_;
  const std::uint64_t at = file_.log_bytes();
  const std::uint64_t place = file_.region_at(runtime.epoch) + at;
  // One call for all of it, which is the record if all its keys are new. Until then it may be read
  // like one that nobody has acknowledged.
  auto done = by_call
                  ? file_.put_record(place, seal_record(record, file_.seal(runtime.epoch), at),
                                     record, true)
                  : file_.put(place + LogRecord::head_bytes, std::as_bytes(record.content), false);
  has_head_ = by_call;
  if (!done) return done;
  runtime.intent_at.store(runtime.published, std::memory_order_relaxed);
  runtime.intent.store(packed(record), std::memory_order_release);
  // Whoever sees a bit of it finds the intent, or the record.
  std::atomic_thread_fence(std::memory_order_release);
  return {};
}

Result<void> LiveFile::Turn::publish(const LogRecord& record, bool by_call, bool is_written) {
  LiveRuntime& runtime = *file_.runtime_;
  if (record.keys > 0) {
    if (auto done = append(record, by_call, is_written); !done) {
      // What the payload has is in the log all the same.
      file_.settle_intent();
      return done;
    }
    file_.add_adds(record.keys);
  } else if (has_head_) {
    // A record that must not count: its keys were not new, or were refused.
    const std::array<std::byte, LogRecord::head_bytes> nothing{};
    const std::uint64_t at = file_.log_bytes();
    if (auto done = file_.put(file_.region_at(runtime.epoch) + at, nothing, true); !done) {
      runtime.failed = EIO;
      return done;
    }
  }
  runtime.intent.store(0, std::memory_order_release);
  return {};
}

Result<void> LiveFile::Turn::append(const LogRecord& record, bool by_call, bool is_written) {
  LiveRuntime& runtime = *file_.runtime_;
  const std::uint64_t at = file_.log_bytes();
  const std::uint64_t place = file_.region_at(runtime.epoch) + at;
  if (!file_.in_place()) {
    const std::uint64_t end = place + record.bytes();
    const std::uint64_t known = file_.log_at() + file_.log_.size();
    if (end > known) {
      const auto bytes = file_.expect_uncut();
      if (!bytes) return bytes.error();
      std::uint64_t grown = *bytes / page_bytes * page_bytes;
      if (end > grown) {
        // By an eighth of what there is, so that growing is seldom and little is wasted.
        const std::uint64_t log = grown - file_.log_at();
        const std::uint64_t step = std::clamp<std::uint64_t>(log / 8, page_bytes * 16, 64U << 20);
        const std::uint64_t more =
            std::max(step, end - grown + page_bytes) / page_bytes * page_bytes;
        if (auto done = file_.file_.extend(grown, more); !done) return done;
        grown += more;
      }
      if (auto mapped = file_.map_log(grown); !mapped) return mapped;
    }
  }
  if (file_.in_place() && !by_call) file_.leave_pages_before(place);
  const std::uint64_t epoch = runtime.epoch;
  if (!is_written || !by_call) {
    const auto head = seal_record(record, file_.seal(epoch), at);
    auto done =
        is_written ? file_.put(place, head, false) : file_.put_record(place, head, record, by_call);
    if (!done) return done;
  }
  runtime.published.store(runtime.published + record.bytes(), std::memory_order_release);
  return {};
}

// Of the log, where it is written by stores: gives back the pages of the piece that this object
// wrote before.
void LiveFile::leave_pages_before(std::uint64_t place) {
  constexpr std::uint64_t piece_bytes = 256U << 10;
  const std::uint64_t piece = (place - log_at()) / piece_bytes;
  if (piece == piece_written_) return;
  const std::uint64_t left = std::exchange(piece_written_, piece);
  SharedFile::expect(SharedFile::Use::written, log_, left * piece_bytes, piece_bytes);
}

Result<std::uint64_t> LiveFile::follow(std::uint64_t from, const Visit& visit) {
  // Nobody has had it open since the system was started: the log ends where its records do.
  if (file_.access() == SharedFile::Access::read && (is_at_rest() || !is_recovered())) {
    if (from > 0) return from;
    const std::uint64_t end = at_rest_ ? at_rest_->log_end : ~std::uint64_t{0};
    return each_record(log_at_rest(end), seal(head_.block.live.epoch), visit);
  }
  const std::uint64_t end = runtime_->published.load(std::memory_order_acquire);
  if (from >= end) return from;
  if (end > log_.size()) {
    const auto bytes = file_.size_bytes();
    if (!bytes) return bytes.error();
    if (auto mapped = map_log(*bytes); !mapped) return mapped.error();
  }
  const auto reached = each_record(region(0).first(end), seal(head_.block.live.epoch), visit, from);
  if (!reached) return reached.error();
  if (*reached != end)
    return Error{Code::damaged, name() +
                                    " is damaged: its log has a record that does not match its "
                                    "checksum; restore it from a copy or build it again"};
  return end;
}

Result<void> LiveFile::settle_form(KeyForm form) {
  std::uint32_t now = runtime_->form;
  for (;;) {
    const auto held = static_cast<KeyForm>(now);
    if (!forms_meet(held, form)) return wrong_form(held, form);
    const auto next = static_cast<std::uint32_t>(joined(held, form));
    if (next == now || runtime_->form.compare_exchange_weak(now, next)) return {};
  }
}

}  // namespace bloomery::inline v0::detail
