// BF.*: the commands of RedisBloom's Bloom filters, word for word in syntax, replies and errors.
//
// What changes a key is replicated: a new filter in a form that makes the same one under other
// settings (bloom_order.hpp), then the command as it came. A command that changed nothing is not.
#include <array>
#include <vector>

#include <bloomery/served/native/native_bloom.hpp>
#include <tools/redis/bf/bf_type.hpp>
#include <tools/redis/bf/bloom_order.hpp>
#include <tools/redis/server/command_args.hpp>
#include <tools/redis/server/commands.hpp>
#include <tools/redis/server/filter_commands.hpp>
#include <tools/redis/server/opened_key.hpp>
#include <tools/redis/server/replies.hpp>
#include <tools/redis/server/settings.hpp>
#include <tools/redis/server/words.hpp>

namespace bloomery::redis {
namespace {

// -- how Bloom filters take keys ------------------------------------------------------------------

struct Blooms {
  using Order = BloomOrder;
  using Insert = BloomInsert;
  static constexpr auto in = bloom_in;
  static constexpr auto make = make_bloom;
  static int add(Ctx* ctx, Str* name, const BloomOrder& order, const Adding& adding);
};

// Replies with an array, or with the one answer. The array ends at the first failure. To ask who
// tells us takes the server longer than one add, so that the usual cap is tried first.
int Blooms::add(Ctx* ctx, Str* name, const BloomOrder& order, const Adding& adding) {
  OpenedKey key(ctx, name, key_mode::read | key_mode::write);
  BloomBody* const body = found_or_made<Blooms>(ctx, key, name, order);
  if (body == nullptr) return ok;
  static std::vector<AddOutcome> answers;
  const auto keys = texts_of(adding.words);
  answers.resize(keys.size());
  std::size_t answered = body->add_all(keys, usual_cap(), answers);
  if (answers[answered - 1] == AddOutcome::no_memory && is_told_by_server(ctx)) {
    const std::size_t done = answered - 1;
    answered =
        done + body->add_all(keys.subspan(done), UINT64_MAX, std::span(answers).subspan(done));
  }
  bool changed = body->changes_when_seen();
  if (adding.many) api.reply_with_array(ctx, static_cast<long>(answered));
  for (std::size_t n = 0; n < answered; ++n) {
    changed |= answers[n] == AddOutcome::fresh;
    reply_added(ctx, answers[n], AddReply::bloom);
  }
  if (changed) tell_change(ctx, adding.event, name);
  return ok;
}

// -- making and adding ----------------------------------------------------------------------------

// A cluster asks where the keys are, and looks for no word by itself.
int tell_keys(Ctx* ctx, Str** argv, int argc) {
  api.key_at_pos(ctx, 1);
  const int like = 4 + find_word(argv + 4, std::max(0, argc - 4), "LIKE");
  if (like + 1 < argc) api.key_at_pos(ctx, like + 1);
  return ok;
}

int bf_reserve(Ctx* ctx, Str** argv, int argc) {
  if (api.is_keys_position_request(ctx) != 0) return tell_keys(ctx, argv, argc);
  if (argc < 4) return api.wrong_arity(ctx);
  BloomOrder order;
  if (const char* why = read_reserve(argv, argc, order)) return api.reply_with_error(ctx, why);
  return reserve<Blooms>(ctx, argv[1], order, "bf.reserve");
}

int bf_add(Ctx* ctx, Str** argv, int argc) {
  if (argc != 3) return api.wrong_arity(ctx);
  return Blooms::add(ctx, argv[1], {}, {{argv + 2, 1}, "bf.add", false});
}

int bf_madd(Ctx* ctx, Str** argv, int argc) {
  if (argc < 3) return api.wrong_arity(ctx);
  return Blooms::add(ctx, argv[1], {}, {{argv + 2, argv + argc}, "bf.madd"});
}

int bf_insert(Ctx* ctx, Str** argv, int argc) {
  return insert_words<Blooms>(ctx, argv, argc, {{}, "bf.insert"});
}

int bf_card(Ctx* ctx, Str** argv, int argc) {
  if (argc != 2) return api.wrong_arity(ctx);
  OpenedKey key(ctx, argv[1], key_mode::read);
  if (key.missing()) return api.reply_with_long_long(ctx, 0);
  const BloomBody* body = bloom_in(key);
  if (body == nullptr) return api.reply_with_error(ctx, wrong_type);
  return api.reply_with_long_long(ctx, static_cast<long long>(body->info().keys));
}

// -- BF.MERGE -------------------------------------------------------------------------------------

// The native filter in a key; null when it has replied with an error.
NativeBloom* native_in(Ctx* ctx, const OpenedKey& key) {
  BloomBody* body = bloom_in(key);
  if (body == nullptr) {
    reply_absent(ctx, key);
    return nullptr;
  }
  if (body->native() == nullptr) {
    api.reply_with_error(ctx, "ERR BF.MERGE needs filters of the native engine");
  }
  return body->native();
}

// On a copy, which takes the place of the filter when all went well.
int bf_merge(Ctx* ctx, Str** argv, int argc) {
  if (argc < 3) return api.wrong_arity(ctx);
  OpenedKey target(ctx, argv[1], key_mode::read | key_mode::write);
  std::optional<NativeBloom> merged;
  for (int n = target.missing() ? 2 : 1; n < argc; ++n) {
    OpenedKey source(ctx, argv[n], key_mode::read);
    const NativeBloom* body = native_in(ctx, source);
    if (body == nullptr) return ok;
    if (!merged) {
      auto copy = body->copy();
      if (!copy) return api.reply_with_error(ctx, "ERR Insufficient memory to create filter");
      merged.emplace(std::move(*copy));
      merged->cap_memory(native_cap_for(ctx));
    } else if (auto done = merged->merge(*body); !done) {
      return api.reply_with_error(ctx, ("ERR " + done.error().sentence).c_str());
    }
  }
  const double rate = merged->rate_now();
  target.set(native_bloom_type(), std::make_unique<NativeBloom>(std::move(*merged)));
  tell_change(ctx, "bf.merge", argv[1]);
  return api.reply_with_double(ctx, rate);
}

// -- BF.INFO, BF.DEBUG ----------------------------------------------------------------------------

struct Figure {
  const char* word;  // of BF.INFO key WORD
  const char* name;
  void (*reply)(Ctx*, const BloomBody&);
};

constexpr std::size_t plain_figures = 5;  // what RedisBloom tells without a word

const std::array figures = {
    Figure{"CAPACITY", "Capacity",
           [](Ctx* ctx, const BloomBody& body) { reply_count(ctx, body.info().capacity); }},
    Figure{"SIZE", "Size",
           [](Ctx* ctx, const BloomBody& body) { reply_count(ctx, body.info().bytes); }},
    Figure{"FILTERS", "Number of filters",
           [](Ctx* ctx, const BloomBody& body) { reply_count(ctx, body.info().filters); }},
    Figure{"ITEMS", "Number of items inserted",
           [](Ctx* ctx, const BloomBody& body) { reply_count(ctx, body.info().keys); }},
    Figure{"EXPANSION", "Expansion rate",
           [](Ctx* ctx, const BloomBody& body) {
             const auto expansion = body.info().expansion;
             expansion ? api.reply_with_long_long(ctx, *expansion) : api.reply_with_null(ctx);
           }},
    Figure{"RATE", "Estimated error rate",
           [](Ctx* ctx, const BloomBody& body) { api.reply_with_double(ctx, body.rate_now()); }},
    Figure{"BITS", "Bits per item",
           [](Ctx* ctx, const BloomBody& body) {
             const auto keys = static_cast<double>(body.info().keys);
             const auto bits = 8 * static_cast<double>(body.payload_bytes());
             keys > 0 ? api.reply_with_double(ctx, bits / keys) : api.reply_with_null(ctx);
           }},
};

int bf_info(Ctx* ctx, Str** argv, int argc) {
  if (argc != 2 && argc != 3) return api.wrong_arity(ctx);
  OpenedKey key(ctx, argv[1], key_mode::read);
  BloomBody* body = bloom_in(key);
  if (body == nullptr) return reply_absent(ctx, key);
  if (argc == 2) {
    const std::size_t told = body->native() != nullptr ? figures.size() : plain_figures;
    api.reply_with_map(ctx, static_cast<long>(told));
    for (const Figure& figure : std::span(figures).first(told)) {
      reply_text(ctx, figure.name);
      figure.reply(ctx, *body);
    }
    return ok;
  }
  for (const Figure& figure : figures) {
    if (!same_word(text_of(argv[2]), figure.word)) continue;
    if (speaks_resp3(ctx)) {
      api.reply_with_map(ctx, 1);
      reply_text(ctx, figure.name);
    } else {
      api.reply_with_array(ctx, 1);
    }
    figure.reply(ctx, *body);
    return ok;
  }
  return api.reply_with_error(ctx, "Invalid information value");
}

int bf_debug(Ctx* ctx, Str** argv, int argc) {
  if (argc != 2) return api.wrong_arity(ctx);
  OpenedKey key(ctx, argv[1], key_mode::read);
  const BloomBody* body = bloom_in(key);
  if (body == nullptr) return reply_absent(ctx, key);
  const auto lines = body->debug_lines();
  api.reply_with_array(ctx, static_cast<long>(lines.size()));
  for (const std::string& line : lines) reply_text(ctx, line);
  return ok;
}

// -- BF.SCANDUMP, BF.LOADCHUNK --------------------------------------------------------------------

int bf_scandump(Ctx* ctx, Str** argv, int argc) {
  if (argc != 3) return api.wrong_arity(ctx);
  OpenedKey key(ctx, argv[1], key_mode::read);
  const BloomBody* body = bloom_in(key);
  if (body == nullptr) return reply_absent(ctx, key);
  long long position;
  if (api.string_to_long_long(argv[2], &position) != ok) {
    return api.reply_with_error(ctx, "Second argument must be numeric");
  }
  const auto piece = position >= 0 ? body->piece(static_cast<std::uint64_t>(position)) : Piece{};
  api.reply_with_array(ctx, 2);
  api.reply_with_long_long(ctx, static_cast<long long>(piece.next));
  reply_text(ctx, piece.bytes());
  return ok;
}

int bf_loadchunk(Ctx* ctx, Str** argv, int argc) {
  if (argc != 4) return api.wrong_arity(ctx);
  long long next;
  if (api.string_to_long_long(argv[2], &next) != ok) {
    return api.reply_with_error(ctx, "ERR Second argument must be numeric");
  }
  const std::string_view bytes = text_of(argv[3]);
  OpenedKey key(ctx, argv[1], key_mode::read | key_mode::write);
  if (key.missing() && (next == 1 || NativeBloom::is_first_chunk(bytes))) {
    if (!make_bloom_from(ctx, key, next, bytes)) {
      return api.reply_with_error(ctx, "ERR received bad data");
    }
  } else {
    BloomBody* body = bloom_in(key);
    if (body == nullptr) return reply_absent(ctx, key);
    if (next <= 0) return reply_bloom_not_loaded(ctx, {Code::out_of_range, {}});
    const auto loaded = body->load_piece(static_cast<std::uint64_t>(next), bytes);
    if (!loaded) return reply_bloom_not_loaded(ctx, loaded.error());
  }
  tell_change(ctx, "bf.loadchunk", argv[1]);
  return api.reply_with_simple_string(ctx, "OK");
}

// -- what COMMAND DOCS tells ----------------------------------------------------------------------

constexpr Arg expansion_arg = number_arg("expansion", "EXPANSION");
constexpr Arg nonscaling_arg = bare_arg("nonscaling", "NONSCALING");

const Arg reserve_args[] = {key_arg,
                            {.name = "error_rate", .kind = ArgKind::real},
                            {.name = "capacity", .kind = ArgKind::integer},
                            expansion_arg,
                            nonscaling_arg,
                            number_arg("window", "WINDOW"),
                            {.name = "like",
                             .kind = ArgKind::key,
                             .key_spec_index = 1,
                             .token = "LIKE",
                             .flags = arg_flag::optional},
                            engine_arg,
                            secret_arg,
                            {}};
const Arg merge_args[] = {
    key_arg,
    {.name = "source", .kind = ArgKind::key, .key_spec_index = 1, .flags = arg_flag::multiple},
    {}};
const Arg insert_args[] = {key_arg,      number_arg("capacity", "CAPACITY"),
                           error_arg,    expansion_arg,
                           nocreate_arg, nonscaling_arg,
                           inserted_arg, {}};
const Arg figure_tokens[] = {
    {.name = "capacity", .kind = ArgKind::pure_token, .token = "CAPACITY"},
    {.name = "size", .kind = ArgKind::pure_token, .token = "SIZE"},
    {.name = "filters", .kind = ArgKind::pure_token, .token = "FILTERS"},
    {.name = "items", .kind = ArgKind::pure_token, .token = "ITEMS"},
    {.name = "expansion", .kind = ArgKind::pure_token, .token = "EXPANSION"},
    {.name = "rate", .kind = ArgKind::pure_token, .token = "RATE"},
    {.name = "bits", .kind = ArgKind::pure_token, .token = "BITS"},
    {}};
const Arg info_args[] = {key_arg,
                         {.name = "single_value",
                          .kind = ArgKind::one_of,
                          .flags = arg_flag::optional,
                          .subargs = figure_tokens},
                         {}};

const std::array commands = {
    CommandEntry{"bf.reserve", caught_command<bf_reserve>, "write deny-oom getkeys-api", -4,
                 "Creates an empty Bloom filter", "O(1)", reserve_args, MoreKeys::after_like},
    CommandEntry{"bf.add", caught_command<bf_add>, writes, 3, "Adds an item to a Bloom filter",
                 "O(k), k probes for each link", key_item},
    CommandEntry{"bf.madd", caught_command<bf_madd>, writes, -3, "Adds items to a Bloom filter",
                 "O(k * n), n items, k probes for each link", key_items},
    CommandEntry{"bf.insert", caught_command<bf_insert>, writes, -4,
                 "Adds items to a Bloom filter, made with these options if it is missing",
                 "O(k * n), n items, k probes for each link", insert_args},
    CommandEntry{"bf.exists", caught_command<exists<Blooms>>, reads, 3,
                 "Tells if an item may be in a Bloom filter", "O(k), k probes for each link",
                 key_item},
    CommandEntry{"bf.mexists", caught_command<mexists<Blooms>>, reads, -3,
                 "Tells which items may be in a Bloom filter",
                 "O(k * n), n items, k probes for each link", key_items},
    CommandEntry{"bf.card", caught_command<bf_card>, reads, 2,
                 "Tells how many items a Bloom filter has taken", "O(1)", only_key},
    CommandEntry{"bf.info", caught_command<bf_info>, reads, -2,
                 "Tells the figures of a Bloom filter", "O(1); RATE looks at every bit", info_args},
    CommandEntry{"bf.debug", caught_command<bf_debug>, reads, 2,
                 "Tells the links of a Bloom filter", "O(n), n links", only_key},
    CommandEntry{"bf.merge", caught_command<bf_merge>, writes, -3,
                 "Unites Bloom filters that were reserved alike; tells the new error rate",
                 "O(n), n bytes", merge_args, MoreKeys::all},
    CommandEntry{"bf.scandump", caught_command<bf_scandump>, reads, 3,
                 "Gives the saved form of a Bloom filter, piece by piece", "O(n), n bytes",
                 scandump_args},
    CommandEntry{"bf.loadchunk", caught_command<bf_loadchunk>, writes, 4,
                 "Takes the saved form of a Bloom filter, piece by piece", "O(n), n bytes",
                 loadchunk_args},
};

}  // namespace

std::span<const CommandEntry> bf_commands() { return commands; }

}  // namespace bloomery::redis
