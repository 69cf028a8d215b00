// The fields of a saved filter, one after the other, wherever they lie: in an RDB file, in memory.
//
// The engines know which fields come in which order, and nothing else does; the host knows where
// they go and come from.
// Threads: values.
#pragma once

#include <cstdint>
#include <string_view>

#include <bloomery/served/host_bytes.hpp>

namespace bloomery::inline v0::detail::served {

// Has no way to fail: a host that cannot write ends its own save.
class FieldWriter {
 public:
  virtual ~FieldWriter() = default;
  virtual void number(std::uint64_t number) = 0;
  virtual void real(double number) = 0;
  virtual void bytes(std::string_view bytes) = 0;
  // So many, all zero.
  virtual void zeros(std::uint64_t count) = 0;

  // Promised bytes are saved as zeros.
  void bytes(const HostBytes& saved) {
    saved.is_taken() ? bytes(saved.text()) : zeros(saved.size());
  }
};

// After the first failure every field is zero, or empty.
class FieldReader {
 public:
  virtual ~FieldReader() = default;
  virtual bool failed() const = 0;
  virtual std::uint64_t number() = 0;
  virtual double real() = 0;
  virtual HostBytes bytes() = 0;
};

}  // namespace bloomery::inline v0::detail::served
