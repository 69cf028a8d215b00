#include <bloomery/engines/input/codecs.hpp>

#include <bzlib.h>
#include <lz4frame.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace bloomery::inline v0::detail {
namespace {

constexpr std::uint64_t most_xz_bytes = std::uint64_t{256} << 20;

// The C interfaces count in 32 bits, and gzip and bzip2 want their input without const.
unsigned chunk(std::size_t bytes) {
  return static_cast<unsigned>(std::min<std::size_t>(bytes, std::numeric_limits<unsigned>::max()));
}

Decoded failing(Decoded step, Error error) {
  step.failed = std::move(error);
  return step;
}

// Between two members: zeros up to the end of the file are padding, and no member follows them.
class Padding {
 public:
  bool begun() const { return begun_; }
  // Takes the zeros; false when another byte follows the first of them.
  bool take(std::span<const char> in, Decoded& step) {
    begun_ = begun_ || (!in.empty() && in[0] == 0);
    if (!begun_) return true;
    while (step.taken < in.size() && in[step.taken] == 0) ++step.taken;
    return step.taken == in.size();
  }

 private:
  bool begun_ = false;
};

class GzipDecoder final : public Decoder {
 public:
  // 15: the largest window; 16: gzip and its checksum, not zlib.
  bool start() { return started_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }
  ~GzipDecoder() override {
    if (started_) inflateEnd(&stream_);
  }

