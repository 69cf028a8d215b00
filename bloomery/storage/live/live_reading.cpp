// What is told of a live file without attaching to it: its log, its facts, its checksums.
#include <algorithm>
#include <cstring>
#include <utility>

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

Result<void> LiveFile::count_at_rest() {
  AtRest found{head_.block.live.adds, head_.block.live.form};
  const Visit count = [&](const LogRecord& record) -> Result<void> {
    if (record.op == LogOp::add) found.adds += record.keys;
    found.form = joined(found.form, record.form);
    return {};
  };
  if (in_place()) {
    if (auto counted = each_logged(count); !counted) return counted;
  } else {
    const auto counted = each_record(region(0), seal(head_.block.live.epoch), count);
    if (!counted) return counted.error();
  }
  at_rest_ = found;
  return {};
}

Result<void> LiveFile::check_sums(const Mark& mark) const {
  const auto head = read_head();
  if (!head) return head.error();
  const LiveFields& live = head->block.live;
  const bool closed = live.boot == Boot{};
  if (in_place() && !closed && (!is_this_boot(live.boot) || is_copy()))
    return Error{Code::unsupported,
                 name() +
                     " was in use when the system stopped or when it was copied, and has no "
                     "checksums until it is opened to be added to or sealed, which recovers it"};
  const auto image = std::as_const(image_).bytes();
  if (auto sound = check_image_bytes(name(), *head, image, closed || !in_place()); !sound)
    return sound;
  std::uint64_t chunk = 0;
  for (const Region& payload : head->layout.payloads) {
    ChunkMarks marks(payload.length, chunk_bytes);
    for (const std::uint64_t epoch : {live.epoch, live.epoch + 1}) {
      if (!in_place()) break;
      const auto marked = each_record(region(epoch), seal(epoch), [&](const LogRecord& record) {
        mark(record, marks);
        return Result<void>();
      });
      if (!marked) return marked.error();
    }
    for (std::uint64_t of_payload = 0; of_payload < marks.size(); ++of_payload, ++chunk) {
      if (marks[of_payload]) continue;
      const std::uint64_t at = of_payload * chunk_bytes;
      const auto length = std::min<std::uint64_t>(chunk_bytes, payload.length - at);
      std::uint64_t sum = 0;
      std::memcpy(&sum, image.data() + head->layout.table.offset + 8 * chunk, sizeof sum);
      if (chunk_sum(image.subspan(payload.offset + at, length), head->block.uuid, chunk) != sum)
        return Error{Code::damaged,
                     name() + " is damaged: the " + std::to_string(length) + " bytes from byte " +
                         std::to_string(payload.offset + at) +
                         " on do not match their checksum; restore it from a copy or build it "
                         "again"};
    }
  }
  return {};
}

}  // namespace bloomery::inline v0::detail
