#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <bloomery/guard.hpp>

namespace bloomery::detail {
namespace {

using Key = std::uint64_t;
using Row = std::string;

// A table that counts who asks.
struct Table {
  std::map<Key, Row> rows;
  std::uint64_t queries = 0;
  bool fails = false;

  Result<std::optional<Row>> operator()(Key key) {
    ++queries;
    if (fails) return Error{Code::io, "the database is gone"};
    const auto row = rows.find(key);
    if (row == rows.end()) return std::optional<Row>();
    return std::optional<Row>(row->second);
  }
};

struct PlainCache {
  std::map<Key, Row> rows;
  std::uint64_t reads = 0;
  bool fails = false;

  Result<Cached<Row>> get(Key key) {
    ++reads;
    if (fails) return Error{Code::io, "the cache is gone"};
    const auto row = rows.find(key);
    if (row == rows.end()) return Cached<Row>{};
    return Cached<Row>{true, row->second};
  }
  Result<void> put(Key key, const Row& row) {
    if (fails) return Error{Code::io, "the cache is gone"};
    rows[key] = row;
    return {};
  }
};

struct AbsenceCache : PlainCache {
  std::set<Key> absent;

  Result<Cached<Row>> get(Key key) {
    if (absent.contains(key)) return Cached<Row>{true, std::nullopt};
    return PlainCache::get(key);
  }
  Result<void> put_absent(Key key) {
    absent.insert(key);
    return {};
  }
  Result<void> forget(Key key) {
    absent.erase(key);
    rows.erase(key);
    return {};
  }
};

// A set that is told what to say.
struct Told {
  std::set<Key> keys;
  bool everything = false;
  bool fails = false;

  Result<bool> may_contain(Key key) const {
    if (fails) return Error{Code::io, "the set is gone"};
    return everything || keys.contains(key);
  }
  Result<bool> add(Key key) {
    if (fails) return Error{Code::io, "the set is gone"};
    return keys.insert(key).second;
  }
};

Row row_of(Key key) { return std::to_string(key * 7); }

Table table_of(Key rows) {
  Table table;
  for (Key key = 0; key < rows; ++key) table.rows[key] = row_of(key);
  return table;
}

template <class K>
Set<K> keys_of(const Table& table, const Want& want) {
  Set<K> set(want);
  for (const auto& [key, row] : table.rows) set.add(key);
  return set;
}

void expect_sums(const GuardCounts& counts) {
  EXPECT_EQ(counts.asked, counts.absent + counts.cache_hits + counts.cache_absent + counts.queries);
  EXPECT_EQ(counts.queries, counts.found + counts.denied + counts.database_failures);
}

TEST(Guard, RowsAreFoundAndStrangersStopAtTheRate) {
  constexpr Key rows = 20'000, strangers = 100'000;
  Table table = table_of(rows);
  PlainCache cache;
  Guard guard(keys_of<BlockedBloom>(table, {.keys = rows, .rate = 0.01}));

  for (int round = 0; round < 2; ++round)
    for (Key key = 0; key < rows; ++key) {
      auto row = guard.get(key, cache, table);
      ASSERT_TRUE(row);
      ASSERT_EQ(*row, row_of(key));
    }
  EXPECT_EQ(table.queries, rows) << "the second round came from the cache";
  EXPECT_EQ(guard.counts().cache_hits, rows);

  for (Key key = rows; key < rows + strangers; ++key) {
    auto row = guard.get(key, cache, table);
    ASSERT_TRUE(row);
    ASSERT_EQ(*row, std::nullopt);
  }
  const GuardCounts counts = guard.counts();
  expect_sums(counts);
  EXPECT_EQ(counts.queries, table.queries);
  EXPECT_EQ(counts.denied, table.queries - rows);
  EXPECT_EQ(counts.absent, strangers - counts.denied);
  EXPECT_EQ(cache.reads, counts.asked - counts.absent) << "what is absent touches no cache";
  EXPECT_LE(counts.measured_rate(), 0.012);
  EXPECT_GE(counts.measured_rate(), 0.005) << "a set of this rate lets some pass";
  EXPECT_FALSE(guard.overfull());
}

TEST(Guard, AnInsertedRowIsFoundAndTheOrderIsKept) {
  Table table = table_of(10);
  AbsenceCache cache;
  Told told;
  told.everything = true;  // a false positive of every key
  Guard guard(told);

  ASSERT_EQ(*guard.get(Key{50}, cache, table), std::nullopt);
  ASSERT_EQ(*guard.get(Key{50}, cache, table), std::nullopt);
  EXPECT_EQ(table.queries, 1u) << "the cache remembers that there is no row";
  EXPECT_EQ(guard.counts().cache_absent, 1u);

  auto inserted = guard.insert(Key{50}, cache, [&]() -> Result<void> {
    EXPECT_TRUE(guard.set().keys.contains(50)) << "told before the row can be seen";
    EXPECT_TRUE(cache.absent.contains(50)) << "forgotten only after the row can be seen";
    table.rows[50] = row_of(50);
    return {};
  });
  ASSERT_TRUE(inserted);
  EXPECT_EQ(*guard.get(Key{50}, cache, table), row_of(50));
  expect_sums(guard.counts());
}

TEST(Guard, ARowIsNotWrittenWhenTheSetCanNotTakeIt) {
  AbsenceCache cache;
  bool written = false;
  const auto write = [&]() -> Result<void> {
    written = true;
    return {};
  };
  Told broken;
  broken.fails = true;
  Guard told(broken);
  EXPECT_FALSE(told.insert(Key{1}, cache, write));

  Guard map(Set<Bitmap>({.range = {0, 99}}));
  auto outside = map.insert(Key{1000}, cache, write);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, Code::out_of_range);

