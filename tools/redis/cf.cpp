// CF.*: the commands of RedisBloom's cuckoo filters, word for word in syntax, replies and errors.
//
// Replicated as in bf.cpp. RedisBloom replicates no data chunk of CF.LOADCHUNK, so a failover loses
// them there; here every command that changes a key is replicated. CF.COMPACT is a command that
// writes, which in RedisBloom it is not.
#include <array>
#include <vector>

#include <tools/redis/cf_type.hpp>
#include <tools/redis/commands.hpp>
#include <tools/redis/compat_cuckoo_body.hpp>
#include <tools/redis/opened_key.hpp>
#include <tools/redis/replies.hpp>
#include <tools/redis/settings.hpp>
#include <tools/redis/words.hpp>

namespace bloomery::redis {
namespace {

struct Want {
  long long capacity = settings.cf_capacity;
  long long bucket_size = settings.cf_bucket_size;
  long long max_iterations = settings.cf_max_iterations;
  long long expansion = settings.cf_expansion;
};

CuckooBody* body_of(const OpenedKey& key) {
  return static_cast<CuckooBody*>(key.value_of(cf_types()));
}

// What a name stands for, for commands that do not make filters: a body, or the error replied.
struct Asked {
  CuckooBody* body = nullptr;
  int replied = ok;
};

Asked ask_for(Ctx* ctx, const OpenedKey& key) {
  if (key.missing()) return {.replied = api.reply_with_error(ctx, not_found)};
  CuckooBody* body = body_of(key);
  if (body == nullptr) return {.replied = api.reply_with_error(ctx, wrong_type)};
  return {.body = body};
}

// Makes the filter that is wanted in an empty key. Null when it has replied with an error.
CuckooBody* make_filter(Ctx* ctx, OpenedKey& key, Str* name, const Want& want) {
  auto cuckoo =
      CompatCuckoo::make({.capacity = static_cast<std::uint64_t>(want.capacity),
                          .bucket_size = static_cast<std::uint16_t>(want.bucket_size),
                          .max_iterations = static_cast<std::uint16_t>(want.max_iterations),
                          .expansion = static_cast<std::uint16_t>(want.expansion),
                          .cap_bytes = cap_for(ctx)});
  if (!cuckoo) {
    api.reply_with_error(ctx, cuckoo.error().code == Code::no_memory
                                  ? "ERR Insufficient memory"
                                  : "ERR Could not create filter");
    return nullptr;
  }
  auto* body = new CompatCuckooBody(std::move(*cuckoo));
  key.set(compat_cuckoo_type(), body);
  const auto first = body->piece(0);
  api.replicate(ctx, "CF.LOADCHUNK", "slb", name, static_cast<long long>(first.next),
                first.bytes().data(), first.bytes().size());
  return body;
}

// -- CF.RESERVE -----------------------------------------------------------------------------------

struct Option {
  const char* word;
  long long Want::*value;
  long long least;
  long long most;
  const char* unread;
  const char* outside;
};

const std::array options = {
    Option{"MAXITERATIONS", &Want::max_iterations, 1, 65535, "Couldn't parse MAXITERATIONS",
           "MAXITERATIONS: value must be in the range [1, 65535]"},
    Option{"BUCKETSIZE", &Want::bucket_size, 1, 255, "Couldn't parse BUCKETSIZE",
           "BUCKETSIZE: value must be in the range [1, 255]"},
    Option{"EXPANSION", &Want::expansion, 0, most_expansion, "Couldn't parse EXPANSION",
           "EXPANSION: value must be in the range [0, 32768]"},
};

// The reason why these words are none, or null.
const char* read_reserve(Str** argv, int argc, Want& want) {
  if (api.string_to_long_long(argv[2], &want.capacity) != ok) return "Bad capacity";
  for (int n = 3; n < argc; n += 2) {
    const Option* known = nullptr;
    for (const Option& option : options) {
      if (same_word(text_of(argv[n]), option.word)) known = &option;
    }
    if (known == nullptr) return "Unknown argument received";
    long long& value = want.*known->value;
    if (api.string_to_long_long(argv[n + 1], &value) != ok) return known->unread;
    if (value < known->least || value > known->most) return known->outside;
  }
  if (want.capacity < 2 * want.bucket_size || want.capacity > most_capacity) {
    return "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]";
  }
  return nullptr;
}

int cf_reserve(Ctx* ctx, Str** argv, int argc) {
  if (argc < 3 || argc % 2 == 0) return api.wrong_arity(ctx);
  Want want;
  if (const char* why = read_reserve(argv, argc, want)) return api.reply_with_error(ctx, why);
  OpenedKey key(ctx, argv[1], key_mode::read | key_mode::write);
  if (!key.missing()) {
    return api.reply_with_error(ctx, body_of(key) != nullptr ? item_exists : wrong_type);
  }
  if (make_filter(ctx, key, argv[1], want) == nullptr) return ok;
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

int add_words(Ctx* ctx, Str* name, CuckooBody& body, const Adding& adding) {
  const std::uint64_t cap = cap_for(ctx);
  // What the primary or the append-only file tells us was allowed there.
  if (cap != UINT64_MAX &&
      body.has_grown_out(static_cast<std::uint64_t>(settings.cf_max_expansions))) {
    return api.reply_with_error(ctx, "Maximum expansions reached");
  }
  bool changed = false;
  const bool resp3 = adding.many && speaks_resp3(ctx);
  if (adding.many) api.reply_with_array(ctx, adding.count);
  for (int n = 0; n < adding.count; ++n) {
    const std::string_view word = text_of(adding.words[n]);
    const AddOutcome added = adding.only_fresh ? body.add_new(word, cap) : body.add(word, cap);
    changed |= added == AddOutcome::fresh;
    reply_added(ctx, added, adding, resp3);
  }
  if (changed) {
    api.replicate_verbatim(ctx);
    announce(ctx, adding.event, name);
  }
  return ok;
}

int add_or_make(Ctx* ctx, Str* name, const Want& want, const Adding& adding) {
  OpenedKey key(ctx, name, key_mode::read | key_mode::write);
  CuckooBody* body = body_of(key);
  if (body == nullptr) {
    if (!key.missing()) return api.reply_with_error(ctx, wrong_type);
    body = make_filter(ctx, key, name, want);
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
  Want want;
  bool create = true;
  int first_item = 0;
  for (int n = 2; n < argc && first_item == 0; ++n) {
    const std::string_view word = text_of(argv[n]);
    if (same_word(word, "ITEMS")) {
      first_item = n + 1;
    } else if (same_word(word, "NOCREATE")) {
      create = false;
    } else if (same_word(word, "CAPACITY")) {
      if (++n == argc || api.string_to_long_long(argv[n], &want.capacity) != ok) {
        return api.reply_with_error(ctx, "Bad capacity");
      }
      if (want.capacity < 2 * want.bucket_size || want.capacity > most_capacity) {
        return api.reply_with_error(
            ctx, "Capacity must be in the range [cf-bucket-size * 2, 1073741824]");
      }
    } else {
      return api.reply_with_error(ctx, "Unknown argument received");
    }
  }
  if (first_item == 0 || first_item == argc) return api.wrong_arity(ctx);
  adding.words = argv + first_item;
  adding.count = argc - first_item;
  if (!create) {
    OpenedKey key(ctx, argv[1], key_mode::read);
    if (key.missing()) return api.reply_with_error(ctx, not_found);
  }
  return add_or_make(ctx, argv[1], want, adding);
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
  const CuckooBody* body = body_of(key);
  if (many) api.reply_with_array(ctx, argc - 2);
  for (int begin = 2; begin < argc; begin += static_cast<int>(answers.size())) {
    const int end = std::min(argc, begin + static_cast<int>(answers.size()));
    const auto count = static_cast<std::size_t>(end - begin);
    answers.fill(false);
    if (body != nullptr) {
      keys.clear();
      for (int n = begin; n < end; ++n) keys.push_back(text_of(argv[n]));
      body->may_contain_all(keys, std::span(answers).first(count));
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
  const CuckooBody* body = body_of(key);
  return reply_count(ctx, body == nullptr ? 0 : body->count(text_of(argv[2])));
}

int cf_del(Ctx* ctx, Str** argv, int argc) {
  if (argc != 3) return api.wrong_arity(ctx);
  OpenedKey key(ctx, argv[1], key_mode::read | key_mode::write);
  CuckooBody* body = body_of(key);
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
  CuckooBody* body = body_of(key);
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
  // A filter without keys dumps nothing.
  const auto piece = body->info().keys > 0 ? body->piece(static_cast<std::uint64_t>(position))
                                           : CuckooBody::Piece{};
  api.reply_with_array(ctx, 2);
  api.reply_with_long_long(ctx, static_cast<long long>(piece.next));
  return piece.next == 0 ? api.reply_with_null(ctx) : reply_text(ctx, piece.bytes());
}

// Makes a filter in an empty key; the reason why it does not, or null.
const char* make_from_header(Ctx* ctx, OpenedKey& key, std::string_view header) {
  if (!CompatCuckoo::is_header_length(header.size())) return "Invalid header";
  auto cuckoo = CompatCuckoo::from_header(header, cap_for(ctx));
  if (!cuckoo) return "Couldn't create filter!";
  key.set(compat_cuckoo_type(), new CompatCuckooBody(std::move(*cuckoo)));
  return nullptr;
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
    if (const char* why = make_from_header(ctx, key, bytes)) {
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
const Arg reserve_args[] = {key_arg,
                            {.name = "capacity", .kind = ArgKind::integer},
                            number_arg("bucketsize", "BUCKETSIZE"),
                            number_arg("maxiterations", "MAXITERATIONS"),
                            number_arg("expansion", "EXPANSION"),
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
