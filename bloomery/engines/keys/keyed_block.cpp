#include <bloomery/engines/keys/keyed_block.hpp>

#include <bloomery/engines/dedup/loss_meter.hpp>

namespace bloomery::inline v0::detail {

double rate_of_others(const std::vector<Against>& others) {
  double rate = 0;
  for (const Against& other : others) rate += rate_of_taking(*other.set);
  return rate;
}

Error KeyedBlock::no_key_error(const BlockInputs& inputs, std::uint64_t records_before) const {
  return {Code::mismatch, inputs.name_of(block.file) +
                              (inputs.rules().csv_separator ? ": record " : ": line ") +
                              std::to_string(records_before + first_no_key + 1) + " " + why_none};
}

Result<void> Heads::take(Block& block, std::string& head) {
  head.clear();
  if (!rules_.on_head || !block.first_of_file) return {};
  block.split(inputs_.rules().delimiter);
  head = block.records.front();
  if (first_ && head != first_->text && !(rules_.same_head && rules_.same_head(first_->text, head)))
    return Error{Code::mismatch, inputs_.name_of(block.file) + " has another header than " +
                                     first_->from + "; give files with the same columns"};
  if (auto told = rules_.on_head(block.file, head); !told) return told;
  if (first_)
    head.clear();  // it was printed before
  else
    first_ = Head{head, inputs_.name_of(block.file)};
  return {};
}

Result<void> BlockHashing::hash(KeyedBlock& work) {
  if (work.block.file != file_) {
    file_ = work.block.file;
    for (auto& maker : makers_) maker.reset();
  }
  work.block.split(delimiter_);
  work.records = work.block.records;
  if (rules_.on_head && work.block.first_of_file) work.records = work.records.subspan(1);
  work.fresh.assign(work.records.size(), true);
  dropped_.assign(work.records.size(), false);
  const Lines keys = keys_of(0, rules_.make_keys, work.records);
  note_missing(work, keys);
  note_empty(work);
  for (std::size_t i = 0; i < rules_.against.size(); ++i)
    if (auto asked = ask(work, i); !asked) return asked;
  const Lines kept = without_dropped(work, keys);
  set_.hash_all(kept, work.keys);
  work.key_count = kept.size();
  return {};
}

Lines BlockHashing::keys_of(std::size_t which, const MakeKeys& make, Lines records) {
  if (!make) return records;
  if (!makers_[which]) makers_[which] = make(file_);
  return makers_[which]->keys_of(records);
}

// Records without a key stay marked as fresh, so that they are printed, and are not added.
void BlockHashing::note_missing(KeyedBlock& work, Lines keys) {
  work.no_key = 0;
  if (!rules_.make_keys) return;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].data() != nullptr) continue;
    if (work.no_key++ == 0) {
      work.first_no_key = i;
      work.why_none = makers_[0]->why_none(work.records[i]);
    }
    dropped_.set(i, true);
  }
}

// Unless the empty key is one like any other it is neither asked for nor added.
void BlockHashing::note_empty(KeyedBlock& work) {
  work.empty = work.empty_kept = work.empty_gone = 0;
  if (!rules_.make_keys) return;
  const auto empty = makers_[0]->empty_keys();
  work.empty = empty.size();
  if (empty.empty() || rules_.empty_keys == EmptyKeys::one) return;
  for (const std::uint32_t i : empty) dropped_.set(i, true);
  (rules_.empty_keys == EmptyKeys::keep ? work.empty_kept : work.empty_gone) = empty.size();
  if (work.empty_gone == 0) return;
  work.gone.assign(work.records.size(), false);
  for (const std::uint32_t i : empty) {
    work.gone.set(i, true);
    work.fresh.set(i, false);
  }
}

// What the other set may contain is a repeat.
Result<void> BlockHashing::ask(KeyedBlock& work, std::size_t which) {
  const Against& other = rules_.against[which];
  const Lines keys = keys_of(1 + which, other.make_keys, work.records);
  other.set->hash_all(keys, asked_);
  answers_.assign(keys.size(), false);
  const auto answered = other.set->may_contain_all(asked_, answers_.span(0, answers_.size()));
  if (!answered) return answered.error();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].data() == nullptr || dropped_[i] || !answers_[i]) continue;
    dropped_.set(i, true);
    work.fresh.set(i, false);
  }
  return {};
}

Lines BlockHashing::without_dropped(KeyedBlock& work, Lines keys) {
  work.all = !dropped_.any();
  if (work.all) return keys;
  work.places.clear();
  kept_.clear();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (dropped_[i]) continue;
    work.places.push_back(i);
    kept_.push_back(keys[i]);
  }
  return kept_;
}

}  // namespace bloomery::inline v0::detail
