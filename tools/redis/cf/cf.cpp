// CF.*: the commands of RedisBloom's cuckoo filters, word for word in syntax, replies and errors.
//
// Replicated as in bf.cpp. RedisBloom replicates no data chunk of CF.LOADCHUNK, so a failover loses
// them there; here every command that changes a key is replicated. CF.COMPACT is a command that
// writes, which in RedisBloom it is not.
#include <array>
#include <vector>

#include <bloomery/served/native/native_cuckoo.hpp>
#include <tools/redis/cf/cf_type.hpp>
#include <tools/redis/cf/cuckoo_order.hpp>
#include <tools/redis/server/command_args.hpp>
#include <tools/redis/server/commands.hpp>
#include <tools/redis/server/filter_commands.hpp>
#include <tools/redis/server/opened_key.hpp>
#include <tools/redis/server/replies.hpp>
#include <tools/redis/server/settings.hpp>
#include <tools/redis/server/words.hpp>

namespace bloomery::redis {
namespace {

// -- how cuckoo filters take keys -----------------------------------------------------------------

struct Cuckoos {
  using Order = CuckooOrder;
  using Insert = CuckooInsert;
  static constexpr auto in = cuckoo_in;
  static constexpr auto make = make_cuckoo;
  static int add(Ctx* ctx, Str* name, const CuckooOrder& order, const Adding& adding);
};

AddReply reply_to(Ctx* ctx, const Adding& adding) {
  if (!adding.many) return AddReply::cuckoo;
  return speaks_resp3(ctx) && !adding.only_fresh ? AddReply::cuckoo_flags
                                                 : AddReply::cuckoo_numbers;
}

// To ask who tells us takes the server longer than one add, so that a single one tries first.
int Cuckoos::add(Ctx* ctx, Str* name, const CuckooOrder& order, const Adding& adding) {
  OpenedKey key(ctx, name, key_mode::read | key_mode::write);
  CuckooBody* const body = found_or_made<Cuckoos>(ctx, key, name, order);
  if (body == nullptr) return ok;
  if (body->has_grown_out(static_cast<std::uint64_t>(settings.cf_max_expansions)) &&
      !is_told_by_server(ctx)) {
    return api.reply_with_error(ctx, "Maximum expansions reached");
  }
  static std::vector<AddOutcome> answers;
  const auto keys = texts_of(adding.words);
  answers.resize(keys.size());
  const bool single = keys.size() == 1;
  body->add_all(keys, {adding.only_fresh, single ? usual_cap() : cap_for(ctx)}, answers);
  if (single && answers[0] == AddOutcome::no_memory && is_told_by_server(ctx)) {
    body->add_all(keys, {adding.only_fresh, UINT64_MAX}, answers);
  }
  bool changed = false;
  const AddReply form = reply_to(ctx, adding);
  if (adding.many) api.reply_with_array(ctx, static_cast<long>(answers.size()));
  for (const AddOutcome added : answers) {
    changed |= added == AddOutcome::fresh;
    reply_added(ctx, added, form);
  }
  if (changed) tell_change(ctx, adding.event, name);
  return ok;
}

// -- making and adding ----------------------------------------------------------------------------

int cf_reserve(Ctx* ctx, Str** argv, int argc) {
  if (argc < 3 || argc % 2 == 0) return api.wrong_arity(ctx);
  CuckooOrder order;
  if (const char* why = read_reserve(argv, argc, order)) return api.reply_with_error(ctx, why);
  return reserve<Cuckoos>(ctx, argv[1], order, "cf.reserve");
}

int cf_add(Ctx* ctx, Str** argv, int argc) {
  if (argc != 3) return api.wrong_arity(ctx);
  return Cuckoos::add(ctx, argv[1], {}, {{argv + 2, 1}, "cf.add", false});
}

int cf_addnx(Ctx* ctx, Str** argv, int argc) {
  if (argc != 3) return api.wrong_arity(ctx);
  return Cuckoos::add(ctx, argv[1], {}, {{argv + 2, 1}, "cf.addnx", false, true});
}

int cf_insert(Ctx* ctx, Str** argv, int argc) {
  return insert_words<Cuckoos>(ctx, argv, argc, {{}, "cf.insert"});
}

int cf_insertnx(Ctx* ctx, Str** argv, int argc) {
  return insert_words<Cuckoos>(ctx, argv, argc, {{}, "cf.insertnx", true, true});
}

// -- counting and removing ------------------------------------------------------------------------

int cf_count(Ctx* ctx, Str** argv, int argc) {
  if (argc != 3) return api.wrong_arity(ctx);
  OpenedKey key(ctx, argv[1], key_mode::read);
  const CuckooBody* body = cuckoo_in(key);
  return reply_count(ctx, body == nullptr ? 0 : body->count(text_of(argv[2])));
}

// A part of a compaction: from where the last one left off, or a new one. Replicas and the
// append-only file hear which part, since they may not know where the last one left off.
void compact_part(Ctx* ctx, Str* name, CuckooBody& body, bool through_all) {
  const CuckooBody::Compaction part =
      body.unfinished().value_or(CuckooBody::Compaction{.through_all = through_all});
  body.compact(part);
  const auto word = [](std::uint64_t number) { return static_cast<long long>(number); };
  api.replicate(ctx, "CF.COMPACT", "sllll", name, word(part.table), word(part.place),
                word(part.through_all ? 1 : 0), word(part.steps));
}

// RedisBloom compacts within CF.DEL, however long that takes; here each CF.DEL does a part.
int cf_del(Ctx* ctx, Str** argv, int argc) {
  if (argc != 3) return api.wrong_arity(ctx);
  OpenedKey key(ctx, argv[1], key_mode::read | key_mode::write);
  CuckooBody* body = cuckoo_in(key);
  if (body == nullptr) return api.reply_with_error(ctx, "Not found");
  const bool removed = body->remove(text_of(argv[2]));
  if (removed) tell_change(ctx, "cf.del", argv[1]);
  if (removed && body->wants_compaction() && !is_told_by_server(ctx)) {
    compact_part(ctx, argv[1], *body, false);
  }
  return api.reply_with_bool(ctx, removed);
}

// CF.COMPACT key table place through-all steps: what compact_part() told; else not a command.
bool read_part(Str** argv, CuckooBody::Compaction& part) {
  long long words[4];
  for (int n = 0; n < 4; ++n) {
    if (api.string_to_long_long(argv[2 + n], &words[n]) != ok || words[n] < 0) return false;
  }
  part = {.table = static_cast<std::uint64_t>(words[0]),
          .place = static_cast<std::uint64_t>(words[1]),
          .through_all = words[2] != 0,
          .steps = static_cast<std::uint64_t>(words[3])};
  return true;
}

int cf_compact(Ctx* ctx, Str** argv, int argc) {
  const bool told = argc == 6 && is_told_by_server(ctx);
  CuckooBody::Compaction part;
  if ((argc != 2 && !told) || (told && !read_part(argv, part))) return api.wrong_arity(ctx);
  OpenedKey key(ctx, argv[1], key_mode::read | key_mode::write);
  CuckooBody* body = cuckoo_in(key);
  if (body == nullptr) return api.reply_with_error(ctx, "Cuckoo filter was not found");
  if (told) {
    body->compact(part);
    api.replicate_verbatim(ctx);
  } else {
    compact_part(ctx, argv[1], *body, true);
  }
  announce(ctx, "cf.compact", argv[1]);
  return api.reply_with_simple_string(ctx, "OK");
}

// -- CF.INFO, CF.DEBUG ----------------------------------------------------------------------------

int cf_info(Ctx* ctx, Str** argv, int argc) {
  if (argc != 2) return api.wrong_arity(ctx);
  OpenedKey key(ctx, argv[1], key_mode::read);
  const CuckooBody* body = cuckoo_in(key);
  if (body == nullptr) return reply_absent(ctx, key);
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
  const CuckooBody* body = cuckoo_in(key);
  if (body == nullptr) return reply_absent(ctx, key);
  return reply_text(ctx, body->debug_line());
}

// -- CF.SCANDUMP, CF.LOADCHUNK --------------------------------------------------------------------

int cf_scandump(Ctx* ctx, Str** argv, int argc) {
  if (argc != 3) return api.wrong_arity(ctx);
  OpenedKey key(ctx, argv[1], key_mode::read);
  const CuckooBody* body = cuckoo_in(key);
  if (body == nullptr) return reply_absent(ctx, key);
  long long position;
  if (api.string_to_long_long(argv[2], &position) != ok || position < 0) {
    return api.reply_with_error(ctx, "Invalid position");
  }
  // A filter of RedisBloom without keys dumps nothing.
  const bool dumps = body->dumps_when_empty() || body->info().keys > 0;
  const auto piece = dumps ? body->piece(static_cast<std::uint64_t>(position)) : Piece{};
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
  if (key.missing() && (next == 1 || NativeCuckoo::is_first_chunk(bytes))) {
    if (const char* why = make_cuckoo_from(ctx, key, bytes)) {
      return api.reply_with_error(ctx, why);
    }
  } else {
    CuckooBody* body = cuckoo_in(key);
    if (body == nullptr) return reply_absent(ctx, key);
    if (next == 1) return api.reply_with_error(ctx, item_exists);
    const auto loaded = body->load_piece(static_cast<std::uint64_t>(next), bytes);
    if (!loaded) return reply_cuckoo_not_loaded(ctx, loaded.error());
  }
  tell_change(ctx, "cf.loadchunk", argv[1]);
  return api.reply_with_simple_string(ctx, "OK");
}

// -- what COMMAND DOCS tells ----------------------------------------------------------------------

const Arg reserve_args[] = {key_arg,
                            {.name = "capacity", .kind = ArgKind::integer},
                            number_arg("bucketsize", "BUCKETSIZE"),
                            number_arg("maxiterations", "MAXITERATIONS"),
                            number_arg("expansion", "EXPANSION"),
                            error_arg,
                            engine_arg,
                            secret_arg,
                            {}};
const Arg insert_args[] = {
    key_arg, number_arg("capacity", "CAPACITY"), nocreate_arg, inserted_arg, {}};

constexpr const char* shrinks = "write fast";

const std::array commands = {
    CommandEntry{"cf.reserve", caught_command<cf_reserve>, writes, -3,
                 "Creates an empty cuckoo filter", "O(1)", reserve_args},
    CommandEntry{"cf.add", caught_command<cf_add>, writes, 3,
                 "Adds an item to a cuckoo filter, once more each time",
                 "O(k + i), k tables, i iterations", key_item},
    CommandEntry{"cf.addnx", caught_command<cf_addnx>, writes, 3,
                 "Adds an item to a cuckoo filter if it is not there yet",
                 "O(k + i), k tables, i iterations", key_item},
    CommandEntry{"cf.insert", caught_command<cf_insert>, writes, -4,
                 "Adds items to a cuckoo filter, made with these options if it is missing",
                 "O(n * (k + i)), n items, k tables, i iterations", insert_args},
    CommandEntry{"cf.insertnx", caught_command<cf_insertnx>, writes, -4,
                 "Adds the items that are not there yet to a cuckoo filter",
                 "O(n * (k + i)), n items, k tables, i iterations", insert_args},
    CommandEntry{"cf.exists", caught_command<exists<Cuckoos>>, reads, 3,
                 "Tells if an item may be in a cuckoo filter", "O(k), k tables", key_item},
    CommandEntry{"cf.mexists", caught_command<mexists<Cuckoos>>, reads, -3,
                 "Tells which items may be in a cuckoo filter", "O(k * n), n items, k tables",
                 key_items},
    CommandEntry{"cf.count", caught_command<cf_count>, reads, 3,
                 "Tells how often an item may be in a cuckoo filter", "O(k), k tables", key_item},
    CommandEntry{"cf.del", caught_command<cf_del>, shrinks, 3,
                 "Takes an item out of a cuckoo filter, once",
                 "O(k), k tables; a part of a compaction when much was removed", key_item},
    CommandEntry{"cf.info", caught_command<cf_info>, reads, 2,
                 "Tells the figures of a cuckoo filter", "O(1)", only_key},
    CommandEntry{"cf.debug", caught_command<cf_debug>, reads, 2,
                 "Tells the figures of a cuckoo filter in a line", "O(1)", only_key},
    CommandEntry{"cf.compact", caught_command<cf_compact>, shrinks, -2,
                 "Moves items of newer tables into gaps of older ones, a part with each call",
                 "O(1); as often as n items and k tables need it, O(n * k)", only_key},
    CommandEntry{"cf.scandump", caught_command<cf_scandump>, reads, 3,
                 "Gives the saved form of a cuckoo filter, piece by piece", "O(n), n bytes",
                 scandump_args},
    CommandEntry{"cf.loadchunk", caught_command<cf_loadchunk>, writes, 4,
                 "Takes the saved form of a cuckoo filter, piece by piece", "O(n), n bytes",
                 loadchunk_args},
};

}  // namespace

std::span<const CommandEntry> cf_commands() { return commands; }

}  // namespace bloomery::redis
