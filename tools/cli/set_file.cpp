#include "set_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "command.hpp"
#include "remote_set.hpp"
#include "units.hpp"

namespace bloomery::cli {

void refuse_file(const std::string& path, const Error& error) {
  // Library sentences about an image may name the file already.
  if (error.sentence.find(path) != std::string::npos) throw Failure(error);
  throw Failure(Error{error.code, fmt::format("{}: {}", path, error.sentence)});
}

SetFile open_set(const std::string& path, const Word& key_file, Verify verify) {
  if (is_remote(path)) return copy_remote_set(path, key_file);
  OpenOptions options{.verify = verify};
  if (key_file) options.key = read_key_file(*key_file);
  auto image = open_image(path, options);
  if (!image) refuse_file(path, image.error());
  if (key_file && image->hasher.mode() != HashMode::hardened)
    refuse(fmt::format("{} is not hardened and has no secret key; leave --key-file out", path));
  const Uuid uuid = image->uuid;
  const bool key_is_elsewhere = image->key_is_elsewhere;
  auto output = std::move(image->output);
  auto set = AnySet::from_parts(std::move(image->parts), image->hasher, image->rules);
  if (!set) refuse_file(path, set.error());
  return {std::move(*set), uuid, key_is_elsewhere, std::move(output)};
}

Image image_of(const SetFile& file) {
  return {.parts = file.set.parts(),
          .hasher = file.set.hasher(),
          .rules = file.set.rules(),
          .uuid = file.uuid,
          .key_is_elsewhere = file.key_is_elsewhere,
          .output = file.output};
}

void save_set(const std::string& path, const SetFile& file, Overwrite overwrite) {
  save_image(path, image_of(file), {overwrite}).value();
}

void warn_if_overfull(const AnySet& set, const std::string& path, Messages& messages) {
  if (!set.overfull()) return;
  messages.warning(
      fmt::format("{} is overfull: it was planned for {} keys, and strangers pass at {} now", path,
                  print_count(set.capacity()), print_rate(set.rate_now())));
}

std::string hash_name(const AnySet& set) {
  if (set.input() == InputForm::ordinal) return "none";
  return set.hasher().mode() == HashMode::hardened ? "siphash-1-3" : "xxh3-64";
}

void describe(Report& report, const AnySet& set) {
  const auto keys = static_cast<double>(set.adds());
  report.text("kind", std::string(set.kind().name));
  report.count("keys", set.adds());
  const double estimated = set.estimate();
  if (std::isfinite(estimated))
    report.count("keys_estimated", static_cast<std::uint64_t>(std::llround(estimated)));
  else
    report.real("keys_estimated", estimated);
  report.count("capacity", set.capacity());
  report.bytes("bytes", set.bytes());
  report.real("bits_per_key", keys > 0 ? static_cast<double>(set.bytes()) * 8 / keys
                                       : std::numeric_limits<double>::quiet_NaN());
  report.real("fill", set.fill_ratio());
  report.rate("rate_asked", set.rate_asked());
  report.rate("rate_now", set.rate_now());
  report.text("hash", hash_name(set));
  report.flag("hardened",
              set.input() == InputForm::hashed && set.hasher().mode() == HashMode::hardened);
  if (const auto lists = set.lists()) {
    report.count("allowed", lists->allowed);
    report.count("exceptions", lists->exceptions);
  }
}

}  // namespace bloomery::cli
