// What a Redis server sends: cut into replies at once and in pieces alike, taken by hiredis where
// it is whole; what they say of a cluster; and the texts of a set that clients store there.
#include <hiredis/hiredis.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/detail/remote/redis_inbox.hpp>
#include <bloomery/detail/remote/redis_layout.hpp>
#include <bloomery/redis/slots.hpp>
#include <bloomery/remote/redis_told.hpp>

#include <tests/fuzz/byte_feed.hpp>
#include <tests/fuzz/must.hpp>

namespace bloomery::fuzz {
namespace {

using detail::RedisInbox;

struct Told {
  std::vector<std::string> replies;
  std::optional<std::string> refused;
  bool operator==(const Told&) const = default;
};

// Only in which bytes a line without an end is refused depends on the pieces.
Told told_by(std::string_view bytes, std::size_t piece) {
  Told told;
  RedisInbox inbox;
  while (!bytes.empty() && !told.refused) {
    inbox.append(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      const auto next = inbox.next();
      if (!next) told.refused = next.error().sentence;
      if (!next || !*next) break;
      told.replies.emplace_back(**next);
    }
  }
  return told;
}

struct FreeReader {
  void operator()(redisReader* reader) const { redisReaderFree(reader); }
};

void check_told(const redisReply& reply) {
  const detail::RedisHost told_by{"h", 1};
  if (reply.type == REDIS_REPLY_STRING || reply.type == REDIS_REPLY_ERROR) {
    const std::string_view text(reply.str, reply.len);
    for (const auto& host : detail::replicas_told(text)) must(host.port != 0, "a host has a port");
    if (const auto where = detail::redirection_told(text))
      must(where->slot < cluster_slots && where->to.port != 0, "a redirection leads to a slot");
  }
  const auto ranges = detail::slots_told(reply, told_by);
  if (!ranges) return;
  for (const auto& range : *ranges) {
    must(range.first <= range.last && range.last < cluster_slots, "a range has slots");
    must(!range.master.name.empty() && range.master.port != 0, "a range has a master");
  }
}

void check_whole(std::string_view reply) {
  const std::unique_ptr<redisReader, FreeReader> reader(redisReaderCreate());
  must(redisReaderFeed(reader.get(), reply.data(), reply.size()) == REDIS_OK,
       "hiredis has memory for a reply");
  void* parsed = nullptr;
  if (redisReaderGetReply(reader.get(), &parsed) != REDIS_OK) return;
  must(parsed != nullptr, "hiredis finds a reply whole that the inbox took for whole");
  check_told(*static_cast<redisReply*>(parsed));
  freeReplyObject(parsed);
  parsed = nullptr;
  must(redisReaderGetReply(reader.get(), &parsed) == REDIS_OK && parsed == nullptr,
       "there is nothing behind a reply");
}

void check_stream(std::string_view bytes, std::size_t piece) {
  const Told whole = told_by(bytes, std::max<std::size_t>(1, bytes.size()));
  const Told pieces = told_by(bytes, piece);
  must(whole.replies == pieces.replies, "pieces give the same replies");
  must(whole.refused.has_value() == pieces.refused.has_value(), "pieces are refused as the whole");
  for (const std::string& reply : whole.replies) check_whole(reply);
}

void check_law(std::string_view text) {
  constexpr SecretKey key{1, 2};
  if (const auto places = detail::decode_places(text)) {
    must(places->shards() > 0, "a law has shards");
    must(places->blocks_of(places->shards() - 1) > 0, "a shard has blocks");
  }
  const auto law = detail::decode_law(text, &key);
  if (!law) return;
  const std::string once = detail::encode_law(*law);
  const auto again = detail::decode_law(once, &key);
  must(again && detail::encode_law(*again) == once, "a law that is written is read back");
}

}  // namespace
}  // namespace bloomery::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomery;
  fuzz::ByteFeed feed(data, size);
  const std::uint8_t how = feed.byte();
  const std::string_view bytes = feed.rest();
  if (how < 192)
    fuzz::check_stream(bytes, 1 + how % 16);
  else
    fuzz::check_law(bytes);
  return 0;
}
