#include <bloomery/storage/live/live_log.hpp>

#include <array>
#include <cstring>

#include <xxhash.h>

#include <bloomery/detail/hash/xxh3.hpp>

namespace bloomery::inline v0::detail {
namespace {

constexpr std::uint32_t record_mark = 0x4c4d4c42;  // "BLML"

using Head = std::array<std::byte, LogRecord::head_bytes>;

template <class T>
void put(Head& head, std::size_t at, T value) {
  std::memcpy(head.data() + at, &value, sizeof value);
}
template <class T>
T taken(const std::byte* head, std::size_t at) {
  T value;
  std::memcpy(&value, head + at, sizeof value);
  return value;
}

std::uint64_t sum_of(const std::byte* head, std::span<const std::uint64_t> content,
                     const LogSeal& seal, std::uint64_t at) {
  const std::uint64_t seed = seal.uuid_low ^ (seal.epoch * 0x9e37'79b9'7f4a'7c15U) ^ at;
  const std::uint64_t keys = xxh3_64(content.data(), content.size_bytes(), seed);
  return xxh3_64(head, LogRecord::head_bytes - sizeof(std::uint64_t), keys);
}

bool is_known(LogOp op, std::uint8_t words) {
  return op >= LogOp::add && op <= LogOp::settled && (words == 1 || words == 2);
}

}  // namespace

AnyInputs LogRecord::inputs(bool ordinals) const {
  static_assert(sizeof(Hash) == 8 && sizeof(Ordinal) == 8 && sizeof(WideHash) == 16);
  if (words == 2) return std::span(reinterpret_cast<const WideHash*>(content.data()), keys);
  if (ordinals) return std::span(reinterpret_cast<const Ordinal*>(content.data()), keys);
  return std::span(reinterpret_cast<const Hash*>(content.data()), keys);
}

std::span<const std::uint64_t> words_of(const AnyInputs& inputs, std::uint8_t& words_a_key) {
  return std::visit(
      [&]<class Key>(std::span<const Key> keys) -> std::span<const std::uint64_t> {
        words_a_key = sizeof(Key) / 8;
        return {reinterpret_cast<const std::uint64_t*>(keys.data()), keys.size() * words_a_key};
      },
      inputs);
}

Head seal_record(const LogRecord& record, const LogSeal& seal, std::uint64_t at) {
  Head head{};
  put(head, 0, record_mark);
  put(head, 4, record.op);
  put(head, 5, record.words);
  put(head, 6, record.form);
  put(head, 8, record.keys);
  put(head, 12, record.run);
  put(head, 16, seal.epoch);
  put(head, 24, sum_of(head.data(), record.content, seal, at));
  return head;
}

Result<std::uint64_t> each_record(std::span<const std::byte> region, const LogSeal& seal,
                                  const std::function<Result<void>(const LogRecord&)>& visit,
                                  std::uint64_t from) {
  std::uint64_t at = from;
  std::uint64_t epoch = seal.epoch;
  while (region.size() - at >= LogRecord::head_bytes) {
    const std::byte* const head = region.data() + at;
    LogRecord record;
    record.op = taken<LogOp>(head, 4);
    record.words = taken<std::uint8_t>(head, 5);
    record.form = taken<KeyForm>(head, 6);
    record.keys = taken<std::uint32_t>(head, 8);
    record.run = taken<std::uint32_t>(head, 12);
    record.epoch = taken<std::uint64_t>(head, 16);
    const bool timely = seal.rises ? record.epoch >= epoch : record.epoch == epoch;
    if (taken<std::uint32_t>(head, 0) != record_mark || !timely ||
        !is_known(record.op, record.words) || record.form > KeyForm::mixed ||
        record.bytes() > region.size() - at)
      break;
    record.content = {reinterpret_cast<const std::uint64_t*>(head + LogRecord::head_bytes),
                      std::size_t{record.keys} * record.words};
    const LogSeal own{seal.uuid_low, record.epoch};
    if (taken<std::uint64_t>(head, 24) != sum_of(head, record.content, own, at)) break;
    epoch = record.epoch;
    if (auto done = visit(record); !done) return done.error();
    at += record.bytes();
  }
  return at;
}

}  // namespace bloomery::inline v0::detail
