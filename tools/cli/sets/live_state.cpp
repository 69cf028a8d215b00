#include "live_state.hpp"

#include <memory>
#include <utility>

#include <bloomery/detail/storage/live_options.hpp>
#include <bloomery/storage/live/live_create.hpp>

#include <tools/cli/flags/key_flags.hpp>
#include <tools/cli/input/inputs.hpp>

namespace bloomery::cli {

Result<void> LiveState::make(const std::string& path, const SetFile& file) {
  // What was added and not printed must be undone, so no kind lies in shared bytes here.
  return create_live_file(path, *AnySet::find_row(file.set.kind().name), image_of(file),
                          {.followed = true});
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

Result<void> LiveState::close() { return body_->close(); }

}  // namespace bloomery::cli
