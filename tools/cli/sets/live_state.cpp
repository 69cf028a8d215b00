#include "live_state.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include <bloomery/detail/storage/live_options.hpp>
#include <bloomery/storage/live/live_create.hpp>

#include <tools/cli/flags/key_flags.hpp>
#include <tools/cli/input/inputs.hpp>

namespace bloomery::cli {
namespace {

// Nothing of a file that is missing.
std::optional<std::filesystem::file_time_type> written_last(const WrittenOutput& output) {
  std::error_code missing;
  const auto time = std::filesystem::last_write_time(output.path, missing);
  if (missing) return {};
  return time;
}

// Which of them an ordinary state goes on to know: one whose run must be run again, or else the one
// that was written last. What is not there any more has nothing to lose.
void choose_output(const std::map<std::string, WrittenOutput>& outputs, LiveState::Sealed& sealed) {
  using Rank = std::pair<bool, std::filesystem::file_time_type>;
  std::optional<Rank> best;
  for (const auto& [path, output] : outputs) {
    const auto time = written_last(output);
    if (!time) continue;
    const Rank rank{!output.ended, *time};
    if (best && rank <= *best) {
      sealed.forgotten.push_back(output);
      continue;
    }
    if (sealed.output) sealed.forgotten.push_back(std::move(*sealed.output));
    sealed.output = output;
    best = rank;
  }
}

// The same image, which must outlive it, with an output.
Image with_output(const Image& image, const std::optional<WrittenOutput>& output) {
  Image whole{.parts = {.form = image.parts.form},
              .hasher = image.hasher,
              .rules = image.rules,
              .uuid = image.uuid,
              .key_is_elsewhere = image.key_is_elsewhere,
              .output = output};
  for (const Part& part : image.parts.parts)
    whole.parts.parts.push_back({.kind = part.kind,
                                 .count = part.count,
                                 .shape = part.shape,
                                 .capacity = part.capacity,
                                 .rate_asked = part.rate_asked,
                                 .adds = part.adds,
                                 .state = part.state,
                                 .payload = part.payload});
  return whole;
}

}  // namespace

Result<void> LiveState::make(const std::string& path, const SetFile& file, Overwrite overwrite) {
  const Image image = image_of(file);
  FirstRecords first;
  std::vector<std::uint64_t> words;
  if (image.output) {
    words = LiveBody::words_of_output(*image.output);
    first.records.push_back({.op = LogOp::done,
                             .form = image.rules.form,
                             .keys = static_cast<std::uint32_t>(words.size()),
                             .run = 1,
                             .content = words});
  }
  // What was added and not printed must be undone, so no kind lies in shared bytes here.
  return create_live_file(path, *AnySet::find_row(file.set.kind().name), with_output(image, {}),
                          {.overwrite = overwrite, .followed = true}, first);
}

Result<LiveState::Sealed> LiveState::seal(const std::string& path, const LiveOptions& options) {
  Sealed sealed;
  auto body = LiveBody::open(path, options, sealed.recovery);
  if (!body) return body.error();
  const auto done = (*body)->seal([&](const Image& image) {
    choose_output((*body)->outputs(), sealed);
    return save_image(path, with_output(image, sealed.output));
  });
  if (!done) return done.error();
  return sealed;
}

SetFile LiveState::open(const Word& key_file, const std::optional<std::string>& output) {
  note_input(path_);
  // Synced by done(), after the output: nothing is promised before.
  LiveOptions options{.durability = Durability::none};
  if (key_file) options.key = read_key_file(*key_file);
  Recovery recovery;
  auto body = LiveBody::open(path_, options, recovery);
  if (!body) refuse_file(path_, body.error());
  body_ = body->get();
  if (auto begun = body_->begin_run(); !begun) refuse_file(path_, begun.error());
  KeyRules rules = body_->head().directory.rules;
  rules.form = body_->known_form(rules.form);
  const Hasher hasher = body_->head().hasher;
  SetFile file{AnySet::of(std::move(*body), hasher, std::move(rules)), body_->head().block.uuid};
  if (output) file.output = body_->output(*output);
  return file;
}

Result<void> LiveState::done(const std::optional<WrittenOutput>& output) {
  return body_->done(output.value_or(WrittenOutput{}));
}

std::vector<WrittenOutput> LiveState::unended() const {
  std::vector<WrittenOutput> found;
  for (const auto& [path, output] : body_->outputs()) {
    std::error_code missing;
    const std::uint64_t bytes = std::filesystem::file_size(path, missing);
    if (!output.ended && !missing && bytes > output.bytes) found.push_back(output);
  }
  // Asked last: who began after that is not among them.
  const auto shared = body_->is_open_elsewhere();
  if (!shared || *shared) found.clear();
  return found;
}

Result<void> LiveState::close() { return body_->close(); }

}  // namespace bloomery::cli
