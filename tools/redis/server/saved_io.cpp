#include <tools/redis/server/saved_io.hpp>

#include <cstdlib>

namespace bloomery::redis {

void save_bytes(IO* io, const HostBytes& bytes) {
  // Pages that are only read take no memory.
  HostBytes zeros = HostBytes::promised(bytes.size());
  // The server cannot be told that saving has failed, and a file that cannot be loaded is worse.
  if (!bytes.is_taken() && bytes.size() != 0 && !zeros.take()) std::abort();
  const HostBytes& saved = bytes.is_taken() ? bytes : zeros;
  api.save_string_buffer(io, saved.text().data(), saved.size());
}

}  // namespace bloomery::redis