  Guard cuckoo(Set<Cuckoo>({.keys = 8, .rate = 0.01}));
  Key taken = 0;
  while (taken < 100'000) {
    auto now = cuckoo.insert(taken);
    if (!now) {
      EXPECT_EQ(now.error().code, Code::full);
      break;
    }
    ++taken;
  }
  EXPECT_LT(taken, 100'000u);
  EXPECT_FALSE(written);
}

TEST(Guard, AFailedWriteIsHandedOn) {
  AbsenceCache cache;
  Guard guard(Told{});
  auto failed = guard.insert(Key{1}, cache, []() -> Result<void> {
    return Error{Code::io, "disk full"};
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().sentence, "disk full");
}

TEST(Guard, ACacheThatFailsIsGoneAround) {
  Table table = table_of(10);
  AbsenceCache cache;
  cache.fails = true;
  Guard guard(keys_of<BlockedBloom>(table, {.keys = 10, .rate = 0.01}));
  for (int round = 0; round < 2; ++round) EXPECT_EQ(*guard.get(Key{3}, cache, table), row_of(3));
  EXPECT_EQ(table.queries, 2u);
  EXPECT_EQ(guard.counts().cache_failures, 2u);
  expect_sums(guard.counts());
}

TEST(Guard, ADatabaseThatFailsIsAnErrorAndIsNotRemembered) {
  Table table = table_of(10);
  AbsenceCache cache;
  Guard guard(keys_of<BlockedBloom>(table, {.keys = 10, .rate = 0.01}));
  table.fails = true;
  auto row = guard.get(Key{3}, cache, table);
  ASSERT_FALSE(row);
  EXPECT_EQ(row.error().sentence, "the database is gone");
  EXPECT_EQ(guard.counts().database_failures, 1u);
  table.fails = false;
  EXPECT_EQ(*guard.get(Key{3}, cache, table), row_of(3));
  expect_sums(guard.counts());
}

TEST(Guard, ASetThatCanNotAnswerSaysMaybe) {
  Table table = table_of(10);
  PlainCache cache;
  Told broken;
  broken.fails = true;
  Guard guard(broken);
  EXPECT_EQ(*guard.get(Key{3}, cache, table), row_of(3));
  EXPECT_EQ(*guard.get(Key{30}, cache, table), std::nullopt);
  EXPECT_EQ(guard.counts().set_failures, 2u);
}

TEST(Guard, AnAuditFindsRowsThatTheSetWasNotToldOf) {
  Table table = table_of(100);
  PlainCache cache;
  Guard guard(Told{}, {.audit_every = 10});  // told of nothing: every row is hidden
  std::uint64_t rows = 0;
  for (Key key = 0; key < 100; ++key) rows += guard.get(key, cache, table)->has_value();
  EXPECT_EQ(rows, 10u);
  EXPECT_EQ(guard.counts().audits, 10u);
  EXPECT_EQ(guard.counts().hidden, 10u);
  EXPECT_EQ(guard.counts().queries, 0u);
  table.fails = true;
  for (Key key = 0; key < 10; ++key) EXPECT_TRUE(guard.get(key, cache, table));
}

TEST(Guard, AnOverfullSetIsToldAndHidesNothing) {
  Table table = table_of(0);
  PlainCache cache;
  Guard guard(Set<BlockedBloom>({.keys = 100, .rate = 0.01}));
  for (Key key = 0; key < 1000; ++key) {
    ASSERT_TRUE(guard.insert(key));
    table.rows[key] = row_of(key);
  }
  EXPECT_TRUE(guard.overfull());
  for (Key key = 0; key < 1000; ++key) ASSERT_EQ(*guard.get(key, cache, table), row_of(key));
}

TEST(Guard, KindsOfEverySortAreTaken) {
  Table table = table_of(500);
  PlainCache cache;
  const Want want{.keys = 600, .rate = 0.01};
  const auto check = [&](auto set) {
    Guard guard(std::move(set));
    for (Key key = 0; key < 500; ++key) ASSERT_EQ(*guard.get(key, cache, table), row_of(key));
    ASSERT_EQ(*guard.get(Key{12'345'678}, cache, table), std::nullopt);
  };
  check(keys_of<ClassicBloom>(table, want));
  check(keys_of<BloomChain>(table, want));
  check(keys_of<HashSet>(table, want));
  check(keys_of<Scalable>(table, want));
  check(keys_of<Cuckoo>(table, want));
  check(keys_of<Bitmap>(table, {.range = {0, 999}}));
}

TEST(Guard, TextsAreKeys) {
  std::map<std::string, int, std::less<>> table{{"ann", 1}, {"bob", 2}};
  struct NoCache {
    Result<Cached<int>> get(std::string_view) { return Cached<int>{}; }
    Result<void> put(std::string_view, int) { return {}; }
  } cache;
  const auto database = [&](std::string_view key) -> Result<std::optional<int>> {
    const auto row = table.find(key);
    if (row == table.end()) return std::optional<int>();
    return std::optional<int>(row->second);
  };
  Guard guard(Set<BlockedBloom>({.keys = 10, .rate = 1e-9}));
  ASSERT_TRUE(guard.insert(std::string_view("ann")));
  ASSERT_TRUE(guard.insert(std::string("bob")));
  EXPECT_EQ(*guard.get(std::string("ann"), cache, database), 1);
  EXPECT_EQ(*guard.get(std::string_view("bob"), cache, database), 2);
  EXPECT_EQ(*guard.get(std::string_view("eve"), cache, database), std::nullopt);
  EXPECT_EQ(guard.counts().absent, 1u);
}

// Threads insert rows and look for those that others have inserted; none may be hidden.
template <class K>
void insert_and_get_by_many() {
  constexpr Key per_thread = 2'000;
  constexpr unsigned threads = 4;
  Guard guard(Set<K>({.keys = threads * per_thread, .rate = 0.01}));
  std::vector<std::atomic<bool>> visible(threads * per_thread);
  const auto database = [&](Key key) -> Result<std::optional<Key>> {
    if (key < visible.size() && visible[key]) return std::optional<Key>(key);
    return std::optional<Key>();
  };
  std::atomic<std::uint64_t> hidden = 0;
  const auto work = [&](unsigned self) {
    struct NoCache {
      Result<Cached<Key>> get(Key) { return Cached<Key>{}; }
      Result<void> put(Key, Key) { return {}; }
    } cache;
    for (Key i = 0; i < per_thread; ++i) {
      const Key key = i * threads + self;
      auto inserted = guard.insert(key, cache, [&]() -> Result<void> {
        visible[key] = true;
        return {};
      });
      if (!inserted) ++hidden;
      const Key other = i * threads + (self + 1) % threads;
      const bool was_visible = visible[other];
      if (auto row = guard.get(other, cache, database); was_visible && !*row) ++hidden;
      if (guard.overfull() && i < per_thread / 2) ++hidden;
    }
  };
  std::vector<std::thread> crew;
  for (unsigned self = 0; self < threads; ++self) crew.emplace_back(work, self);
  for (auto& thread : crew) thread.join();
  EXPECT_EQ(hidden, 0u);
  EXPECT_EQ(guard.counts().asked, threads * per_thread);
  expect_sums(guard.counts());
}

TEST(Guard, ThreadsInsertAndGetOnAKindWithSharedAdds) { insert_and_get_by_many<BlockedBloom>(); }
TEST(Guard, ThreadsInsertAndGetOnAKindBehindTheLock) { insert_and_get_by_many<BloomChain>(); }

// Notices when two are in it at once, as a set that is not made for threads would, by crashing.
struct OneAtATime {
  std::set<Key> keys = {};
  std::shared_ptr<std::atomic<int>> inside = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<std::atomic<int>> met = std::make_shared<std::atomic<int>>(0);

  template <class Use>
  auto alone(Use&& use) {
    if (inside->fetch_add(1) != 0) ++*met;
    std::this_thread::yield();
    auto result = use();
    --*inside;
    return result;
  }
  bool may_contain(Key key) {
    return alone([&] { return keys.contains(key); });
  }
  bool add(Key key) {
    return alone([&] { return keys.insert(key).second; });
  }
  bool overfull() const { return false; }
};
struct DeclaredSafe : OneAtATime {
  static constexpr bool safe_for_threads = true;
};

TEST(Guard, LocksForThreadsWhatIsNotDeclaredSafe) {
  OneAtATime set;
  const auto met = set.met;
  Guard guard(std::move(set));
  std::vector<std::thread> threads;
  for (Key t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Table table = table_of(100);
      PlainCache cache;
      for (Key i = 0; i < 2'000; ++i) {
        ASSERT_TRUE(guard.insert(t * 2'000 + i));
        ASSERT_TRUE(guard.get(i % 100, cache, table));
        (void)guard.overfull();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*met, 0) << "two threads were in a set that is not made for it";
  static_assert(!detail::SafeForThreads<OneAtATime> && detail::SafeForThreads<DeclaredSafe>);
}

}  // namespace
}  // namespace bloomery::detail
