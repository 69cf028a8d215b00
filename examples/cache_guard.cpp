// An attack on a database through its cache, on a real Redis and a real PostgreSQL, with the guard
// and without.
//
//    cache_guard [--redis HOST:PORT] [--postgres CONNINFO] [--table users] [--guard off|on|both]
//                [--legitimate N] [--attack N] [--insert N] [--rate R] [--remember-absent SECONDS]
//                [--seed N]
//
// The table has the columns `id bigint primary key` and `name text`. Three waves of requests:
// `legitimate` asks for rows of the table, `attack` for random ids that are not in it, `inserted`
// asks for rows, adds them to the table and asks again. Every answer is compared with a copy of the
// table; a wrong one makes the program end with 1. Added rows stay in the table; what was put into
// Redis has names of its own and expires after ten minutes.
//
// If the set is wrong: an id that no row has costs a query, at the rate R. No row is hidden: each
// id is added to the set before its row is written.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include <hiredis/hiredis.h>
#include <libpq-fe.h>

#include <bloomery/bloomery.hpp>
#include <bloomery/guard.hpp>

namespace {

using bloomery::Cached;
using bloomery::Code;
using bloomery::Error;
using bloomery::Result;
using Id = std::int64_t;
using Rows = std::unordered_map<Id, std::string>;

struct Options {
  std::string redis = "127.0.0.1:6379";
  std::string postgres;
  std::string table = "users";
  std::string guard = "both";
  std::uint64_t legitimate = 20'000;
  std::uint64_t attack = 100'000;
  std::uint64_t insert = 1'000;
  double rate = 0.01;
  std::uint64_t remember_absent = 0;  // seconds; 0: not at all
  std::optional<std::uint64_t> seed;
};

// A row as `+name`, an id without one as `-`.
class RedisCache {
 public:
  static Result<RedisCache> connect(const std::string& where, std::string prefix,
                                    std::uint64_t absent_seconds) {
    const std::size_t colon = where.rfind(':');
    const std::string host = where.substr(0, colon);
    const int port = colon == std::string::npos ? 6379 : std::atoi(where.c_str() + colon + 1);
    const timeval patience{5, 0};
    Connection connection(redisConnectWithTimeout(host.c_str(), port, patience), redisFree);
    if (!connection) return Error{Code::no_memory, "Redis: no memory for a connection"};
    if (connection->err != 0)
      return Error{Code::io, "Redis at " + where + ": " + connection->errstr};
    redisSetTimeout(connection.get(), patience);
    RedisCache cache(std::move(connection), std::move(prefix), absent_seconds);
    if (auto alive = cache.command({"PING"}); !alive) return alive.error();
    return cache;
  }

  Result<Cached<std::string>> get(Id id) {
    auto reply = command({"GET", name(id)});
    if (!reply) return reply.error();
    if ((*reply)->type == REDIS_REPLY_NIL) return Cached<std::string>{};
    const std::string text((*reply)->str, (*reply)->len);
    if (text == "-") return Cached<std::string>{true, std::nullopt};
    return Cached<std::string>{true, text.substr(1)};
  }
  Result<void> put(Id id, const std::string& row) { return set(id, "+" + row, 600); }
  Result<void> put_absent(Id id) {
    if (absent_seconds_ == 0) return {};
    return set(id, "-", absent_seconds_);
  }
  Result<void> forget(Id id) { return done(command({"DEL", name(id)})); }

 private:
  using Connection = std::unique_ptr<redisContext, decltype(&redisFree)>;
  using Reply = std::unique_ptr<redisReply, decltype(&freeReplyObject)>;

  RedisCache(Connection connection, std::string prefix, std::uint64_t absent_seconds)
      : connection_(std::move(connection)),
        prefix_(std::move(prefix)),
        absent_seconds_(absent_seconds) {}

