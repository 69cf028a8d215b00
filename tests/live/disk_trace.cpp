#include "disk_trace.hpp"

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace bloomery::cuts {

std::vector<DiskEvent> read_trace(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), {});
  TraceHead head{};
  if (all.size() >= trace_head_bytes) std::memcpy(&head, all.data(), sizeof head);
  if (head.magic != TraceHead::expected_magic || head.used_bytes > all.size())
    throw std::runtime_error(path.string() + " is not a trace of record_disk");
  std::vector<DiskEvent> events;
  for (std::uint64_t at = trace_head_bytes; at < head.used_bytes;) {
    DiskRecord record{};
    std::memcpy(&record, all.data() + at, sizeof record);
    at += sizeof record;
    events.push_back({record.kind, record.file, record.offset, record.length, record.ticket,
                      all.substr(at, record.text_bytes)});
    at += padded_to_8(record.text_bytes);
  }
  return events;
}

}  // namespace bloomery::cuts
