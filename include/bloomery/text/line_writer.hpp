// Bytes out: gathered into big writes, to a lent descriptor or to a file of our own.
//
// Prefer it to std::ofstream where a file must be the old one or the new one, and where an error of
// the system must not be lost.
//
// Example:
//    auto out = LineWriter::create("kept.txt", Overwrite::refuse);
//    if (!out) return out.error();                 // Code::exists: there is such a file
//    for (const std::string_view line : lines) {
//      out->append(line);
//      out->append("\n");
//    }
//    if (auto closed = out->close(); !closed) return closed;  // only now it has its name
//
//    LineWriter shown(1, "standard output");       // lent: it stays open
//    shown.append("done\n");
//    if (auto flushed = shown.flush(); !flushed && !shown.reader_gone()) return flushed;
//
// A created file is a DurableFile: it gets its name only when close() succeeds, so an interrupted
// run leaves the old file. Devices and pipes are written in place. With an Encoder what is written
// is compressed; a flush makes all of it readable where it is written in place, and close() ends
// the stream.
// Errors:  append() never fails: the first error of the system is kept, what follows is dropped,
//          and flush() and close() return that error. Check good() once per batch.
// Limits:  a program that writes to pipes must ignore SIGPIPE, else the signal ends it before
//          reader_gone() can be asked.
// Threads: one writer, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <bloomery/detail/engines/input/encoder.hpp>
#include <bloomery/error.hpp>
#include <bloomery/file.hpp>

namespace bloomery::inline v0 {

class LineWriter {
 public:
  static constexpr std::size_t default_buffer_bytes = std::size_t{1} << 20;

  // Writes to a descriptor that stays open and stays the caller's. The name is for sentences.
  LineWriter(int lent_fd, std::string name, std::size_t buffer_bytes = default_buffer_bytes);
  // "-" and "/dev/stdout" are the standard output, also when that is a file; "/dev/stderr" is the
  // standard error.
  // Error with Code::exists when there is such a file and `overwrite` refuses to replace it.
  static Result<LineWriter> create(const std::string& path, Overwrite overwrite);

  // Resumes a file of ours in place after its first `bytes`, and cuts off what follows them. A
  // missing file is created if `bytes` is 0. Error with Code::mismatch when the file is shorter.
  // It is locked (flock) until it is closed: an Error when another writer has resumed it.
  // before_cut() is called when it is locked but not changed yet; its Error is returned.
  static Result<LineWriter> resume(const std::string& path, std::uint64_t bytes,
                                   const std::function<Result<void>()>& before_cut = {});

  // Compresses from the first byte on; nullptr: no compression. Not for a resumed file.
  void encode_with(std::unique_ptr<detail::Encoder> encoder) { encoder_ = std::move(encoder); }

  LineWriter(LineWriter&& other) noexcept;
  LineWriter& operator=(LineWriter&& other) = delete;
  // Without close() before: what is buffered for a lent descriptor is written and errors are lost;
  // a created file is thrown away.
  ~LineWriter();

  void append(std::string_view bytes) {
    if (bytes.size() > room()) return append_slowly(bytes);
    bytes.copy(buffer_.get() + used_, bytes.size());  // An empty view may have no address.
    used_ += bytes.size();
  }
  // Bytes that are worth a write of their own are not copied into the buffer first.
  void append_block(std::string_view bytes) {
    if (bytes.size() < least_block_bytes) return append(bytes);
    write_out();
    write_all(bytes);
  }
  // Room for `bytes` (at most a buffer) to write into directly; then commit what was used.
  char* reserve(std::size_t bytes) {
    if (bytes > room()) write_out();
    return buffer_.get() + used_;
  }
  void commit(std::size_t bytes) { used_ += bytes; }

  // Writes out what is gathered.
  Result<void> flush();
  // Flushes, and returns when it is on disk. Pipes and devices are flushed only.
  Result<void> sync();
  // Flushes, closes what is ours, and gives a created file its name. Once.
  Result<void> close();

  bool good() const { return !error_; }
  // The reader of our output has gone (EPIPE), which needs no message.
  bool reader_gone() const { return reader_gone_; }
  // Before they are compressed.
  std::uint64_t bytes_written() const { return bytes_taken_ + used_; }
  const std::string& name() const { return name_; }

 private:
  static constexpr std::size_t least_block_bytes = std::size_t{32} << 10;

  std::size_t room() const { return buffer_bytes_ - used_; }
  void append_slowly(std::string_view bytes);
  void write_out();
  void write_all(std::string_view bytes);
  void encode(std::string_view bytes, detail::EncodeUntil until);
  void write_bytes(std::string_view bytes);
  void write_in_place(std::string_view bytes);
  void fail(int error_number);
  Result<void> outcome() const;

  int fd_;  // what is written in place; -1: file_
  std::string name_;
  std::size_t buffer_bytes_;
  std::unique_ptr<char[]> buffer_;
  std::size_t used_ = 0;
  std::uint64_t bytes_flushed_ = 0;  // of those taken, by the encoder
  std::uint64_t bytes_taken_ = 0;    // from the buffer, and from what was there before
  std::uint64_t bytes_written_ = 0;  // to the file: the same without an encoder
  std::unique_ptr<detail::Encoder> encoder_;
  std::string encoded_;
  std::optional<Error> error_;
  bool reader_gone_ = false;
  bool closed_ = false;
  detail::Descriptor owned_;  // fd_, if it is ours to close
  std::optional<DurableFile> file_;
};

}  // namespace bloomery::inline v0
