#include "set_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>

#include <bloomery/live.hpp>
#include <bloomery/text/decompress.hpp>

#include <tools/cli/input/inputs.hpp>
#include <tools/cli/report/refuse.hpp>
#include <tools/cli/report/units.hpp>

#include "live_file.hpp"
#include "remote_set.hpp"

namespace bloomery::cli {

namespace {

// "gzip", or nothing.
std::string codec_of(const std::string& path) {
  std::array<char, 32> first{};
  std::ifstream file(path, std::ios::binary);
  file.read(first.data(), first.size());
  return std::string(compressed_as({first.data(), static_cast<std::size_t>(file.gcount())}));
}

}  // namespace

void refuse_file(const std::string& path, const Error& error) {
  throw Failure(
      file_error(path, error, error.code == Code::not_ours ? codec_of(path) : std::string()));
}

namespace {

SetFile set_of(const std::string& path, Image image) {
  auto set = AnySet::from_parts(std::move(image.parts), image.hasher, image.rules);
  if (!set) refuse_file(path, set.error());
  return {std::move(*set), image.uuid, image.key_is_elsewhere, std::move(image.output)};
}

OpenOptions options_of(const Word& key_file, Verify verify, Bytes bytes) {
  OpenOptions options{.verify = verify, .bytes = bytes};
  if (key_file) options.key = read_key_file(*key_file);
  return options;
}

void expect_key_used(const std::string& path, const Word& key_file, const Image& image) {
  if (key_file && image.hasher.mode() != HashMode::hardened)
    refuse(fmt::format("{} is not hardened and has no secret key; leave --key-file out", path));
}

std::string& saved_last() {
  static std::string path;
  return path;
}

// Of an exact set of hashes nothing stays mapped: its table is made when it is opened, and a copy
// of the file beside that would be memory for nothing.
bool is_laid_out_anew(const std::string& path, const Word& key_file) {
  const auto image = open_image(path, options_of(key_file, Verify::header, Bytes::mapped));
  if (!image || image->parts.form != Form::single) return false;
  const auto rows = AnySet::register_rows();
  return std::any_of(rows.begin(), rows.end(), [&](const KindRow& row) {
    return row.id.number == image->parts.parts[0].kind && row.exact &&
           row.input == InputForm::hashed;
  });
}

}  // namespace

SetFile open_set(const std::string& path, const Word& key_file, Verify verify) {
  if (is_remote(path)) return copy_remote_set(path, key_file);
  note_input(path);
  auto opened = MappedSet::open(path, options_of(key_file, verify, Bytes::mapped));
  if (!opened) refuse_file(path, opened.error());
  expect_key_used(path, key_file, opened->image);
  SetFile file = set_of(path, std::move(opened->image));
  file.guard = std::move(opened->guard);
  return file;
}

std::optional<SetFile> follow_live_set(const std::string& path, const Word& key_file) {
  constexpr int most_tries = 100;
  note_input(path);
  auto reading = std::make_shared<const ReadingSet>(path);
  LiveOptions options{.read_only = true};
  if (key_file) options.key = read_key_file(*key_file);
  for (int tries = 0;; ++tries) {
    auto watch = FileWatch::begin(path);
    auto live = AnyLiveSet::open(path, options);
    if (!live && !is_live_set(path)) return {};
    if (!live) refuse_file(path, live.error());
    if (!watch) refuse_file(path, watch.error());
    // Replaced between the two: another file is asked than is watched.
    if (!watch->names(path) && tries < most_tries) continue;
    if (key_file && live->set().hasher().mode() != HashMode::hardened)
      refuse(fmt::format("{} is not hardened and has no secret key; leave --key-file out", path));
    const Parts parts = live->set().parts().value();
    auto guard = std::make_shared<const MappedSet>(path, std::move(*watch), parts);
    SetFile file{std::move(live->set())};
    file.guard = std::move(guard);
    file.live = std::move(reading);
    return file;
  }
}

SetFile open_set_to_change(const std::string& path, const Word& key_file) {
  if (is_remote(path)) return copy_remote_set(path, key_file);
  note_input(path);
  if (is_laid_out_anew(path, key_file)) {
    SetFile file = open_set(path, key_file, Verify::checksums);
    if (auto good = file.guard->check(); !good) refuse_file(path, good.error());
    file.guard.reset();
    return file;
  }
  auto image = open_image(path, options_of(key_file, Verify::checksums, Bytes::copied));
  if (!image) refuse_file(path, image.error());
  expect_key_used(path, key_file, *image);
  return set_of(path, std::move(*image));
}

Image image_of(const SetFile& file) {
  return {.parts = file.set.parts().value(),
          .hasher = file.set.hasher(),
          .rules = file.set.rules(),
          .uuid = file.uuid,
          .key_is_elsewhere = file.key_is_elsewhere,
          .output = file.output};
}

void save_set(const std::string& path, const SetFile& file, Overwrite overwrite,
              const std::function<Result<void>()>& before_commit) {
  save_image(path, image_of(file), {overwrite, before_commit}).value();
  note_saved(path);
}

void save_live(const std::string& path, const SetFile& file, Overwrite overwrite) {
  create_live(path, file.set, {.overwrite = overwrite, .key_is_elsewhere = file.key_is_elsewhere})
      .value();
  note_saved(path);
}

Verify verify_of(const std::string& path, bool trust) {
  return trust || is_live_set(path) ? Verify::header : Verify::checksums;
}

void note_saved(const std::string& path) { saved_last() = path; }

const std::string& last_saved() { return saved_last(); }

const AnySet& measured(const AnySet& set) {
  set.measure().value();
  return set;
}

void warn_if_overfull(const AnySet& set, const std::string& path, Messages& messages) {
  if (!set.overfull()) return;
  messages.warning(fmt::format(
      "{} is overfull: it was planned for {} keys, and its false-positive rate is {} now", path,
      print_count(set.capacity()), print_rate(measured(set).rate_now())));
}

void describe(Report& report, const AnySet& set, FactsFrom from) {
  describe_set(report, from == FactsFrom::bits ? measured(set) : set, from);
}

}  // namespace bloomery::cli
