// The redo log of live files: whatever a region holds, it is read up to an end, no byte beyond it
// is touched, and what is read is written again as the same bytes.
//
//    | uuid, epoch, rises | records: op, words, form, run, flaw, content | garbage |
//
// Records are sealed by the target, so that the fuzzer need not find checksums; a flaw breaks one.
#include <cstring>
#include <vector>

#include <bloomery/storage/live/live_log.hpp>

#include <tests/fuzz/byte_feed.hpp>
#include <tests/fuzz/must.hpp>

namespace bloomery::fuzz {
namespace {

using namespace detail;

struct Written {
  std::vector<std::byte> region;
  std::uint64_t records = 0;  // whole ones from the beginning on
  std::uint64_t end = 0;      // of those
};

void append(std::vector<std::byte>& region, const LogRecord& record, const LogSeal& seal) {
  const auto head = seal_record(record, seal, region.size());
  region.insert(region.end(), head.begin(), head.end());
  const auto content = std::as_bytes(record.content);
  region.insert(region.end(), content.begin(), content.end());
}

Written write(ByteFeed& feed, LogSeal seal) {
  Written written;
  bool whole = true;
  for (std::uint8_t left = feed.byte() % 16; left > 0 && feed.left() > 0; --left) {
    LogRecord record;
    record.op = static_cast<LogOp>(1 + feed.byte() % 7);
    record.words = static_cast<std::uint8_t>(1 + feed.byte() % 2);
    record.form = static_cast<KeyForm>(feed.byte() % 6);
    record.run = feed.number<std::uint16_t>();
    const std::uint8_t flaw = feed.byte();
    std::vector<std::uint64_t> content(feed.byte() % 64 / record.words * record.words);
    const auto text = feed.text(8 * content.size());
    if (!text.empty()) std::memcpy(content.data(), text.data(), text.size());
    record.keys = static_cast<std::uint32_t>(content.size() / record.words);
    record.content = content;
    if (seal.rises) seal.epoch += flaw % 4 == 1;
    const std::size_t at = written.region.size();
    append(written.region, record, seal);
    // One bit of the head or of the content, wherever it is.
    if (flaw >= 250) {
      const std::size_t place = at + flaw * 7U % (written.region.size() - at);
      written.region[place] ^= std::byte{1} << (flaw & 7);
      whole = false;
    }
    written.records += whole;
    if (whole) written.end = written.region.size();
  }
  return written;
}

void check(const std::uint8_t* data, std::size_t size) {
  ByteFeed feed(data, size);
  LogSeal seal{
      .uuid_low = feed.byte(), .epoch = 1U + feed.byte() % 4, .rises = feed.byte() % 2 == 1};
  Written written = write(feed, seal);
  const auto garbage = feed.rest();
  const auto* const begin = reinterpret_cast<const std::byte*>(garbage.data());
  written.region.insert(written.region.end(), begin, begin + garbage.size());
  // A mapping begins on a page, a vector on 16 bytes: records are aligned either way.
  std::uint64_t records = 0;
  std::vector<std::byte> again;
  const auto end = each_record(written.region, seal, [&](const LogRecord& record) -> Result<void> {
    must(record.content.size() == std::size_t{record.keys} * record.words, "keys have their words");
    append(again, record, {.uuid_low = seal.uuid_low, .epoch = record.epoch});
    ++records;
    return {};
  });
  must(end.has_value(), "a log has an end");
  must(*end <= written.region.size(), "a log ends in its region");
  must(records >= written.records && *end >= written.end, "a whole record is read");
  written.region.resize(*end);
  must(again == written.region, "what is read is written again as the same bytes");
}

}  // namespace
}  // namespace bloomery::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bloomery::fuzz::check(data, size);
  return 0;
}
