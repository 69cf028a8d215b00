// The law of an epoch as the text that stands beside it on the server.
#include <charconv>
#include <map>
#include <optional>

#include <bloomery/detail/remote/redis_layout.hpp>

namespace bloomery::inline v0::detail {
namespace {

constexpr std::uint64_t most_shards = std::uint64_t{1} << 40;

Error wrong(std::string_view what) {
  return {Code::damaged,
          "the description of the set on the server is damaged: " + std::string(what)};
}

using Fields = std::map<std::string, std::string, std::less<>>;

template <class Number>
bool take(const Fields& fields, std::string_view name, Number& number) {
  const auto found = fields.find(name);
  if (found == fields.end()) return false;
  const std::string& text = found->second;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() && end == text.data() + text.size();
}

std::string shortest(double number) {
  char digits[40];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

std::string hexadecimal(std::uint64_t word) {
  char digits[17];
  const std::string_view text(digits, std::to_chars(digits, digits + sizeof digits, word, 16).ptr);
  return std::string(16 - text.size(), '0').append(text);
}

std::optional<std::uint64_t> from_hexadecimal(std::string_view digits) {
  std::uint64_t word = 0;
  const auto [end, failed] =
      std::from_chars(digits.data(), digits.data() + digits.size(), word, 16);
  if (digits.size() != 16 || failed != std::errc() || end != digits.data() + digits.size())
    return std::nullopt;
  return word;
}

// Fields end at a blank: "--csv --column id" is written as "--csv%20--column%20id".
std::string without_blanks(std::string_view text) {
  std::string written;
  for (const char letter : text) {
    if (letter == ' ')
      written += "%20";
    else if (letter == '%')
      written += "%25";
    else
      written += letter;
  }
  return written;
}

std::string with_blanks(std::string_view written) {
  std::string text;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const std::string_view code = written.substr(i, 3);
    const bool escaped = code == "%20" || code == "%25";
    text += !escaped ? written[i] : code == "%20" ? ' ' : '%';
    if (escaped) i += 2;
  }
  return text;
}

// "blocked name=value name=value ..."
Result<Fields> fields_of(std::string_view text) {
  Fields fields;
  for (std::size_t at = text.find(' '); at != std::string_view::npos;) {
    const std::size_t next = text.find(' ', at + 1);
    const std::string_view field = text.substr(
        at + 1, next == std::string_view::npos ? std::string_view::npos : next - at - 1);
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) return wrong("a field has no value");
    if (!fields.emplace(field.substr(0, equals), field.substr(equals + 1)).second)
      return wrong("a field is there twice");
    at = next;
  }
  if (text.substr(0, text.find(' ')) != "blocked")
    return Error{Code::unsupported, "the set is of a kind that this version does not know"};
  return fields;
}

Result<RedisLaw> places_in(const Fields& fields) {
  RedisLaw law;
  law.shape.lines = 1;
  if (!take(fields, "blocks", law.shape.blocks) || !take(fields, "probes", law.shape.probes) ||
      !take(fields, "shard_blocks", law.shard_blocks) || !take(fields, "capacity", law.capacity) ||
      !take(fields, "rate", law.rate) || !take(fields, "expires_at", law.expires_at))
    return wrong("a number is missing");
  if (auto sound = BlockedBloom::check(law.shape, law.shape.blocks * line_bytes); !sound)
    return sound.error();
  if (law.shard_blocks == 0 || law.shard_blocks > most_shard_blocks || law.shards() > most_shards ||
      law.capacity == 0 || !(law.rate > 0 && law.rate < 1))
    return wrong("a number is not valid");
  return law;
}

}  // namespace

std::string encode_law(const RedisLaw& law) {
  std::string text = "blocked";
  const auto put = [&](const char* name, const std::string& value) {
    text += ' ';
    text += name;
    text += '=';
    text += value;
  };
  put("blocks", std::to_string(law.shape.blocks));
  put("probes", std::to_string(law.shape.probes));
  put("shard_blocks", std::to_string(law.shard_blocks));
  put("capacity", std::to_string(law.capacity));
  put("rate", shortest(law.rate));
  if (law.hasher.mode() == HashMode::fast) {
    put("hash", "xxh3-64");
    put("seed", std::to_string(law.hasher.seed()));
  } else {
    put("hash", "siphash-1-3");
    if (law.key_is_elsewhere)
      put("key_check", std::to_string(law.hasher.key_check()));
    else
      put("key", hexadecimal(law.hasher.key().low) + hexadecimal(law.hasher.key().high));
  }
  put("strip_cr", law.strip_cr ? "1" : "0");
  if (!law.normalisation.empty()) put("normalisation", law.normalisation);
  if (!law.made_from.empty()) put("made_from", without_blanks(law.made_from));
  put("making", law.making == RedisMaking::reserve ? "reserve" : "upload");
  put("expires_at", std::to_string(law.expires_at));
  return text;
}

Result<RedisLaw> decode_law(std::string_view text, const SecretKey* key) {
  auto fields = fields_of(text);
  if (!fields) return fields.error();
  auto law = places_in(*fields);
  if (!law) return law;
  const std::string hash = (*fields)["hash"];
  if (hash == "xxh3-64") {
    std::uint64_t seed = 0;
    if (!take(*fields, "seed", seed)) return wrong("the seed is missing");
    if (key != nullptr)
      return Error{Code::mismatch, "the set is not hardened and has no secret key"};
    law->hasher = Hasher(seed);
  } else if (hash == "siphash-1-3") {
    if (const std::string& stored = (*fields)["key"]; !stored.empty()) {
      const auto low = from_hexadecimal(std::string_view(stored).substr(0, 16));
      const auto high =
          stored.size() == 32 ? from_hexadecimal(std::string_view(stored).substr(16)) : low;
      if (!low || !high || stored.size() != 32) return wrong("the secret key");
      law->hasher = Hasher::hardened({*low, *high});
    } else {
      law->key_is_elsewhere = true;
      if (key == nullptr)
        return Error{Code::mismatch,
                     "the set is hardened with a secret key that is not stored "
                     "with it; give the key file"};
      law->hasher = Hasher::hardened(*key);
      std::uint64_t check = 0;
      if (!take(*fields, "key_check", check) || check != law->hasher.key_check())
        return Error{Code::mismatch, "the secret key is not the one the set was made with"};
    }
  } else {
    return Error{Code::unsupported, "the set uses a hash that this version does not know"};
  }
  const std::string& strip = (*fields)["strip_cr"];
  const std::string& making = (*fields)["making"];
  if ((strip != "0" && strip != "1") || (making != "reserve" && making != "upload"))
    return wrong("a word is not valid");
  law->strip_cr = strip == "1";
  law->normalisation = (*fields)["normalisation"];
  law->made_from = with_blanks((*fields)["made_from"]);
  law->making = making == "upload" ? RedisMaking::upload : RedisMaking::reserve;
  return law;
}

Result<RedisLaw> decode_places(std::string_view text) {
  const auto fields = fields_of(text);
  if (!fields) return fields.error();
  return places_in(*fields);
}

}  // namespace bloomery::inline v0::detail