  std::string name(Id id) const { return prefix_ + std::to_string(id); }
  Result<void> set(Id id, const std::string& text, std::uint64_t seconds) {
    return done(command({"SET", name(id), text, "EX", std::to_string(seconds)}));
  }
  static Result<void> done(const Result<Reply>& reply) {
    if (!reply) return reply.error();
    return {};
  }
  // A connection that has failed once stays as it is: the guard goes on with the database.
  Result<Reply> command(const std::vector<std::string>& words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> lengths;
    for (const std::string& word : words) {
      texts.push_back(word.data());
      lengths.push_back(word.size());
    }
    Reply reply(
        static_cast<redisReply*>(redisCommandArgv(connection_.get(), static_cast<int>(words.size()),
                                                  texts.data(), lengths.data())),
        freeReplyObject);
    if (!reply) return Error{Code::io, std::string("Redis: ") + connection_->errstr};
    if (reply->type == REDIS_REPLY_ERROR)
      return Error{Code::io, std::string("Redis: ") + reply->str};
    return reply;
  }

  Connection connection_;
  std::string prefix_;
  std::uint64_t absent_seconds_;
};

class Database {
 public:
  static Result<Database> connect(const std::string& conninfo, const std::string& table) {
    Connection connection(PQconnectdb(conninfo.c_str()), PQfinish);
    if (PQstatus(connection.get()) != CONNECTION_OK)
      return Error{Code::io, "PostgreSQL: " + one_line(PQerrorMessage(connection.get()))};
    const std::unique_ptr<char, decltype(&PQfreemem)> quoted(
        PQescapeIdentifier(connection.get(), table.data(), table.size()), PQfreemem);
    if (!quoted) return Error{Code::bad_input, "PostgreSQL: " + table + " cannot be a table"};
    Database database(std::move(connection), quoted.get());
    for (const auto& [name, text] :
         {std::pair{"find", "select name from " + database.table_ + " where id = $1::bigint"},
          std::pair{"write", "insert into " + database.table_ + " values ($1::bigint, $2)"}})
      if (auto made =
              database.finish(PQprepare(database.connection_.get(), name, text.c_str(), 0, nullptr),
                              PGRES_COMMAND_OK);
          !made)
        return made.error();
    return database;
  }

  Result<std::optional<std::string>> operator()(Id id) {
    auto rows = run("find", {std::to_string(id)}, PGRES_TUPLES_OK);
    if (!rows) return rows.error();
    if (PQntuples(rows->get()) == 0) return std::optional<std::string>();
    return std::optional<std::string>(PQgetvalue(rows->get(), 0, 0));
  }
  Result<void> write(Id id, const std::string& name) {
    auto written = run("write", {std::to_string(id), name}, PGRES_COMMAND_OK);
    if (!written) return written.error();
    return {};
  }
  Result<Rows> everything() {
    auto all = finish(PQexec(connection_.get(), ("select id, name from " + table_).c_str()),
                      PGRES_TUPLES_OK);
    if (!all) return all.error();
    Rows rows;
    for (int row = 0; row < PQntuples(all->get()); ++row)
      rows.emplace(std::stoll(PQgetvalue(all->get(), row, 0)), PQgetvalue(all->get(), row, 1));
    return rows;
  }

 private:
  using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;
  using Answer = std::unique_ptr<PGresult, decltype(&PQclear)>;

  Database(Connection connection, std::string table)
      : connection_(std::move(connection)), table_(std::move(table)) {}

  static std::string one_line(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    for (char& letter : text)
      if (letter == '\n') letter = ' ';
    return text;
  }
  Result<Answer> run(const char* prepared, const std::vector<std::string>& values,
                     ExecStatusType wanted) {
    std::vector<const char*> texts;
    for (const std::string& value : values) texts.push_back(value.c_str());
    return finish(PQexecPrepared(connection_.get(), prepared, static_cast<int>(texts.size()),
                                 texts.data(), nullptr, nullptr, 0),
                  wanted);
  }
  Result<Answer> finish(PGresult* raw, ExecStatusType wanted) {
    Answer answer(raw, PQclear);
    if (PQresultStatus(raw) != wanted)
      return Error{Code::io, "PostgreSQL: " + one_line(PQerrorMessage(connection_.get()))};
    return answer;
  }

