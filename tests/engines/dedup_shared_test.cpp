// De-duplication with a set that others share: what is added to it must be printed, also after an
// Error.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include <bloomery/detail/sets/parts.hpp>
#include <bloomery/engines/dedup/dedup.hpp>
#include <bloomery/sets/erased/any_body.hpp>

#include "scratch.hpp"

namespace bloomery::detail {
namespace {

// What a server keeps after its clients have failed.
struct Server {
  std::unordered_set<std::uint64_t> hashes = {};
  std::uint64_t keys_until_it_fails = ~std::uint64_t{0};
  std::uint64_t capacity = 1'000'000;
  bool estimates = true;  // else it fails when it is asked for its rate, which it is when overfull
};

Error no() { return {Code::unsupported, "not asked for here"}; }

struct ServerBody : AnySet::Body {
  explicit ServerBody(Server& there) : server(there) {}
  const KindRow& row() const override { return *AnySet::find_row("blocked"); }
  Result<std::size_t> add(const AnyInputs& inputs, bool* fresh) override {
    const auto& hashes = std::get<std::span<const Hash>>(inputs);
    std::size_t added = 0;
    std::fill(fresh, fresh + hashes.size(), false);
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      if (server.keys_until_it_fails == 0) return Error{Code::io, "the server is gone"};
      --server.keys_until_it_fails;
      fresh[i] = server.hashes.insert(hashes[i].bits).second;
      added += fresh[i];
    }
    return added;
  }
  Result<void> ask(const AnyInputs& inputs, bool* answers) const override {
    for (const Hash hash : std::get<std::span<const Hash>>(inputs))
      *answers++ = server.hashes.contains(hash.bits);
    return {};
  }
  Result<std::size_t> remove(const AnyInputs&, bool*) override { return no(); }
  Result<void> count(const AnyInputs&, std::uint64_t*) const override { return no(); }
  Result<void> merge(Merge, const Body&) override { return no(); }
  Result<void> clear() override { return no(); }
  Result<void> advance_to(std::uint64_t, std::uint64_t) override { return no(); }
  void cap_memory(std::uint64_t) override {}
  Result<std::uint64_t> best_fold(double) const override { return no(); }
  Result<std::unique_ptr<Body>> folded(std::uint64_t, double) const override { return no(); }
  BodyFacts facts() const override {
    return {.adds = server.hashes.size(),
            .capacity = server.capacity,
            .rate_asked = 0.01,
            .shared = true};
  }
  double estimate() const override { return static_cast<double>(server.hashes.size()); }
  Result<void> measure() const override {
    if (!server.estimates) return Error{Code::io, "the server does not tell its rate"};
    return {};
  }
  double rate_now() const override { return 0; }
  double expected_rate_now() const override { return 0; }
  double fill_ratio() const override { return 0; }
  bool overfull() const override { return server.hashes.size() > server.capacity; }
  std::vector<std::pair<std::string, std::string>> shape_facts() const override { return {}; }
  std::optional<std::uint64_t> stuck() const override { return std::nullopt; }
  Result<Parts> parts() const override { return Parts{}; }

  Server& server;
};

AnySet set_at(Server& server) {
  return AnySet::of(std::make_unique<ServerBody>(server), Hasher{}, {.form = KeyForm::text});
}

class SharedDedup : public testing::Test {
 protected:
  struct Printed {
    std::string lines;
    std::string repeats;
    std::optional<Error> failed;
  };
  Printed run(Server& server, const std::string& path, DedupRules rules) {
    AnySet set = set_at(server);
    BlockInputs inputs({path}, {}, 1000);
    auto out = LineWriter::create(scratch.path("out"), Overwrite::replace).value();
    auto repeats = LineWriter::create(scratch.path("repeats"), Overwrite::replace).value();
    rules.repeats_out = &repeats;
    const auto report = dedup(set, inputs, out, rules);
    Printed printed;
    if (!report) printed.failed = report.error();
    EXPECT_TRUE(out.close());
    EXPECT_TRUE(repeats.close());
    printed.lines = bytes_of(scratch.path("out"));
    printed.repeats = bytes_of(scratch.path("repeats"));
    return printed;
  }
  // 0 0 1 1 2 2 ...
  static std::string pairs(int count) {
    std::string bytes;
    for (int i = 0; i < count; ++i)
      bytes.append(std::to_string(i)).append("\n").append(std::to_string(i)).append("\n");
    return bytes;
  }
  static std::string numbers(int from, int to) {
    std::string bytes;
    for (int i = from; i < to; ++i) bytes.append(std::to_string(i)).append("\n");
    return bytes;
  }

