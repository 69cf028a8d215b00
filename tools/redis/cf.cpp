// CF.*: the commands of RedisBloom's cuckoo filters, word for word in syntax, replies and errors.
//
// Replicated as in bf.cpp. RedisBloom replicates no data chunk of CF.LOADCHUNK, so a failover loses
// them there; here every command that changes a key is replicated. CF.COMPACT is a command that
// writes, which in RedisBloom it is not.
#include <array>
#include <vector>

#include <tools/redis/cf_type.hpp>
#include <tools/redis/commands.hpp>
#include <tools/redis/cuckoo_order.hpp>
#include <tools/redis/opened_key.hpp>
#include <tools/redis/replies.hpp>
#include <tools/redis/settings.hpp>
#include <tools/redis/words.hpp>

namespace bloomery::redis {
namespace {

// What a name stands for, for commands that do not make filters: a body, or the error replied.
struct Asked {
  CuckooBody* body = nullptr;
  int replied = ok;
};

Asked ask_for(Ctx* ctx, const OpenedKey& key) {
  if (key.missing()) return {.replied = api.reply_with_error(ctx, not_found)};
  CuckooBody* body = cuckoo_in(key);
  if (body == nullptr) return {.replied = api.reply_with_error(ctx, wrong_type)};
  return {.body = body};
}

// -- making ---------------------------------------------------------------------------------------

int cf_reserve(Ctx* ctx, Str** argv, int argc) {
  if (argc < 3 || argc % 2 == 0) return api.wrong_arity(ctx);
  CuckooOrder order;
  if (const char* why = read_reserve(argv, argc, order)) return api.reply_with_error(ctx, why);
  OpenedKey key(ctx, argv[1], key_mode::read | key_mode::write);
  if (!key.missing()) {
    return api.reply_with_error(ctx, cuckoo_in(key) != nullptr ? item_exists : wrong_type);
  }
  if (make_cuckoo(ctx, key, argv[1], order) == nullptr) return ok;
  announce(ctx, "cf.reserve", argv[1]);
  return api.reply_with_simple_string(ctx, "OK");
}

// -- adding ---------------------------------------------------------------------------------------

struct Adding {
  Str** words;
  int count;
  const char* event;
  bool many;        // reply with an array
  bool only_fresh;  // not if it is there
};

constexpr const char* out_of_memory = "ERR Insufficient memory";

void reply_added(Ctx* ctx, AddOutcome added, const Adding& adding, bool resp3) {
  if (added == AddOutcome::no_memory) {
    api.reply_with_error(ctx, out_of_memory);
  } else if (!adding.many) {
    if (added > AddOutcome::seen) {
      api.reply_with_error(ctx, "Filter is full");
    } else {
      api.reply_with_bool(ctx, added == AddOutcome::fresh);
    }
  } else if (resp3 && !adding.only_fresh) {
    api.reply_with_bool(ctx, added == AddOutcome::fresh);
  } else {
    api.reply_with_long_long(ctx, added > AddOutcome::seen ? -1 : added == AddOutcome::fresh);
  }
}

// To ask who tells us takes the server longer than one add, so that a single one tries first.
void add_all(Ctx* ctx, CuckooBody& body, std::span<const std::string_view> keys,
             const Adding& adding, std::span<AddOutcome> answers) {
  const bool single = keys.size() == 1;
  const std::uint64_t cap = single ? usual_cap() : cap_for(ctx);
  body.add_all(keys, {adding.only_fresh, cap}, answers);
  if (single && answers[0] == AddOutcome::no_memory && is_told_by_server(ctx)) {
    body.add_all(keys, {adding.only_fresh, UINT64_MAX}, answers);
  }
}

int add_words(Ctx* ctx, Str* name, CuckooBody& body, const Adding& adding) {
  if (body.has_grown_out(static_cast<std::uint64_t>(settings.cf_max_expansions)) &&
      !is_told_by_server(ctx)) {
    return api.reply_with_error(ctx, "Maximum expansions reached");
  }
  // Reused from command to command; the server runs them on one thread.
  static std::vector<std::string_view> keys;
  static std::vector<AddOutcome> answers;
  keys.clear();
  for (int n = 0; n < adding.count; ++n) keys.push_back(text_of(adding.words[n]));
  answers.resize(keys.size());
  add_all(ctx, body, keys, adding, answers);
  bool changed = false;
  const bool resp3 = adding.many && speaks_resp3(ctx);
  if (adding.many) api.reply_with_array(ctx, adding.count);
  for (const AddOutcome added : answers) {
    changed |= added == AddOutcome::fresh;
    reply_added(ctx, added, adding, resp3);
  }
  if (changed) {
    api.replicate_verbatim(ctx);
    announce(ctx, adding.event, name);
  }
  return ok;
}

int add_or_make(Ctx* ctx, Str* name, const CuckooOrder& order, const Adding& adding) {
  OpenedKey key(ctx, name, key_mode::read | key_mode::write);
  CuckooBody* body = cuckoo_in(key);
  if (body == nullptr) {
    if (!key.missing()) return api.reply_with_error(ctx, wrong_type);
    body = make_cuckoo(ctx, key, name, order);
    if (body == nullptr) return ok;
  }
  return add_words(ctx, name, *body, adding);
}

int cf_add(Ctx* ctx, Str** argv, int argc) {
  if (argc != 3) return api.wrong_arity(ctx);
  return add_or_make(ctx, argv[1], {}, {argv + 2, 1, "cf.add", false, false});
}

int cf_addnx(Ctx* ctx, Str** argv, int argc) {
  if (argc != 3) return api.wrong_arity(ctx);
  return add_or_make(ctx, argv[1], {}, {argv + 2, 1, "cf.addnx", false, true});
}

int insert_words(Ctx* ctx, Str** argv, int argc, Adding adding) {
  if (argc < 4) return api.wrong_arity(ctx);
  CuckooInsert insert;
  if (const char* why = read_insert(argv, argc, insert)) return api.reply_with_error(ctx, why);
  if (insert.first_item == 0) return api.wrong_arity(ctx);
  adding.words = argv + insert.first_item;
  adding.count = argc - insert.first_item;
  if (!insert.create) {
    OpenedKey key(ctx, argv[1], key_mode::read);
    if (key.missing()) return api.reply_with_error(ctx, not_found);
  }
  return add_or_make(ctx, argv[1], insert.order, adding);
}

int cf_insert(Ctx* ctx, Str** argv, int argc) {
  return insert_words(ctx, argv, argc, {nullptr, 0, "cf.insert", true, false});
}

int cf_insertnx(Ctx* ctx, Str** argv, int argc) {
  return insert_words(ctx, argv, argc, {nullptr, 0, "cf.insertnx", true, true});
}

// -- asking and removing --------------------------------------------------------------------------

// A missing key and one of another type contain nothing, as in RedisBloom.
int ask_words(Ctx* ctx, Str** argv, int argc, bool many) {
  static std::vector<std::string_view> keys;
  static std::array<bool, 256> answers;
  OpenedKey key(ctx, argv[1], key_mode::read);
  const CuckooBody* body = cuckoo_in(key);
  if (many) api.reply_with_array(ctx, argc - 2);
  for (int begin = 2; begin < argc; begin += static_cast<int>(answers.size())) {
    const int end = std::min(argc, begin + static_cast<int>(answers.size()));
    const auto count = static_cast<std::size_t>(end - begin);
    if (body != nullptr) {
      keys.clear();
      for (int n = begin; n < end; ++n) keys.push_back(text_of(argv[n]));
      body->may_contain_all(keys, std::span(answers).first(count));
    } else {
      answers.fill(false);
    }
    for (std::size_t n = 0; n < count; ++n) api.reply_with_bool(ctx, answers[n]);
  }
  return ok;
}

int cf_exists(Ctx* ctx, Str** argv, int argc) {
  if (argc != 3) return api.wrong_arity(ctx);
  return ask_words(ctx, argv, argc, false);
}

int cf_mexists(Ctx* ctx, Str** argv, int argc) {
  if (argc < 3) return api.wrong_arity(ctx);
  return ask_words(ctx, argv, argc, true);
}

int cf_count(Ctx* ctx, Str** argv, int argc) {
  if (argc != 3) return api.wrong_arity(ctx);
  OpenedKey key(ctx, argv[1], key_mode::read);
  const CuckooBody* body = cuckoo_in(key);
  return reply_count(ctx, body == nullptr ? 0 : body->count(text_of(argv[2])));
}

int cf_del(Ctx* ctx, Str** argv, int argc) {
  if (argc != 3) return api.wrong_arity(ctx);
  OpenedKey key(ctx, argv[1], key_mode::read | key_mode::write);
  CuckooBody* body = cuckoo_in(key);
  if (body == nullptr) return api.reply_with_error(ctx, "Not found");
  const bool removed = body->remove(text_of(argv[2]));
  if (removed) {
    api.replicate_verbatim(ctx);
    announce(ctx, "cf.del", argv[1]);
  }
  return api.reply_with_bool(ctx, removed);
}

int cf_compact(Ctx* ctx, Str** argv, int argc) {
  if (argc != 2) return api.wrong_arity(ctx);
  OpenedKey key(ctx, argv[1], key_mode::read | key_mode::write);
  CuckooBody* body = cuckoo_in(key);
  if (body == nullptr) return api.reply_with_error(ctx, "Cuckoo filter was not found");
  body->compact();
  api.replicate_verbatim(ctx);
  announce(ctx, "cf.compact", argv[1]);
  return api.reply_with_simple_string(ctx, "OK");
}

// -- CF.INFO, CF.DEBUG ----------------------------------------------------------------------------

int cf_info(Ctx* ctx, Str** argv, int argc) {
  if (argc != 2) return api.wrong_arity(ctx);
  OpenedKey key(ctx, argv[1], key_mode::read);
  const auto [body, replied] = ask_for(ctx, key);
  if (body == nullptr) return replied;
  const CuckooBody::Info info = body->info();
  const std::pair<const char*, std::uint64_t> figures[] = {
      {"Size", info.bytes},
      {"Number of buckets", info.buckets},
      {"Number of filters", info.filters},
      {"Number of items inserted", info.keys},
      {"Number of items deleted", info.removed},
      {"Bucket size", info.bucket_size},
      {"Expansion rate", info.expansion},
      {"Max iterations", info.max_iterations},
  };
  api.reply_with_map(ctx, static_cast<long>(std::size(figures)));
  for (const auto& [name, figure] : figures) {
    reply_text(ctx, name);
    reply_count(ctx, figure);
  }
  return ok;
}

int cf_debug(Ctx* ctx, Str** argv, int argc) {
  if (argc != 2) return api.wrong_arity(ctx);
  OpenedKey key(ctx, argv[1], key_mode::read);
  const auto [body, replied] = ask_for(ctx, key);
  if (body == nullptr) return replied;
  return reply_text(ctx, body->debug_line());
}

// -- CF.SCANDUMP, CF.LOADCHUNK --------------------------------------------------------------------

int cf_scandump(Ctx* ctx, Str** argv, int argc) {
  if (argc != 3) return api.wrong_arity(ctx);
  OpenedKey key(ctx, argv[1], key_mode::read);
  const auto [body, replied] = ask_for(ctx, key);
  if (body == nullptr) return replied;
  long long position;
  if (api.string_to_long_long(argv[2], &position) != ok || position < 0) {
    return api.reply_with_error(ctx, "Invalid position");
  }
  // A filter of RedisBloom without keys dumps nothing.
  const bool dumps = body->dumps_when_empty() || body->info().keys > 0;
  const auto piece =
      dumps ? body->piece(static_cast<std::uint64_t>(position)) : CuckooBody::Piece{};
  api.reply_with_array(ctx, 2);
  api.reply_with_long_long(ctx, static_cast<long long>(piece.next));
  return piece.next == 0 ? api.reply_with_null(ctx) : reply_text(ctx, piece.bytes());
}

int cf_loadchunk(Ctx* ctx, Str** argv, int argc) {
  if (argc != 4) return api.wrong_arity(ctx);
  long long next;
  if (api.string_to_long_long(argv[2], &next) != ok || next <= 0) {
    return api.reply_with_error(ctx, "Invalid position");
  }
  const std::string_view bytes = text_of(argv[3]);
  OpenedKey key(ctx, argv[1], key_mode::read | key_mode::write);
  if (key.missing() && next == 1) {
    if (const char* why = make_cuckoo_from(ctx, key, bytes)) {
      return api.reply_with_error(ctx, why);
    }
  } else {
    const auto [body, replied] = ask_for(ctx, key);
    if (body == nullptr) return replied;
    if (next == 1) return api.reply_with_error(ctx, item_exists);
    if (!body->load_piece(static_cast<std::uint64_t>(next), bytes)) {
      return api.reply_with_error(ctx, "Couldn't load chunk!");
    }
  }
  api.replicate_verbatim(ctx);
  announce(ctx, "cf.loadchunk", argv[1]);
  return api.reply_with_simple_string(ctx, "OK");
}

// -- what COMMAND DOCS tells ----------------------------------------------------------------------

constexpr Arg key_arg{.name = "key", .kind = ArgKind::key, .key_spec_index = 0};

constexpr Arg number_arg(const char* name, const char* token) {
  return {.name = name, .kind = ArgKind::integer, .token = token, .flags = arg_flag::optional};
}

const Arg only_key[] = {key_arg, {}};
const Arg key_item[] = {key_arg, {.name = "item"}, {}};
const Arg key_items[] = {key_arg, {.name = "item", .flags = arg_flag::multiple}, {}};
const Arg reserve_args[] = {
    key_arg,
    {.name = "capacity", .kind = ArgKind::integer},
    number_arg("bucketsize", "BUCKETSIZE"),
    number_arg("maxiterations", "MAXITERATIONS"),
    number_arg("expansion", "EXPANSION"),
    {.name = "error", .kind = ArgKind::real, .token = "ERROR", .flags = arg_flag::optional},
    {.name = "engine", .token = "ENGINE", .flags = arg_flag::optional},
    {.name = "secret", .token = "SECRET", .flags = arg_flag::optional},
    {}};
const Arg insert_args[] = {key_arg,
                           number_arg("capacity", "CAPACITY"),
                           {.name = "nocreate",
                            .kind = ArgKind::pure_token,
                            .token = "NOCREATE",
                            .flags = arg_flag::optional},
                           {.name = "items", .token = "ITEMS", .flags = arg_flag::multiple},
                           {}};
const Arg scandump_args[] = {key_arg, {.name = "iterator", .kind = ArgKind::integer}, {}};
const Arg loadchunk_args[] = {
    key_arg, {.name = "iterator", .kind = ArgKind::integer}, {.name = "data"}, {}};

constexpr const char* writes = "write deny-oom";
constexpr const char* shrinks = "write fast";
constexpr const char* reads = "readonly fast";

const std::array commands = {
    CommandEntry{"cf.reserve", cf_reserve, writes, -3, "Creates an empty cuckoo filter", "O(1)",
                 reserve_args},
    CommandEntry{"cf.add", cf_add, writes, 3,
                 "Adds an item to a cuckoo filter, once more each time",
                 "O(k + i), k tables, i iterations", key_item},
    CommandEntry{"cf.addnx", cf_addnx, writes, 3,
                 "Adds an item to a cuckoo filter if it is not there yet",
                 "O(k + i), k tables, i iterations", key_item},
    CommandEntry{"cf.insert", cf_insert, writes, -4,
                 "Adds items to a cuckoo filter, made with these options if there is none",
                 "O(n * (k + i)), n items, k tables, i iterations", insert_args},
    CommandEntry{"cf.insertnx", cf_insertnx, writes, -4,
                 "Adds the items that are not there yet to a cuckoo filter",
                 "O(n * (k + i)), n items, k tables, i iterations", insert_args},
    CommandEntry{"cf.exists", cf_exists, reads, 3, "Tells if an item may be in a cuckoo filter",
                 "O(k), k tables", key_item},
    CommandEntry{"cf.mexists", cf_mexists, reads, -3, "Tells which items may be in a cuckoo filter",
                 "O(k * n), n items, k tables", key_items},
    CommandEntry{"cf.count", cf_count, reads, 3,
                 "Tells how often an item may be in a cuckoo filter", "O(k), k tables", key_item},
    CommandEntry{"cf.del", cf_del, shrinks, 3, "Takes an item out of a cuckoo filter, once",
                 "O(k), k tables; O(n), n items, when it compacts", key_item},
    CommandEntry{"cf.info", cf_info, reads, 2, "Tells the figures of a cuckoo filter", "O(1)",
                 only_key},
    CommandEntry{"cf.debug", cf_debug, reads, 2, "Tells the figures of a cuckoo filter in a line",
                 "O(1)", only_key},
    CommandEntry{"cf.compact", cf_compact, shrinks, 2,
                 "Moves items of newer tables into gaps of older ones",
                 "O(n * k), n items, k tables", only_key},
    CommandEntry{"cf.scandump", cf_scandump, reads, 3,
                 "Gives the saved form of a cuckoo filter, piece by piece", "O(n), n bytes",
                 scandump_args},
    CommandEntry{"cf.loadchunk", cf_loadchunk, writes, 4,
                 "Takes the saved form of a cuckoo filter, piece by piece", "O(n), n bytes",
                 loadchunk_args},
};

}  // namespace

std::span<const CommandEntry> cf_commands() { return commands; }

}  // namespace bloomery::redis