  Connection connection_;
  std::string table_;
};

// A set that says maybe to every id, for the run without a guard.
struct Everything {
  bool may_contain(Id) const { return true; }
  bool add(Id) { return true; }
};

using Ids = bloomery::Set<bloomery::BlockedBloom>;

// value() throws errors as Failure, which ends the demonstration. A server would answer with an
// error and continue.
template <class Set>
class Demonstration {
 public:
  Demonstration(Set set, RedisCache cache, Database database, Rows rows)
      : guard_(std::move(set)),
        cache_(std::move(cache)),
        database_(std::move(database)),
        rows_(std::move(rows)) {
    for (const auto& [id, name] : rows_) ids_.push_back(id);
    std::sort(ids_.begin(), ids_.end());
  }

  void run(const Options& options, std::string_view label, std::mt19937_64 random) {
    wave(label, "legitimate", options.legitimate, [&] { ask(ids_[random() % ids_.size()]); });
    wave(label, "attack", options.attack, [&] {
      Id id;
      do id = static_cast<Id>(random());
      while (rows_.contains(id));
      ask(id);
    });
    // Asks also before the row is there: neither set nor cache may keep that answer.
    wave(label, "inserted", options.insert, [&] {
      const Id id = ids_.back() + 1;
      ask(id);
      insert(id);
      ask(id);
    });
  }

  std::uint64_t wrong() const { return all_wrong_; }
  const bloomery::Guard<Set>& guard() const { return guard_; }

 private:
  template <class Request>
  void wave(std::string_view label, std::string_view name, std::uint64_t requests,
            Request request) {
    const auto start = std::chrono::steady_clock::now();
    const bloomery::GuardCounts before = guard_.counts();
    wrong_ = 0;
    for (std::uint64_t i = 0; i < requests; ++i) request();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const bloomery::GuardCounts after = guard_.counts();
    const auto known = [](const bloomery::GuardCounts& c) { return c.cache_hits + c.cache_absent; };
    std::cout << std::left << std::setw(7) << label << std::setw(12) << name << std::right
              << std::setw(10) << after.asked - before.asked << std::setw(12)
              << after.absent - before.absent << std::setw(12) << known(after) - known(before)
              << std::setw(10) << after.queries - before.queries << std::setw(8) << wrong_
              << std::setw(10) << std::fixed << std::setprecision(2) << took.count() << std::endl;
    all_wrong_ += wrong_;
  }

  void ask(Id id) {
    const std::optional<std::string> answer = guard_.get(id, cache_, database_).value();
    const auto row = rows_.find(id);
    wrong_ += row == rows_.end() ? answer.has_value() : answer != row->second;
  }

  void insert(Id id) {
    const std::string name = "user " + std::to_string(id);
    guard_.insert(id, cache_, [&] { return database_.write(id, name); }).value();
    rows_.emplace(id, name);
    ids_.push_back(id);
  }

  bloomery::Guard<Set> guard_;
  RedisCache cache_;
  Database database_;
  Rows rows_;  // what the answers must be
  std::vector<Id> ids_;
  std::uint64_t wrong_ = 0;
  std::uint64_t all_wrong_ = 0;
};

template <class Set>
std::uint64_t demonstrate(const Options& options, std::string_view label, std::uint64_t seed,
                          const std::function<Set(const Rows&)>& make_set) {
  auto database = Database::connect(options.postgres, options.table).value();
  Rows rows = database.everything().value();
  if (rows.empty())
    throw bloomery::Failure({Code::bad_input, "the table " + options.table + " has no rows"});
  // Each run has its own name, so that it does not find what another run left in the cache.
  const std::string prefix = "cache_guard:" + std::to_string(std::random_device{}()) + ":";
  auto cache = RedisCache::connect(options.redis, prefix, options.remember_absent).value();

  Set set = make_set(rows);
  Demonstration<Set> demonstration(std::move(set), std::move(cache), std::move(database),
                                   std::move(rows));
  demonstration.run(options, label, std::mt19937_64(seed));
  if (demonstration.guard().overfull())
    std::cerr << "cache_guard: the set holds more ids than it was planned for; make a larger one\n";
  return demonstration.wrong();
}

// Hardened: attackers who know the hash could compute ids that pass.
Ids set_of_ids(const Rows& rows, const Options& options, std::uint64_t seed) {
  std::mt19937_64 secret(seed ^ 0x5ec2e7);
  Ids ids({.keys = rows.size() + options.insert, .rate = options.rate},
          bloomery::Hasher::hardened({secret(), secret()}));
  for (const auto& [id, name] : rows) ids.add(id);
  return ids;
}

[[noreturn]] void refuse(const std::string& sentence) {
  throw bloomery::Failure({Code::bad_input, sentence});
}

constexpr std::string_view help_text = R"(usage: cache_guard [OPTION...]

Sends three waves of requests to a table of a PostgreSQL server through a cache on a Redis server,
with a guard before both and without, and tells how many came to each.

