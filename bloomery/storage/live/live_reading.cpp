// What is told of a live file without attaching to it: its log, its facts, its checksums.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include <bloomery/storage/image_layout.hpp>
#include <bloomery/storage/live/live_file.hpp>
#include <bloomery/storage/live/live_image.hpp>

namespace bloomery::inline v0::detail {

Result<void> LiveFile::each_logged(const Visit& visit) const {
  const std::uint64_t epoch = head_.block.live.epoch;
  for (const std::uint64_t one : {epoch, epoch + 1})
    if (const auto done = each_record(region(one), seal(one), visit); !done) return done.error();
  return {};
}

Result<LiveFacts> LiveFile::facts() const {
  const auto head = read_head();
  if (!head) return head.error();
  const LiveFields& live = head->block.live;
  LiveFacts facts{.in_place = in_place()};
  const auto attached = file_.is_attached();
  if (!attached) return attached.error();
  const bool in_use = *attached;
  if (in_use || live.boot != Boot{})
    facts.state = in_use ? LiveFacts::State::in_use : LiveFacts::State::cut;
  const Visit count = [&](const LogRecord& record) -> Result<void> {
    facts.log_bytes += record.bytes();
    if (record.op == LogOp::add) facts.log_keys += record.keys;
    return {};
  };
  for (const std::uint64_t epoch : {live.epoch, live.epoch + 1}) {
    if (epoch != live.epoch && !in_place()) break;
    const auto counted = each_record(region(epoch), seal(epoch), count);
    if (!counted) return counted.error();
  }
  const std::uint64_t durable = runtime_->durable, published = runtime_->published;
  if (facts.state != LiveFacts::State::closed && is_ready() && durable < published)
    facts.unsynced_bytes = published - durable;
  return facts;
}

// Whoever opens or closes it has the door locked for a moment; who opens it alone has perhaps not
// recovered it yet, and then its page says nothing.
Result<bool> LiveFile::is_in_use() const {
  constexpr int most_looks = 100;
  for (int looks = 1;; ++looks) {
    const auto attached = file_.is_attached();
    if (!attached) return attached.error();
    if (!*attached) return false;
    const auto opening = file_.is_door_locked();
    if (!opening) return opening.error();
    if (!*opening || looks == most_looks) return !*opening && is_recovered();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Result<void> LiveFile::look_at_rest() {
  at_rest_.reset();
  const auto in_use = is_in_use();
  if (!in_use) return in_use.error();
  if (*in_use) return {};
  const auto attached = file_.is_attached();
  if (!attached) return attached.error();
  const Moment now = moment();
  // What others did while it was waited for them.
  auto head = read_head();
  if (!head) return head.error();
  head_ = std::move(*head);
  const auto bytes = file_.size_bytes();
  if (!bytes) return bytes.error();
  if (auto mapped = map_log(*bytes); !mapped) return mapped;
  AtRest found{head_.block.live.adds, head_.block.live.form, now};
  // A record that nobody has counted is written over while others have it open.
  if (*attached && is_recovered()) found.log_end = runtime_->published;
  std::uint64_t log_bytes = 0;
  const Visit count = [&](const LogRecord& record) -> Result<void> {
    log_bytes += record.bytes();
    if (record.op == LogOp::add) found.adds += record.keys;
    found.form = joined(found.form, record.form);
    return {};
  };
  if (in_place()) {
    if (auto counted = each_logged(count); !counted) return counted;
  } else {
    const auto counted =
        each_record(log_at_rest(found.log_end), seal(head_.block.live.epoch), count);
    if (!counted) return counted.error();
    found.log_end = *counted;
  }
  const auto mixed = has_parts_of_different_times();
  if (!mixed) return mixed.error();
  const LiveFields& live = head_.block.live;
  found.is_whole = is_recovered() && !*mixed && live.boot == Boot{} && log_bytes == live.log_end;
  at_rest_ = found;
  return {};
}

// -- checksums ------------------------------------------------------------------------------------

Error LiveFile::chunk_is_damaged(const Region& payload, std::uint64_t at,
                                 std::uint64_t length) const {
  return {Code::damaged, name() + " is damaged: the " + std::to_string(length) +
                             " bytes from byte " + std::to_string(payload.offset + at) +
                             " on do not match their checksum; restore it from a copy or build it "
                             "again"};
}

// Of these chunks, which of all payloads are counted through, those that do not match.
std::vector<LiveFile::Chunk> LiveFile::unmatched(const std::vector<Chunk>& chunks) const {
  const auto image = std::as_const(image_).bytes();
  std::vector<Chunk> found;
  for (const Chunk& one : chunks) {
    std::uint64_t sum = 0;
    const auto bytes = image.subspan(one.payload->offset + one.at, one.length);
    const std::uint64_t now = chunk_sum(bytes, head_.block.uuid, one.number);
    std::memcpy(&sum, image.data() + head_.layout.table.offset + 8 * one.number, sizeof sum);
    if (now != sum) found.push_back(one);
  }
  return found;
}

// Chunks that somebody may have changed since their sums were taken: by the keys of the log, and by
// those of an add that is under way, or whose process ended, which are read first.
Result<ChunkMarks> LiveFile::changed_chunks(const LiveFields& live, const Mark& mark) const {
  ChunkMarks marks = no_marks();
  const Visit visit = [&](const LogRecord& record) -> Result<void> {
    if (is_of_keys(record.op)) mark(record, marks);
    return {};
  };
  std::atomic_thread_fence(std::memory_order_acquire);
  if (is_ready())
    if (const auto under_way = intended()) mark(*under_way, marks);
  for (const std::uint64_t epoch : {live.epoch, live.epoch + 1}) {
    const auto marked = each_record(region(epoch), seal(epoch), visit);
    if (!marked) return marked.error();
  }
  return marks;
}

// Others may add, and make checkpoints, while the sums are taken. So what does not match is looked
// at again: a chunk is damaged if nothing before or after its sum was taken accounts for it.
Result<void> LiveFile::check_sums(const Mark& mark) const {
  std::vector<Chunk> suspects;
  std::uint64_t number = 0;
  for (const Region& payload : head_.layout.payloads)
    for (std::uint64_t at = 0; at < payload.length; at += chunk_bytes, ++number)
      suspects.push_back(
          {&payload, at, std::min<std::uint64_t>(chunk_bytes, payload.length - at), number});
  for (bool first = true;;) {
    const auto mixed = has_parts_of_different_times();
    if (!mixed) return mixed.error();
    const auto head = read_head();
    if (!head) return head.error();
    const LiveFields& live = head->block.live;
    const bool closed = live.boot == Boot{};
    if (in_place() && (*mixed || (!closed && (!is_this_boot(live.boot) || is_copy()))))
      return Error{Code::unsupported,
                   name() +
                       " was in use when the system stopped or when it was copied, and has no "
                       "checksums until it is opened to be added to or sealed, which recovers it"};
    if (first) {
      auto sound =
          check_image_bytes(name(), *head, std::as_const(image_).bytes(), closed || !in_place());
      if (!sound) {
        const auto now = read_head();
        if (now && now->block.generation != head->block.generation) continue;
        return sound;
      }
      first = false;
    }
    suspects = unmatched(suspects);
    if (suspects.empty()) return {};
    if (in_place()) {
      const auto marks = changed_chunks(live, mark);
      if (!marks) return marks.error();
      std::erase_if(suspects, [&](const Chunk& one) { return (*marks)[one.number]; });
      if (suspects.empty()) return {};
      // After a checkpoint the sums are others, and the log is.
      const auto now = read_head();
      if (!now) return now.error();
      if (now->block.generation != head->block.generation) continue;
    }
    const Chunk& one = suspects.front();
    return chunk_is_damaged(*one.payload, one.at, one.length);
  }
}

}  // namespace bloomery::inline v0::detail
