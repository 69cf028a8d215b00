// The fields of an RDB file or a RESTORE payload, as the filters write and read them.
#pragma once

#include <cstdint>
#include <string_view>

#include <bloomery/served/saved_fields.hpp>
#include <tools/redis/server/api.hpp>

namespace bloomery::redis {

class SavedWriter final : public FieldWriter {
 public:
  explicit SavedWriter(IO* io) : io_(io) {}

  void number(std::uint64_t number) override { api.save_unsigned(io_, number); }
  void real(double number) override { api.save_double(io_, number); }
  void bytes(std::string_view bytes) override {
    api.save_string_buffer(io_, bytes.data(), bytes.size());
  }
  void zeros(std::uint64_t count) override;

 private:
  IO* io_;
};

class SavedReader final : public FieldReader {
 public:
  explicit SavedReader(IO* io) : io_(io) {}

  bool failed() const override { return failed_; }
  std::uint64_t number() override { return failed_ ? 0 : kept(api.load_unsigned(io_)); }
  double real() override { return failed_ ? 0 : kept(api.load_double(io_)); }
  HostBytes bytes() override;

 private:
  template <class T>
  T kept(T value) {
    failed_ = api.is_io_error(io_) != 0;
    return failed_ ? T{} : value;
  }

  IO* io_;
  bool failed_ = false;
};

}  // namespace bloomery::redis