  --redis HOST:PORT          the cache (127.0.0.1:6379)
  --postgres CONNINFO        the database, as libpq takes it (what the environment says)
  --table NAME               has `id bigint primary key` and `name text` (users)
  --guard off|on|both        (both)
  --legitimate N             requests for rows of the table (20000)
  --attack N                 requests for ids that it has not (100000)
  --insert N                 rows to ask for, add and ask for again; they stay there (1000)
  --rate R                   at which the guard lets absent ids pass (0.01)
  --remember-absent SECONDS  for which the cache remembers absent ids (0: not at all)
  --seed N                   of the requests (random)

Exit codes: 0 all answers were right; 1 some were wrong; 2 an error.
)";

template <class Number>
Number number(const std::string& flag, const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    refuse(flag + " takes a number, not '" + text + "'");
  return value;
}

Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    if (i + 1 == argc) refuse(flag + " takes a value; see --help");
    const std::string value = argv[i + 1];
    if (flag == "--redis")
      options.redis = value;
    else if (flag == "--postgres")
      options.postgres = value;
    else if (flag == "--table")
      options.table = value;
    else if (flag == "--guard")
      options.guard = value;
    else if (flag == "--legitimate")
      options.legitimate = number<std::uint64_t>(flag, value);
    else if (flag == "--attack")
      options.attack = number<std::uint64_t>(flag, value);
    else if (flag == "--insert")
      options.insert = number<std::uint64_t>(flag, value);
    else if (flag == "--rate")
      options.rate = number<double>(flag, value);
    else if (flag == "--remember-absent")
      options.remember_absent = number<std::uint64_t>(flag, value);
    else if (flag == "--seed")
      options.seed = number<std::uint64_t>(flag, value);
    else
      refuse("unknown option " + flag);
  }
  if (options.guard != "off" && options.guard != "on" && options.guard != "both")
    refuse("--guard is off, on or both");
  return options;
}

int run(const Options& options) {
  const std::uint64_t seed =
      options.seed.value_or((std::uint64_t{std::random_device{}()} << 32) | std::random_device{}());
  std::cout << "guard  wave          requests     at once  from cache   queries   wrong   seconds"
            << std::endl;
  std::uint64_t wrong = 0;
  if (options.guard != "on")
    wrong +=
        demonstrate<Everything>(options, "off", seed, [](const Rows&) { return Everything{}; });
  if (options.guard != "off")
    wrong += demonstrate<Ids>(options, "on", seed + 1,
                              [&](const Rows& rows) { return set_of_ids(rows, options, seed); });
  if (wrong == 0) return 0;
  std::cerr << "cache_guard: " << wrong << " answers were wrong\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2 && (argv[1] == std::string_view("--help") || argv[1] == std::string_view("-h"))) {
      std::cout << help_text;
      return 0;
    }
    return run(options_of(argc, argv));
  } catch (const std::exception& failure) {  // Failure, or a rate that no set can have
    std::cerr << "cache_guard: " << failure.what() << '\n';
    return 2;
  }
}