  Scratch scratch;
};

TEST_F(SharedDedup, WhatItHasIsPrintedAndTheRestComesWithTheNextRun) {
  constexpr int count = 3000;
  const std::string path = scratch.file("in", pairs(count));
  for (const unsigned threads : {1u, 2u, 4u})
    for (const int keys : {0, 1, 2, 777, 778, 2 * count - 1}) {
      Server server;
      server.keys_until_it_fails = static_cast<std::uint64_t>(keys);
      const Printed first = run(server, path, {.threads = {threads}});
      ASSERT_TRUE(first.failed);
      EXPECT_EQ(first.failed->sentence, "the server is gone");
      const int had = (keys + 1) / 2;
      EXPECT_EQ(server.hashes.size(), static_cast<std::size_t>(had));
      EXPECT_EQ(first.lines, numbers(0, had)) << threads << " threads, " << keys << " keys";
      // Lines that were not tried are not repeats.
      EXPECT_TRUE(numbers(0, had).starts_with(first.repeats)) << first.repeats;
      server.keys_until_it_fails = ~std::uint64_t{0};
      const Printed second = run(server, path, {.threads = {threads}});
      EXPECT_FALSE(second.failed);
      EXPECT_EQ(second.lines, numbers(had, count));
    }
}

// Once an exception in the adding thread was not caught and ended the program.
TEST_F(SharedDedup, AnEstimateThatFailsEndsTheRunWithItsSentence) {
  constexpr int count = 3000;
  const std::string path = scratch.file("in", pairs(count));
  for (const unsigned threads : {1u, 2u, 4u}) {
    Server server{.capacity = 500, .estimates = false};
    const Printed first = run(server, path, {.threads = {threads}});
    ASSERT_TRUE(first.failed);
    EXPECT_EQ(first.failed->sentence, "the server does not tell its rate");
    const int had = static_cast<int>(server.hashes.size());
    EXPECT_GT(had, 500);
    EXPECT_LT(had, count);
    EXPECT_EQ(first.lines, numbers(0, had));
    server.estimates = true;
    EXPECT_EQ(run(server, path, {.threads = {threads}}).lines, numbers(had, count));
  }
}

TEST_F(SharedDedup, WhatACallerThrowsIsAnErrorWithAnyNumberOfThreads) {
  const std::string path = scratch.file("in", numbers(0, 3000));
  for (const unsigned threads : {1u, 2u, 4u}) {
    Server server;
    int blocks = 0;
    DedupRules rules = {.threads = {threads}};
    rules.before_adding = [&](AnySet&) -> Result<void> {
      if (++blocks == 3) throw std::bad_alloc();
      return {};
    };
    const Printed printed = run(server, path, rules);
    ASSERT_TRUE(printed.failed);
    EXPECT_EQ(printed.failed->code, Code::no_memory);
    EXPECT_EQ(printed.lines, numbers(0, static_cast<int>(server.hashes.size())));
  }
}

TEST_F(SharedDedup, LinesThatWereNotTriedAreNotPrintedAsRepeats) {
  const std::string path = scratch.file("in", pairs(300));
  Server server;
  server.keys_until_it_fails = 401;
  const Printed printed = run(server, path, {.repeated = true});
  EXPECT_TRUE(printed.failed);
  EXPECT_TRUE(numbers(0, 200).starts_with(printed.lines)) << printed.lines;
}

TEST_F(SharedDedup, StoppingPrintsWhatTheSetHas) {
  constexpr int count = 20'000;
  const std::string path = scratch.file("in", numbers(0, count));
  for (const unsigned threads : {1u, 2u, 4u}) {
    Server server;
    std::atomic<bool> stop = false;
    int blocks = 0;
    DedupRules rules = {.threads = {threads}, .stop = &stop};
    rules.before_adding = [&](AnySet&) -> Result<void> {
      if (++blocks == 5) stop = true;
      return {};
    };
    const Printed printed = run(server, path, rules);
    EXPECT_FALSE(printed.failed);
    EXPECT_GE(blocks, 5);
    EXPECT_LT(server.hashes.size(), static_cast<std::size_t>(count) / 2);
    EXPECT_EQ(printed.lines, numbers(0, static_cast<int>(server.hashes.size())));
    // Again: the rest, and nothing twice.
    const int had = static_cast<int>(server.hashes.size());
    EXPECT_EQ(run(server, path, {.threads = {threads}}).lines, numbers(had, count));
  }
}

TEST_F(SharedDedup, StoppedBeforeItBeginsItDoesNothing) {
  Server server;
  const std::atomic<bool> stop = true;
  const Printed printed = run(server, scratch.file("in", "a\nb\n"), {.stop = &stop});
  EXPECT_FALSE(printed.failed);
  EXPECT_EQ(printed.lines, "");
  EXPECT_TRUE(server.hashes.empty());
}

}  // namespace
}  // namespace bloomery::detail
