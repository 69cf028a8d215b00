// A live file as an AnySet calls it (sets/erased/any_body.hpp).
//
//    in place    the set lies in the bytes that all processes share; the log is for the disk
//    followed    the set is a private copy: the image of the file and then every record of its log.
//                Before it answers or adds it does what others have logged since.
//
// Runs: a program whose adds count only once their outcome is somewhere else too (the lines that
// dedup prints) begins a run, and says done() when it is. Adds of a run that ended before that are
// undone by the next who opens the file: as if they had never been made. Followed sets only.
// Threads: any number may call the verbs, which take turns; one closes or destroys it. sync_aside()
//          takes no turn: nobody waits for the disk because of it.
// If the set is wrong: an add that cannot be logged, or synced as promised, is an Error; keys that
//          were told to be new are then in doubt.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/detail/storage/live_options.hpp>
#include <bloomery/image.hpp>
#include <bloomery/sets/erased/any_body.hpp>
#include <bloomery/storage/live/live_file.hpp>

namespace bloomery::inline v0::detail {

class LiveBody final : public AnySet::Body {
 public:
  // With what was found on opening. Tries again while others replace the file.
  static Result<std::unique_ptr<LiveBody>> open(const std::filesystem::path& path,
                                                const LiveOptions& options, Recovery& recovery);
  enum class Sharing { shared, own };
  // Attaches nothing and changes nothing in the file: what others left undone is done in private.
  // Shared: adds of others show at once, and the bytes must not be written. Own: they may be
  // written, and stay with this process.
  static Result<std::unique_ptr<LiveBody>> open_to_ask(const std::filesystem::path& path,
                                                       const LiveOptions& options, Sharing sharing,
                                                       Secret secret = Secret::needed);
  ~LiveBody() override;

  const LiveHead& head() const { return file_->head(); }
  // In a child of fork(): its threads and locks are those of the parent.
  bool is_of_parent() const { return file_->is_of_parent(); }
  // By others beside this object.
  Result<bool> is_open_elsewhere() const {
    const Turns turn(turns_);
    return file_->is_open_elsewhere();
  }

  Result<void> sync();
  // By another thread than the one that adds. A failure is told by the next add.
  void sync_aside();
  // Is called by an add that has nearly filled its half of the log: sync_aside() makes room before
  // others wait for it. Set it before the first add.
  void hurry_by(std::function<void()> hurry) {
    const Turns turn(turns_);
    hurry_ = std::move(hurry);
  }
  Result<void> checkpoint();
  Result<void> close();
  // Gives the set, with all that was added until now, to `save`, and takes no more keys.
  Result<void> seal(const std::function<Result<void>(const Image&)>& save);
  // Every checksum that holds. An Error of Code::unsupported if none does until it is recovered.
  Result<void> verify() const;
  // The set as it is now; borrows from this.
  Result<Image> image() const;

  // Runs. The output is as in WrittenOutput; nothing if this file knows none of this path.
  Result<void> begin_run();
  Result<void> done(const WrittenOutput& output);
  std::optional<WrittenOutput> output(const std::string& path) const;
  // By their paths.
  std::map<std::string, WrittenOutput> outputs() const {
    const Turns turn(turns_);
    return outputs_;
  }
  // As the log has it, for those who make a live file of a state that knows one.
  static std::vector<std::uint64_t> words_of_output(const WrittenOutput& output);

  const KindRow& row() const override { return *row_; }
  Result<std::size_t> add(const AnyInputs& inputs, bool* fresh) override;
  Result<void> ask(const AnyInputs& inputs, bool* answers) const override;
  Result<std::size_t> remove(const AnyInputs& inputs, bool* removed) override;
  Result<void> count(const AnyInputs& inputs, std::uint64_t* counts) const override;
  Result<void> merge(Merge how, const Body& other) override;
  Result<void> clear() override;
  Result<void> advance_to(std::uint64_t time, std::uint64_t span) override;
  void cap_memory(std::uint64_t) override {}
  Result<std::uint64_t> best_fold(double rate) const override {
    const Turns turn(turns_);
    return inner().best_fold(rate);
  }
  Result<std::unique_ptr<Body>> folded(std::uint64_t factor, double rate) const override {
    const Turns turn(turns_);
    return inner().folded(factor, rate);
  }
  BodyFacts facts() const override;
  double estimate() const override {
    return newest([](const Body& set) { return set.estimate(); });
  }
  double rate_now() const override {
    return newest([](const Body& set) { return set.rate_now(); });
  }
  double expected_rate_now() const override {
    return newest([](const Body& set) { return set.expected_rate_now(); });
  }
  double fill_ratio() const override {
    return newest([](const Body& set) { return set.fill_ratio(); });
  }
  bool overfull() const override {
    return newest([](const Body& set) { return set.overfull(); });
  }
  std::optional<std::uint64_t> stuck() const override {
    return newest([](const Body& set) { return set.stuck(); });
  }
  std::vector<std::pair<std::string, std::string>> shape_facts() const override {
    const Turns turn(turns_);
    return inner().shape_facts();
  }
  Result<Parts> parts() const override;
  void mark_chunks(const AnyInputs& inputs, ChunkMarks& marks) const override {
    inner().mark_chunks(inputs, marks);
  }
  void tell_adds(std::uint64_t) override {}
  KeyForm known_form(KeyForm) const override {
    if (in_place_) return file_->form();
    const Turns turn(turns_);
    return file_->form();
  }
  Result<void> settle_form(KeyForm form) override {
    const Turns turn(turns_);
    return file_->settle_form(form);
  }
  Result<void> measure() const override {
    const Turns turn(turns_);
    return follow_newest();
  }
  Result<void> keep_promise() override;