  Decoded decode(std::span<const char> in, std::span<char> out, bool last) override {
    Decoded step;
    if (between_) {
      if (!padding_.take(in, step)) return failing(step, garbage_after("gzip"));
      if (padding_.begun() || in.empty()) return step;
      inflateReset(&stream_);
      between_ = false;
      first_ = false;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = chunk(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = chunk(out.size());
    const unsigned offered = stream_.avail_in;
    const unsigned room = stream_.avail_out;
    const int done = inflate(&stream_, Z_NO_FLUSH);
    step.taken = offered - stream_.avail_in;
    step.made = room - stream_.avail_out;
    between_ = done == Z_STREAM_END;
    if (done == Z_OK || done == Z_STREAM_END) return step;
    if (done == Z_BUF_ERROR) return last ? failing(step, cut_short("gzip")) : step;
    if (done == Z_MEM_ERROR) return failing(step, no_memory_for("gzip"));
    // Two bytes of magic, two of method and flags: bytes that fail there are not a member at all.
    if (!first_ && stream_.total_in <= 4) return failing(step, garbage_after("gzip"));
    return failing(step, damaged_stream("gzip", stream_.msg != nullptr ? stream_.msg : "unknown"));
  }

 private:
  z_stream stream_{};
  bool started_ = false;
  bool first_ = true;  // member
  bool between_ = false;
  Padding padding_;
};

class Bzip2Decoder final : public Decoder {
 public:
  bool start() { return started_ = BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK; }
  ~Bzip2Decoder() override {
    if (started_) BZ2_bzDecompressEnd(&stream_);
  }

  Decoded decode(std::span<const char> in, std::span<char> out, bool last) override {
    Decoded step;
    if (between_) {
      if (!padding_.take(in, step)) return failing(step, garbage_after("bzip2"));
      if (padding_.begun() || in.empty()) return step;
      BZ2_bzDecompressEnd(&stream_);
      stream_ = {};
      if (!start()) return failing(step, no_memory_for("bzip2"));
      between_ = false;
      first_ = false;
    }
    stream_.next_in = const_cast<char*>(in.data());
    stream_.avail_in = chunk(in.size());
    stream_.next_out = out.data();
    stream_.avail_out = chunk(out.size());
    const unsigned offered = stream_.avail_in;
    const unsigned room = stream_.avail_out;
    const int done = BZ2_bzDecompress(&stream_);
    step.taken = offered - stream_.avail_in;
    step.made = room - stream_.avail_out;
    between_ = done == BZ_STREAM_END;
    if (done == BZ_STREAM_END) return step;
    // bzip2 has no code for "needs more input": if room is left, it has made all that it can.
    const bool dry = last && step.made == 0 && step.taken == in.size();
    if (done == BZ_OK) return dry ? failing(step, cut_short("bzip2")) : step;
    if (done == BZ_MEM_ERROR) return failing(step, no_memory_for("bzip2"));
    if (done == BZ_DATA_ERROR_MAGIC && !first_) return failing(step, garbage_after("bzip2"));
    return failing(step, damaged_stream("bzip2", "a checksum or a code is wrong"));
  }

 private:
  bz_stream stream_{};
  bool started_ = false;
  bool first_ = true;
  bool between_ = false;
  Padding padding_;
};

class XzDecoder final : public Decoder {
 public:
  bool start() {
    constexpr std::uint32_t flags = LZMA_CONCATENATED | LZMA_TELL_UNSUPPORTED_CHECK;
    return lzma_stream_decoder(&stream_, most_xz_bytes, flags) == LZMA_OK;
  }
  ~XzDecoder() override { lzma_end(&stream_); }

  Decoded decode(std::span<const char> in, std::span<char> out, bool last) override {
    if (ended_) return {};
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = out.size();
    const lzma_ret done = lzma_code(&stream_, last ? LZMA_FINISH : LZMA_RUN);
    const Decoded step{in.size() - stream_.avail_in, out.size() - stream_.avail_out, {}};
    ended_ = done == LZMA_STREAM_END;
    // The first call without progress returns LZMA_OK, the second LZMA_BUF_ERROR.
    const bool dry = last && step.made == 0 && step.taken == 0;
    if (ended_ || (done == LZMA_OK && !dry)) return step;
    if (done == LZMA_BUF_ERROR && !last) return step;
    return failing(step, why(done));
  }

 private:
  Error why(lzma_ret done) const {
    switch (done) {
      case LZMA_OK:
      case LZMA_BUF_ERROR: return cut_short("xz");
      case LZMA_MEM_ERROR: return no_memory_for("xz");
      case LZMA_MEMLIMIT_ERROR:
        return {Code::no_memory, "the xz stream needs " + std::to_string(lzma_memusage(&stream_)) +
                                     " bytes to decode, and " + std::to_string(most_xz_bytes) +
                                     " are allowed; pipe it through 'xz -dc'"};
      case LZMA_UNSUPPORTED_CHECK:
      case LZMA_OPTIONS_ERROR:
        return {Code::unsupported,
                "the xz stream has a filter or a checksum that this liblzma does not know; pipe it "
                "through a newer 'xz -dc'"};
      case LZMA_FORMAT_ERROR: return garbage_after("xz");  // the first header was a good one
      default: return damaged_stream("xz", "a checksum or a code is wrong");
    }
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool ended_ = false;
};

class ZstdDecoder final : public Decoder {
 public:
  bool start() { return (stream_ = ZSTD_createDStream()) != nullptr; }
  ~ZstdDecoder() override { ZSTD_freeDStream(stream_); }

  Decoded decode(std::span<const char> in, std::span<char> out, bool last) override {
    ZSTD_inBuffer from{in.data(), std::min(in.size(), most_at_once()), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    if (in.empty() && !in_frame_) return {};
    const std::size_t left = ZSTD_decompressStream(stream_, &to, &from);
    const Decoded step{from.pos, to.pos, {}};
    if (ZSTD_isError(left) != 0) return failing({}, why(left));
    keep_header(in.first(step.taken));
    made_ += step.made;
    in_frame_ = left != 0;
    any_frame_ = any_frame_ || !in_frame_;
    if (!in_frame_ && !frame_is_whole())
      return failing(step, damaged_stream("zstd", "fewer bytes than its header says"));
    const bool dry = last && in_frame_ && step.taken == 0 && step.made == 0;
    return dry ? failing(step, cut_short("zstd")) : step;
  }

 private:
  Error why(std::size_t error) const {
    switch (ZSTD_getErrorCode(error)) {
      case ZSTD_error_memory_allocation: return no_memory_for("zstd");
      case ZSTD_error_prefix_unknown:
        return any_frame_ ? garbage_after("zstd") : damaged_stream("zstd", "no frame");
      case ZSTD_error_frameParameter_windowTooLarge:
        return {Code::no_memory,
                "the zstd stream needs a window above 128 MiB to decode; pipe it through "
                "'zstd -dc --long=31'"};
      case ZSTD_error_dictionary_wrong:
        return {Code::unsupported,
                "the zstd stream was made with a dictionary; pipe it through 'zstd -dc -D DICT'"};
      default: return damaged_stream("zstd", ZSTD_getErrorName(error));
    }
  }

  // libzstd decodes a frame in another way, which judges it more strictly, if it gets all of it
  // with the last byte of its header. It then looks for the frame where that piece of input begins:
  // a frame whose header ends like the beginning of another one would be taken for that one. So
  // the last byte of the header comes alone.
  std::size_t most_at_once() const {
    constexpr std::size_t least_header_bytes = 5;
    constexpr std::string_view magic("\x28\xb5\x2f\xfd", 4);
    if (header_bytes_ < least_header_bytes) return least_header_bytes - header_bytes_;
    const bool is_skippable = std::string_view(header_.data(), magic.size()) != magic;
    const std::size_t header = zstd_header_bytes(static_cast<unsigned char>(header_[4]));
    if (is_skippable || header_bytes_ >= header) return std::numeric_limits<std::size_t>::max();
    return std::max<std::size_t>(header - header_bytes_ - 1, 1);
  }

  void keep_header(std::span<const char> taken) {
    const std::size_t more = std::min(taken.size(), header_.size() - header_bytes_);
    std::copy_n(taken.begin(), more, header_.begin() + header_bytes_);
    header_bytes_ += more;
  }

  // libzstd holds a frame that ends in an empty block against the size in its header only if it
  // gets all of it at once.
  bool frame_is_whole() {
    const auto size = ZSTD_getFrameContentSize(header_.data(), std::exchange(header_bytes_, 0));
    const std::uint64_t made = std::exchange(made_, 0);
    return size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size == made;
  }

  ZSTD_DStream* stream_ = nullptr;
  bool in_frame_ = false;
  bool any_frame_ = false;         // one was read to its end
  std::array<char, 18> header_{};  // the longest that a frame has
  std::size_t header_bytes_ = 0;
  std::uint64_t made_ = 0;  // of this frame
};

// Frames, and skippable frames between them. A frame that needs a dictionary is refused: liblz4
// would try to decode it without one.
class Lz4Decoder final : public Decoder {
 public:
  bool start() {
    return LZ4F_isError(LZ4F_createDecompressionContext(&stream_, LZ4F_VERSION)) == 0;
  }
  ~Lz4Decoder() override { LZ4F_freeDecompressionContext(stream_); }

  Decoded decode(std::span<const char> in, std::span<char> out, bool last) override {
    if (in.empty() && !in_frame_) return {};
    if (!in_frame_) header_bytes_ = 0;
    if (needs_dictionary(in))
      return failing({}, Error{Code::unsupported,
                               "the lz4 stream was made with a dictionary; pipe it through "
                               "'lz4 -dc -D DICT'"});
    std::size_t taken = in.size();
    std::size_t made = out.size();
    const std::size_t left =
        LZ4F_decompress(stream_, out.data(), &made, in.data(), &taken, nullptr);
    if (LZ4F_isError(left) != 0) return failing({}, why(left));
    header_bytes_ = std::min(header_bytes_ + taken, header_.size());
    in_frame_ = left != 0;
    any_frame_ = any_frame_ || !in_frame_;
    const bool dry = last && in_frame_ && taken == 0 && made == 0;
    return dry ? failing({}, cut_short("lz4")) : Decoded{taken, made, {}};
  }

 private:
  // Of each frame, in whatever pieces its header comes.
  bool needs_dictionary(std::span<const char> in) {
    constexpr std::string_view magic = "\x04\x22\x4d\x18";
    constexpr unsigned dictionary_flag = 1;
    const std::size_t more = std::min(in.size(), header_.size() - header_bytes_);
    std::copy_n(in.begin(), more, header_.begin() + header_bytes_);
    return header_bytes_ + more == header_.size() &&
           std::string_view(header_.data(), magic.size()) == magic &&
           (header_.back() & dictionary_flag) != 0;
  }

  Error why(std::size_t error) const {
    // liblz4 does not promise the numbers of its errors, so they are told apart by name.
    const std::string name = LZ4F_getErrorName(error);
    if (name == "ERROR_allocation_failed") return no_memory_for("lz4");
    if (name == "ERROR_frameType_unknown" && any_frame_) return garbage_after("lz4");
    return damaged_stream("lz4", name.c_str());
  }

  LZ4F_dctx* stream_ = nullptr;
  bool in_frame_ = false;
  bool any_frame_ = false;        // one was read to its end
  std::array<char, 5> header_{};  // magic number and flags
  std::size_t header_bytes_ = 0;  // of it that were taken
};

template <class One>
Result<std::unique_ptr<Decoder>> started(const char* codec) {
  auto decoder = std::make_unique<One>();
  if (!decoder->start()) return no_memory_for(codec);
  return std::unique_ptr<Decoder>(std::move(decoder));
}

}  // namespace

//    28 b5 2f fd | descriptor | window 0-1 | dictionary 0-4 | content size 0-8
//                  ^ bit 3 is reserved; bits 7-6, 5, 1-0 tell the lengths
std::size_t zstd_header_bytes(unsigned char descriptor) {
  constexpr std::array<std::size_t, 4> dictionary_bytes = {0, 1, 2, 4};
  constexpr std::array<std::size_t, 4> size_bytes = {0, 2, 4, 8};
  const bool single_segment = (descriptor & 0x20) != 0;
  const unsigned size_code = descriptor >> 6;
  const std::size_t size_length = size_code == 0 && single_segment ? 1 : size_bytes[size_code];
  return 5 + (single_segment ? 0 : 1) + dictionary_bytes[descriptor & 3] + size_length;
}

Error cut_short(const char* codec) {
  return {Code::damaged, std::string("the ") + codec +
                             " stream is cut short: its end is missing; fetch or make the file "
                             "again"};
}

Error damaged_stream(const char* codec, const char* why) {
  return {Code::damaged, std::string("the ") + codec + " stream is damaged (" + why +
                             "); fetch or make the file again, or read it as it is if it is not "
                             "compressed"};
}

Error garbage_after(const char* codec) {
  return {Code::damaged, std::string("unexpected data after the end of the ") + codec +
                             " stream; cut it off, or fetch the file again"};
}

Error no_memory_for(const char* codec) {
  return {Code::no_memory, std::string("there is not enough memory to decode ") + codec};
}

Result<std::unique_ptr<Decoder>> gzip_decoder() { return started<GzipDecoder>("gzip"); }
Result<std::unique_ptr<Decoder>> bzip2_decoder() { return started<Bzip2Decoder>("bzip2"); }
Result<std::unique_ptr<Decoder>> xz_decoder() { return started<XzDecoder>("xz"); }
Result<std::unique_ptr<Decoder>> zstd_decoder() { return started<ZstdDecoder>("zstd"); }
Result<std::unique_ptr<Decoder>> lz4_decoder() { return started<Lz4Decoder>("lz4"); }

}  // namespace bloomery::inline v0::detail
