#include <bloomery/engines/input/compress.hpp>

#include <bzlib.h>
#include <lz4frame.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <string>

namespace bloomery::inline v0::detail {
namespace {

// The C libraries write into this, and it is appended to the output.
using Piece = std::array<char, std::size_t{64} << 10>;

Error no_memory_to(const char* codec) {
  return {Code::no_memory, std::string("there is not enough memory to compress with ") + codec};
}

// They fail when memory runs out, or when they are called wrongly.
Error refused_by(const char* codec) {
  return {Code::io, std::string(codec) + " cannot compress the output; pipe it through '" + codec +
                        "' instead"};
}

class GzipEncoder final : public Encoder {
 public:
  static constexpr const char* codec = "gzip";
  // 15: the largest window; 16: gzip and its checksum, not zlib; 8: the memory level of gzip.
  bool start() {
    return started_ = deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                                   Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~GzipEncoder() override {
    if (started_) deflateEnd(&stream_);
  }

  Result<void> encode(std::string_view in, EncodeUntil until, std::string& out) override {
    constexpr std::array<int, 3> ways = {Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FINISH};
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<unsigned>(in.size());
    // A piece that is not full was the last one.
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(piece_.data());
      stream_.avail_out = static_cast<unsigned>(piece_.size());
      const int done = deflate(&stream_, ways[static_cast<std::size_t>(until)]);
      if (done != Z_OK && done != Z_STREAM_END && done != Z_BUF_ERROR) return refused_by(codec);
      out.append(piece_.data(), piece_.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
    return {};
  }

 private:
  z_stream stream_{};
  bool started_ = false;
  Piece piece_;
};

class Bzip2Encoder final : public Encoder {
 public:
  static constexpr const char* codec = "bzip2";
  bool start() { return started_ = BZ2_bzCompressInit(&stream_, 9, 0, 0) == BZ_OK; }
  ~Bzip2Encoder() override {
    if (started_) BZ2_bzCompressEnd(&stream_);
  }

  // A flush of bzip2 keeps the last bits of a block back, so a reader could not decode it yet. So a
  // flush ends the stream here, and a new one follows.
  Result<void> encode(std::string_view in, EncodeUntil until, std::string& out) override {
    // bzip2 returns an error for BZ_RUN without input.
    if (in.empty() && (ended_ || until == EncodeUntil::more)) return {};
    if (ended_) {
      BZ2_bzCompressEnd(&stream_);
      stream_ = {};
      if (!start()) return no_memory_to(codec);
    }
    ended_ = until != EncodeUntil::more;
    stream_.next_in = const_cast<char*>(in.data());
    stream_.avail_in = static_cast<unsigned>(in.size());
    for (bool through = false; !through;) {
      stream_.next_out = piece_.data();
      stream_.avail_out = static_cast<unsigned>(piece_.size());
      const int done = BZ2_bzCompress(&stream_, ended_ ? BZ_FINISH : BZ_RUN);
      if (done < 0) return refused_by(codec);
      out.append(piece_.data(), piece_.size() - stream_.avail_out);
      through = ended_ ? done == BZ_STREAM_END : stream_.avail_in == 0;
    }
    return {};
  }

 private:
  bz_stream stream_{};
  bool started_ = false;
  bool ended_ = false;  // nothing was taken since
  Piece piece_;
};

class XzEncoder final : public Encoder {
 public:
  static constexpr const char* codec = "xz";
  bool start() {
    return lzma_easy_encoder(&stream_, LZMA_PRESET_DEFAULT, LZMA_CHECK_CRC64) == LZMA_OK;
  }
  ~XzEncoder() override { lzma_end(&stream_); }

  Result<void> encode(std::string_view in, EncodeUntil until, std::string& out) override {
    constexpr std::array<lzma_action, 3> ways = {LZMA_RUN, LZMA_SYNC_FLUSH, LZMA_FINISH};
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream_.avail_in = in.size();
    for (bool through = until == EncodeUntil::more && in.empty(); !through;) {
      stream_.next_out = reinterpret_cast<std::uint8_t*>(piece_.data());
      stream_.avail_out = piece_.size();
      const lzma_ret done = lzma_code(&stream_, ways[static_cast<std::size_t>(until)]);
      if (done == LZMA_MEM_ERROR) return no_memory_to(codec);
      if (done != LZMA_OK && done != LZMA_STREAM_END) return refused_by(codec);
      out.append(piece_.data(), piece_.size() - stream_.avail_out);
      through = until == EncodeUntil::more ? stream_.avail_in == 0 && stream_.avail_out > 0
                                           : done == LZMA_STREAM_END;
    }
    return {};
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  Piece piece_;
};

class ZstdEncoder final : public Encoder {
 public:
  static constexpr const char* codec = "zstd";
  bool start() {
    stream_ = ZSTD_createCCtx();
    return stream_ != nullptr &&
           ZSTD_isError(ZSTD_CCtx_setParameter(stream_, ZSTD_c_checksumFlag, 1)) == 0;
  }
  ~ZstdEncoder() override { ZSTD_freeCCtx(stream_); }

  Result<void> encode(std::string_view in, EncodeUntil until, std::string& out) override {
    constexpr std::array<ZSTD_EndDirective, 3> ways = {ZSTD_e_continue, ZSTD_e_flush, ZSTD_e_end};
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    for (bool through = false; !through;) {
      ZSTD_outBuffer to{piece_.data(), piece_.size(), 0};
      const std::size_t left =
          ZSTD_compressStream2(stream_, &to, &from, ways[static_cast<std::size_t>(until)]);
      if (ZSTD_isError(left) != 0) return refused_by(codec);
      out.append(piece_.data(), to.pos);
      through = until == EncodeUntil::more ? from.pos == from.size : left == 0;
    }
    return {};
  }

 private:
  ZSTD_CCtx* stream_ = nullptr;
  Piece piece_;
};

class Lz4Encoder final : public Encoder {
 public:
  static constexpr const char* codec = "lz4";
  bool start() {
    rules_.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    rules_.frameInfo.blockSizeID = LZ4F_max256KB;
    return LZ4F_isError(LZ4F_createCompressionContext(&stream_, LZ4F_VERSION)) == 0;
  }
  ~Lz4Encoder() override { LZ4F_freeCompressionContext(stream_); }

  Result<void> encode(std::string_view in, EncodeUntil until, std::string& out) override {
    const std::size_t rest = LZ4F_compressBound(0, &rules_);
    bool good = begun_ || append(out, LZ4F_HEADER_SIZE_MAX, [&](char* to, std::size_t room) {
                  return LZ4F_compressBegin(stream_, to, room, &rules_);
                });
    begun_ = true;
    good = good &&
           append(out, LZ4F_compressBound(in.size(), &rules_), [&](char* to, std::size_t room) {
             return LZ4F_compressUpdate(stream_, to, room, in.data(), in.size(), nullptr);
           });
    if (until == EncodeUntil::flushed)
      good = good && append(out, rest, [&](char* to, std::size_t room) {
               return LZ4F_flush(stream_, to, room, nullptr);
             });
    if (until == EncodeUntil::end)
      good = good && append(out, rest, [&](char* to, std::size_t room) {
               return LZ4F_compressEnd(stream_, to, room, nullptr);
             });
    return good ? Result<void>{} : refused_by(codec);
  }

 private:
  // It wants room for the most that a call can make.
  template <class Call>
  static bool append(std::string& out, std::size_t most, Call&& call) {
    const std::size_t before = out.size();
    out.resize(before + most);
    const std::size_t made = call(&out[before], most);
    const bool good = LZ4F_isError(made) == 0;
    out.resize(before + (good ? made : 0));
    return good;
  }

  LZ4F_preferences_t rules_ = {};
  LZ4F_cctx* stream_ = nullptr;
  bool begun_ = false;
};

template <class One>
Result<std::unique_ptr<Encoder>> started() {
  auto encoder = std::make_unique<One>();
  if (!encoder->start()) return no_memory_to(One::codec);
  return std::unique_ptr<Encoder>(std::move(encoder));
}

struct Codec {
  std::string_view suffix;
  Result<std::unique_ptr<Encoder>> (*open)();
};
constexpr std::array<Codec, 5> codecs = {{{".gz", started<GzipEncoder>},
                                          {".bz2", started<Bzip2Encoder>},
                                          {".xz", started<XzEncoder>},
                                          {".zst", started<ZstdEncoder>},
                                          {".lz4", started<Lz4Encoder>}}};

// x.GZ is x.gz: others that read it by its name look for gzip, too.
bool is_same_letter(char small, char c) {
  return c == small || (c >= 'A' && c <= 'Z' && c - 'A' + 'a' == small);
}

// The suffix needs a name before it: a file called just ".gz" is not compressed.
const Codec* codec_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const auto found = std::find_if(codecs.begin(), codecs.end(), [&](const Codec& codec) {
    return name.size() > codec.suffix.size() &&
           std::equal(codec.suffix.rbegin(), codec.suffix.rend(), name.rbegin(), is_same_letter);
  });
  return found == codecs.end() ? nullptr : &*found;
}

}  // namespace

bool names_compressed(std::string_view path) { return codec_of(path) != nullptr; }

Result<std::unique_ptr<Encoder>> open_compressor(std::string_view path) {
  const Codec* const codec = codec_of(path);
  if (codec == nullptr) return std::unique_ptr<Encoder>();
  return codec->open();
}

}  // namespace bloomery::inline v0::detail
