// Replies are cut as they come, byte by byte or all at once, and what no server of ours sends is
// refused before there is memory for it.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/detail/remote/redis_inbox.hpp>

namespace bloomery::detail {
namespace {

const std::vector<std::string> replies = {
    "+OK\r\n",
    "-ERR no such thing\r\n",
    ":-42\r\n",
    "$5\r\na\r\nbc\r\n",
    "$0\r\n\r\n",
    "$-1\r\n",
    "*0\r\n",
    "*-1\r\n",
    "*3\r\n:1\r\n:0\r\n$2\r\nab\r\n",
    "*2\r\n*2\r\n:0\r\n*1\r\n$-1\r\n+x\r\n",
};

TEST(RedisInbox, CutsRepliesHoweverTheyCome) {
  std::string all;
  for (const std::string& reply : replies) all += reply;
  for (std::size_t piece = 1; piece <= all.size(); ++piece) {
    RedisInbox inbox;
    std::vector<std::string> cut;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      inbox.append(std::string_view(all).substr(at, piece));
      while (true) {
        const auto next = inbox.next();
        ASSERT_TRUE(next) << next.error().sentence;
        if (!*next) break;
        cut.emplace_back(**next);
      }
    }
    EXPECT_EQ(cut, replies) << "in pieces of " << piece;
  }
}

TEST(RedisInbox, KeepsNoRepliesThatWereTaken) {
  RedisInbox inbox;
  const std::string reply = "$100000\r\n" + std::string(100'000, 'x') + "\r\n";
  for (int i = 0; i < 100; ++i) {
    inbox.append(reply);
    EXPECT_EQ(**inbox.next(), reply);
    inbox.append("+");  // one more begins
    EXPECT_FALSE(*inbox.next());
    inbox.append("OK\r\n");
    EXPECT_EQ(**inbox.next(), "+OK\r\n");
  }
}

TEST(RedisInbox, RefusesWhatIsNoReplyOrTooLong) {
  const std::string deep = [] {
    std::string text;
    for (int i = 0; i < 9; ++i) text += "*1\r\n";
    return text + ":1\r\n";
  }();
  for (const std::string& bytes :
       {std::string("SSH-2.0-OpenSSH_9.2p1 Debian\r\n"), std::string("HTTP"), std::string("\r\n"),
        std::string("$67108865\r\n"), std::string("$9223372036854775807\r\n"),
        std::string("$99999999999999999999\r\n"), std::string("$-2\r\n"), std::string("$\r\n"),
        std::string("$5x\r\n"), std::string("*1000000000\r\n"), std::string("*-2\r\n"),
        std::string("*4611686018427387904\r\n"), std::string(":\r\n"), std::string(":1 \r\n"),
        std::string("$1\r\nabc"), std::string("+OK\n"), "+" + std::string(100'000, 'x'),
        "*2\r\n$40000000\r\n" + std::string(40'000'000, 'x') + "\r\n$40000000\r\n", deep}) {
    RedisInbox inbox;
    inbox.append(bytes);
    const auto next = inbox.next();
    ASSERT_FALSE(next) << bytes.substr(0, 40);
    EXPECT_EQ(next.error().code, Code::not_ours);
  }
}

}  // namespace
}  // namespace bloomery::detail