 private:
  LiveBody(std::unique_ptr<LiveFile> file, const LiveOptions& options)
      : in_place_(file->in_place()), file_(std::move(file)), options_(options) {}

  Body& inner() const { return *inner_->body(); }
  // What `ask` says of the set as it is now.
  template <class Ask>
  std::invoke_result_t<Ask, const Body&> newest(Ask ask) const {
    const Turns turn(turns_);
    static_cast<void>(follow_newest().has_value());
    if (in_place()) inner().tell_adds(file_->adds());
    return ask(std::as_const(inner()));
  }
  // Who changes it: it must be open, and not only to be asked.
  Result<void> expect_open() const;
  bool in_place() const { return in_place_; }
  // Adding a key that is there changes nothing. Then the log has each key once, in the record of
  // the run that it was new to, and goes with that.
  bool logs_new_keys_only() const {
    const KindRow& kind = row();
    return !kind.removes && !kind.counts && !kind.forgets && !kind.keeps_copies;
  }
  // Into the log by a system call: cheaper for bytes that are synced next, and for whole pages,
  // which cost a fault each when they are written through a mapping.
  bool by_call(const LogRecord& record) const {
    return options_.durability == Durability::every || record.bytes() >= 4096;
  }
  LogRecord record_of(LogOp op, const AnyInputs& inputs) const;
  LiveFile::Mark marking() const;
  LiveFile::Replay replay() const;
  // In place.
  Result<bool> has_all_of(const LogRecord& record) const;
  Error not_in_place() const;

  // The set that is asked from now on.
  Result<void> begin_from_base(Sharing sharing) const;
  Result<void> apply(const LogRecord& record) const;
  // What others have logged since; of followed sets.
  Result<void> follow() const;
  // The same, and on into the file that has taken the place of this one.
  Result<void> follow_newest() const;
  Result<void> join_others() const;
  Result<void> replay_from_base() const;
  void note(const LogRecord& record, std::uint64_t at) const;

  Result<void> checkpoint_if_due();
  Result<std::size_t> add_in_place(const AnyInputs& inputs, bool* fresh);
  // Before keys are added in place, and before others have to wait: the pages of their bits.
  void call_for_pages(const AnyInputs& inputs);
  Result<std::size_t> add_followed(const AnyInputs& inputs, bool* fresh);
  // The record with those of its keys that were new.
  LogRecord only_new(LogRecord record, const bool* fresh, std::size_t count);
  // Does something to a followed set and logs it.
  Result<std::size_t> change(const std::function<Result<std::size_t>(LogRecord&)>& work);
  // The file that has taken the place of this one.
  Result<void> reopen() const;
  // Followed: a new file with all that the log says in its image, if the log has become long.
  Result<void> shorten_log();
  Result<void> expect_its_name() const;
  // How many keys were taken back.
  Result<std::uint64_t> undo_dead_runs(LiveFile::Turn& turn);
  Result<std::vector<std::uint32_t>> dead_runs() const;

  // While others replace the file.
  static constexpr int most_tries = 100;

  // Verbs call each other: image() is asked for by those who seal.
  mutable std::recursive_mutex turns_;
  using Turns = std::lock_guard<std::recursive_mutex>;
  const bool in_place_;  // then its file is never another one
  bool is_closed_ = false;
  Result<void> closed_;                     // how that went
  mutable std::unique_ptr<LiveFile> file_;  // another one when its log was shortened
  std::unique_ptr<LiveFile> aside_;         // in place: the same, for sync_aside
  mutable std::mutex file_changes_;         // while it is another file, nobody syncs it aside
  std::function<void()> hurry_;
  std::atomic<bool> is_hurried_ = false;  // since sync_aside() began last
  LiveOptions options_;
  // What a reader brings up to date before it answers.
  mutable std::optional<AnySet> inner_;
  mutable const KindRow* row_ = nullptr;  // of all of them; asked for without a turn
  mutable bool has_own_bytes_ = false;    // in place, though it was to be shared
  mutable std::uint64_t position_ = 0;    // followed: of the log
  mutable std::optional<Error> broken_;   // the copy is not what the log says
  struct Run {
    std::vector<std::uint64_t> pending;  // places of its adds that are not done
    std::uint64_t keys = 0;              // in them
  };
  mutable std::map<std::uint32_t, Run> runs_;
  mutable std::map<std::string, WrittenOutput> outputs_;
  std::uint32_t run_ = 0;
  std::uint64_t looked_at_ = 0;      // piece of the log in which a checkpoint was last thought of
  std::uint32_t calls_to_skip_ = 0;  // as all pages were in memory when it was looked last
  std::uint32_t skipped_last_ = 0;
  std::vector<std::uint64_t> scratch_;
  mutable std::vector<char> marks_;
};

}  // namespace bloomery::inline v0::detail
