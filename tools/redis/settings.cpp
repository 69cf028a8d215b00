#include <tools/redis/settings.hpp>

#include <array>
#include <cstdio>

#include <tools/redis/words.hpp>

namespace bloomery::redis {
namespace {

struct Number {
  const char* line;  // in redis.conf, behind "bf."
  const char* word;  // behind loadmodule
  long long* value;
  long long least;
  long long most;
  unsigned flags;
};

const std::array numbers = {
    Number{"bf-initial-size", "INITIAL_SIZE", &settings.bf_capacity, 1, most_capacity, 0},
    Number{"bf-expansion-factor", "EXPANSION_FACTOR", &settings.bf_expansion, 0, most_expansion, 0},
    Number{"cf-bucket-size", "CF_BUCKET_SIZE", &settings.cf_bucket_size, 1, 255, 0},
    Number{"cf-initial-size", "CF_INITIAL_SIZE", &settings.cf_capacity, 4, most_capacity, 0},
    Number{"cf-max-iterations", "CF_MAX_ITERATIONS", &settings.cf_max_iterations, 1, 65535, 0},
    Number{"cf-expansion-factor", "CF_EXPANSION_FACTOR", &settings.cf_expansion, 0, most_expansion,
           0},
    Number{"cf-max-expansions", "CF_MAX_EXPANSIONS", &settings.cf_max_expansions, 1, 65536, 0},
    Number{"bf-max-key-bytes", "MAX_KEY_BYTES", &settings.cap_bytes, 1024, 1LL << 46,
           config_flag::memory},
};

long long get_number(const char*, void* own) { return *static_cast<long long*>(own); }

int set_number(const char*, long long value, void* own, Str**) {
  *static_cast<long long*>(own) = value;
  return ok;
}

// The server reads what a getter gives and leaves it to us.
Str* shown(Str*& kept, std::string_view text) {
  if (kept != nullptr) api.free_string(nullptr, kept);
  kept = api.create_string(nullptr, text.data(), text.size());
  return kept;
}

int refused(Str** why, std::string_view reason) {
  *why = api.create_string(nullptr, reason.data(), reason.size());
  return err;
}

Str* get_rate(const char*, void*) {
  static Str* kept = nullptr;
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", settings.bf_rate);
  return shown(kept, text);
}

bool take_rate(const Str* word) {
  double rate;
  if (api.string_to_double(word, &rate) != ok || !(rate > 0 && rate < 1)) return false;
  settings.bf_rate = rate;
  return true;
}

int set_rate(const char*, Str* value, void*, Str** why) {
  return take_rate(value) ? ok
                          : refused(why, "the rate is a number between 0 and 1, both excluded");
}

bool take_engine(const Str* word) {
  const auto engine = engine_named(text_of(word));
  if (engine) settings.engine = *engine;
  return engine.has_value();
}

Str* get_engine(const char*, void*) {
  static Str* kept = nullptr;
  return shown(kept, name_of(settings.engine));
}

int set_engine(const char*, Str* value, void*, Str** why) {
  return take_engine(value) ? ok : refused(why, "the engine is native or compat");
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
    if (same_word(word, "ERROR_RATE")) {
      if (!take_rate(words[n + 1])) return "ERROR_RATE is a number between 0 and 1, both excluded";
      continue;
    }
    if (same_word(word, "ENGINE")) {
      if (!take_engine(words[n + 1])) return "ENGINE is native or compat";
      continue;
    }
    const Number* known = nullptr;
    for (const Number& number : numbers) {
      if (same_word(word, number.word)) known = &number;
    }
    if (known == nullptr) return "unknown word " + word;
    long long value;
    if (api.string_to_long_long(words[n + 1], &value) != ok || value < known->least ||
        value > known->most) {
      return word + " is a number from " + std::to_string(known->least) + " to " +
             std::to_string(known->most);
    }
    *known->value = value;
  }
  return {};
}

bool register_settings(Ctx* ctx) {
  char rate[32];
  std::snprintf(rate, sizeof rate, "%.15g", settings.bf_rate);
  if (api.register_string_config(ctx, "bf-error-rate", rate, config_flag::none, get_rate, set_rate,
                                 nullptr, nullptr) != ok ||
      api.register_string_config(ctx, "bf-engine", name_of(settings.engine).data(),
                                 config_flag::none, get_engine, set_engine, nullptr,
                                 nullptr) != ok) {
    return false;
  }
  for (const Number& number : numbers) {
    if (api.register_numeric_config(ctx, number.line, *number.value, number.flags, number.least,
                                    number.most, get_number, set_number, nullptr,
                                    number.value) != ok) {
      return false;
    }
  }
  return api.load_configs(ctx) == ok;
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
