#include <tools/redis/server/saved_io.hpp>

#include <new>
#include <utility>

namespace bloomery::redis {

void SavedWriter::zeros(std::uint64_t count) {
  // Pages that are only read take no memory.
  HostBytes zeros = HostBytes::promised(count);
  if (count != 0 && !zeros.take()) throw std::bad_alloc();  // ends the save: caught.hpp
  bytes(zeros.text());
}

HostBytes SavedReader::bytes() {
  if (failed_) return {};
  std::size_t size = 0;
  char* start = api.load_string_buffer(io_, &size);
  failed_ = start == nullptr || api.is_io_error(io_) != 0;
  HostBytes loaded = start == nullptr ? HostBytes{} : HostBytes::adopt(start, size);
  return failed_ ? HostBytes{} : std::move(loaded);
}

}  // namespace bloomery::redis
