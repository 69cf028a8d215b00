// Reading an RDB file or a RESTORE payload: after the first failure every field is zero.
#pragma once

#include <cstdint>
#include <optional>

#include <bloomery/served/host_bytes.hpp>
#include <tools/redis/server/api.hpp>

namespace bloomery::redis {

class SavedReader {
 public:
  explicit SavedReader(IO* io) : io_(io) {}

  bool failed() const { return failed_; }

  std::uint64_t number() { return failed_ ? 0 : kept(api.load_unsigned(io_)); }
  double real() { return failed_ ? 0 : kept(api.load_double(io_)); }

  // Empty after a failure.
  HostBytes bytes() {
    if (failed_) return {};
    std::size_t size = 0;
    char* start = api.load_string_buffer(io_, &size);
    failed_ = start == nullptr || api.is_io_error(io_) != 0;
    HostBytes loaded = start == nullptr ? HostBytes{} : HostBytes::adopt(start, size);
    return failed_ ? HostBytes{} : std::move(loaded);
  }

 private:
  template <class T>
  T kept(T value) {
    failed_ = api.is_io_error(io_) != 0;
    return failed_ ? T{} : value;
  }

  IO* io_;
  bool failed_ = false;
};

// Promised bytes are saved as zeros.
void save_bytes(IO* io, const HostBytes& bytes);

// Bytes that are all zero take no memory again after loading, as before saving.
inline HostBytes unless_zero(HostBytes bytes) {
  return bytes.is_zero() ? HostBytes::promised(bytes.size()) : std::move(bytes);
}

// Tells the log why a value was not loaded, and gives the null that says so to the server.
inline void* refuse(IO* io, const char* what, const char* why) {
  api.log_io_error(io, "warning", "%s was not loaded: %s", what, why);
  return nullptr;
}

}  // namespace bloomery::redis
