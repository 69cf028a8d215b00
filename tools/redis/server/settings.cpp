#include <tools/redis/server/settings.hpp>

#include <algorithm>
#include <array>
#include <cstdio>

#include <tools/redis/server/caught.hpp>
#include <tools/redis/server/words.hpp>

namespace bloomery::redis {
namespace {

// What is told of a value comes from RedisBloom, word for word, with the name of the setting.
struct Setting {
  const char* name;  // of RedisBloom: of lines in redis.conf and behind loadmodule
  const char* word;  // the older one behind loadmodule
};

struct Number : Setting {
  long long* value;
  long long least;
  long long most;
  long long fallback = 0;  // what the setting is when no line of redis.conf tells
  Str* shown = nullptr;    // what CONFIG GET was given last
};

std::array numbers = {
    Number{{"bf-initial-size", "INITIAL_SIZE"}, &settings.bf_capacity, 1, most_capacity},
    Number{{"bf-expansion-factor", "EXPANSION_FACTOR"}, &settings.bf_expansion, 0, most_expansion},
    Number{{"cf-bucket-size", "CF_BUCKET_SIZE"}, &settings.cf_bucket_size, 1, 255},
    Number{{"cf-initial-size", "CF_INITIAL_SIZE"}, &settings.cf_capacity, 4, most_capacity},
    Number{{"cf-max-iterations", "CF_MAX_ITERATIONS"}, &settings.cf_max_iterations, 1, 65535},
    Number{
        {"cf-expansion-factor", "CF_EXPANSION_FACTOR"}, &settings.cf_expansion, 0, most_expansion},
    Number{{"cf-max-expansions", "CF_MAX_EXPANSIONS"}, &settings.cf_max_expansions, 1, 65536},
};
constexpr Setting rate_setting = {"bf-error-rate", "ERROR_RATE"};
// As RedisBloom: a higher rate is asked for by mistake.
constexpr double highest_rate = 0.25;

constexpr const char* cap_name = "bf-max-key-bytes";
constexpr long long least_cap = 1024;
constexpr long long most_cap = 1LL << 46;

// While the server hands out the lines of redis.conf. For settings without a line it gives the
// fallback, which must not overwrite what a line under the other name of the setting said.
bool lines_are_read = false;
double fallback_rate = 0;

std::string wrong_value(const char* name) {
  return std::string("Invalid value for `") + name + "`";
}

std::string outside(const char* name, const std::string& range) {
  return std::string("Value for `") + name + "` must be in the range " + range;
}

// -- numbers --------------------------------------------------------------------------------------

// A bucket takes at most half of the capacity of a new cuckoo filter.
long long least_of(const Number& number) {
  return number.value == &settings.cf_capacity ? 2 * settings.cf_bucket_size : number.least;
}
long long most_of(const Number& number) {
  if (number.value != &settings.cf_bucket_size) return number.most;
  return std::min(number.most, settings.cf_capacity / 2);
}

// The reason why it is not taken, or nothing.
std::string take_number(Number& number, const Str* word) {
  long long value;
  if (api.string_to_long_long(word, &value) != ok) return wrong_value(number.name);
  const long long least = least_of(number), most = most_of(number);
  if (lines_are_read && value == number.fallback) return {};
  if (value < least || value > most) {
    return outside(number.name, "[" + std::to_string(least) + ", " + std::to_string(most) + "]");
  }
  *number.value = value;
  return {};
}

// The server reads what a getter gives and leaves it to us.
Str* shown(Str*& kept, std::string_view text) {
  if (kept != nullptr) api.free_string(nullptr, kept);
  kept = api.create_string(nullptr, text.data(), text.size());
  return kept;
}

// take() gives the reason why it does not, or nothing.
template <class Take>
int taken(Str** why, Take&& take) {
  return caught_or(err, [&] {
    const std::string reason = take();
    if (reason.empty()) return ok;
    *why = api.create_string(nullptr, reason.data(), reason.size());
    return err;
  });
}

Str* get_number(const char*, void* own) {
  Number& number = *static_cast<Number*>(own);
  return caught_or(number.shown,
                   [&] { return shown(number.shown, std::to_string(*number.value)); });
}

int set_number(const char*, Str* value, void* own, Str** why) {
  return taken(why, [&] { return take_number(*static_cast<Number*>(own), value); });
}

// -- the rate and the engine ----------------------------------------------------------------------

std::string rate_text() {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", settings.bf_rate);
  return text;
}

std::string take_rate(const Str* word) {
  double rate;
  if (api.string_to_double(word, &rate) != ok) return wrong_value(rate_setting.name);
  if (!(rate > 0 && rate < 1)) return outside(rate_setting.name, "(0.000000, 1.000000)");
  if (lines_are_read && rate == fallback_rate) return {};
  settings.bf_rate = std::min(rate, highest_rate);
  return {};
}

Str* get_rate(const char*, void*) {
  static Str* kept = nullptr;
  return caught_or(kept, [] { return shown(kept, rate_text()); });
}

int set_rate(const char*, Str* value, void*, Str** why) {
  return taken(why, [&] { return take_rate(value); });
}

std::string take_engine(const Str* word) {
  const auto engine = engine_named(text_of(word));
  if (engine) settings.engine = *engine;
  return engine ? "" : "the engine is native or compat";
}

Str* get_engine(const char*, void*) {
  static Str* kept = nullptr;
  return shown(kept, name_of(settings.engine));
}

int set_engine(const char*, Str* value, void*, Str** why) {
  return taken(why, [&] { return take_engine(value); });
}

// -- the cap --------------------------------------------------------------------------------------

long long get_cap(const char*, void*) { return settings.cap_bytes; }

int set_cap(const char*, long long value, void*, Str**) {
  settings.cap_bytes = value;
  return ok;
}

std::string take_cap(const Str* word) {
  long long value;
  if (api.string_to_long_long(word, &value) != ok) return wrong_value(cap_name);
  if (value < least_cap || value > most_cap) {
    return outside(cap_name,
                   "[" + std::to_string(least_cap) + ", " + std::to_string(most_cap) + "]");
  }
  settings.cap_bytes = value;
  return {};
}

// -- registering ----------------------------------------------------------------------------------

bool is_named(std::string_view word, const Setting& setting) {
  return same_word(word, setting.name) || same_word(word, setting.word);
}

std::string take_word(std::string_view word, const Str* value) {
  if (is_named(word, rate_setting)) return take_rate(value);
  if (is_named(word, {"bf-engine", "ENGINE"})) return take_engine(value);
  if (is_named(word, {cap_name, "MAX_KEY_BYTES"})) return take_cap(value);
  for (Number& number : numbers) {
    if (is_named(word, number)) return take_number(number, value);
  }
  return "unknown word " + std::string(word);
}

bool register_redisbloom_settings(Ctx* ctx, unsigned flags) {
  if (api.register_string_config(ctx, rate_setting.name, rate_text().c_str(), flags, get_rate,
                                 set_rate, nullptr, nullptr) != ok) {
    return false;
  }
  for (Number& number : numbers) {
    if (api.register_string_config(ctx, number.name, std::to_string(*number.value).c_str(), flags,
                                   get_number, set_number, nullptr, &number) != ok) {
      return false;
    }
  }
  return true;
}

// From 8.0 on Redis takes names of settings without that of the module; Valkey does not.
bool takes_bare_names() {
  return api.valkey_version == nullptr && api.get_server_version() >= 0x08'00'00;
}

}  // namespace

Settings settings;

std::string_view name_of(Engine engine) { return engine == Engine::native ? "native" : "compat"; }

std::optional<Engine> engine_named(std::string_view name) {
  if (same_word(name, "native")) return Engine::native;
  if (same_word(name, "compat")) return Engine::compat;
  return std::nullopt;
}

std::string read_words(Str** words, int count) {
  for (int n = 0; n < count; n += 2) {
    const std::string word(text_of(words[n]));
    if (n + 1 == count) return "the word " + word + " needs a value";
    if (const std::string why = take_word(word, words[n + 1]); !why.empty()) {
      return word + ": " + why;
    }
  }
  return {};
}

bool register_settings(Ctx* ctx) {
  fallback_rate = settings.bf_rate;
  for (Number& number : numbers) number.fallback = *number.value;
  if (!register_redisbloom_settings(ctx, config_flag::none) ||
      api.register_string_config(ctx, "bf-engine", name_of(settings.engine).data(),
                                 config_flag::none, get_engine, set_engine, nullptr,
                                 nullptr) != ok ||
      api.register_numeric_config(ctx, cap_name, settings.cap_bytes, config_flag::memory, least_cap,
                                  most_cap, get_cap, set_cap, nullptr, nullptr) != ok) {
    return false;
  }
  if (takes_bare_names() && !register_redisbloom_settings(ctx, config_flag::bare_name)) {
    api.log(ctx, "warning", "bloomery: settings are named bf.bf-error-rate and so on only");
  }
  lines_are_read = true;
  const bool loaded = api.load_configs(ctx) == ok;
  lines_are_read = false;
  return loaded;
}

bool is_told_by_server(Ctx* ctx) {
  return (api.get_context_flags(ctx) & (context_flag::replicated | context_flag::loading)) != 0;
}

std::uint64_t cap_for(Ctx* ctx) { return is_told_by_server(ctx) ? UINT64_MAX : usual_cap(); }

std::uint64_t native_cap_for(Ctx* ctx) {
  const std::uint64_t cap = cap_for(ctx);
  return cap == UINT64_MAX ? 0 : cap;
}

}  // namespace bloomery::redis
