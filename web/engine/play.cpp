// A filter of a few hundred cells that tells all it does, and beside it the keys that were really
// added: so it knows which of its answers are wrong.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tools/cli/plans/plan_text.hpp>
#include <tools/cli/report/units.hpp>

#include "cells.hpp"
#include "verbs.hpp"

namespace bloomery::web {
namespace {

struct Member {
  PlayKey key;
  KeyCells cells;
  unsigned times = 0;
};

struct Toy {
  AnySet set;
  AnySet alone;  // of the same shape, for the cells of one key
  CellForm form;
  const KindRow* row;
  std::map<std::string, Member> members;
  std::uint64_t filled = 0;  // the last number that fill tried
};

std::optional<Toy>& toy() {
  static std::optional<Toy> held;
  return held;
}

Error no_toy() { return {Code::bad_input, "make a filter first"}; }

using Cells = std::vector<std::uint32_t>;

Answer state_of(const Toy& toy) {
  const auto cells = cells_of(toy.set, toy.form);
  if (!cells) return cells.error();
  const auto ones = static_cast<std::uint64_t>(
      std::ranges::count_if(*cells, [](std::uint32_t cell) { return cell != 0; }));
  std::string values;
  for (const std::uint32_t cell : *cells) {
    if (!values.empty()) values += ',';
    values += std::to_string(cell);
  }
  std::string shape;
  for (const auto& [words, value] : toy.set.shape_facts())
    shape += (shape.empty() ? "[" : ",[") + json(words) + "," + json(value) + "]";
  Object state;
  state.set("kind", toy.set.kind().name).set("keys", std::uint64_t{toy.members.size()});
  state.set("capacity", toy.set.capacity()).set("bytes", toy.set.bytes());
  state.set("cell_bits", std::uint64_t{toy.form.bits});
  state.set("line_cells", toy.form.line == 0 ? std::uint64_t{cells->size()} : toy.form.line);
  state.put("values", "[" + values + "]").set("ones", ones);
  state.set("fill", toy.set.fill_ratio());
  state.set("rate_asked", toy.set.rate_asked()).set("rate_now", toy.set.rate_now());
  state.set("overfull", toy.set.overfull()).put("shape", "[" + shape + "]");
  state.set("hash", toy.row->input == InputForm::ordinal ? "none" : "xxh3-64");
  return state.text();
}

std::string hash_of(const Toy& toy, const PlayKey& key) {
  if (toy.row->input == InputForm::ordinal) return std::to_string(key.integer);
  return fmt::format("{:016x}", toy.set.hasher()(key.text).bits);
}

bool owns(const Toy& toy, const Member& member, std::uint32_t cell, std::uint32_t value) {
  if (toy.form.fingerprints && member.cells.value != value) return false;
  return std::ranges::binary_search(member.cells.places, cell);
}

std::vector<std::string> owners_of(const Toy& toy, std::uint32_t cell, std::uint32_t value) {
  std::vector<std::string> owners;
  if (value == 0) return owners;
  for (const auto& [text, member] : toy.members)
    if (owns(toy, member, cell, value)) owners.push_back(text);
  return owners;
}

// Keys that together own all cells of a false positive: each time the one that owns the most of
// what is left.
std::vector<std::string> explanation(const Toy& toy, const KeyCells& cells, const Cells& values) {
  std::set<std::uint32_t> left;
  for (const std::uint32_t cell : cells.places)
    if (values[cell] != 0) left.insert(cell);
  std::vector<std::string> found;
  while (!left.empty()) {
    const std::string* best = nullptr;
    std::size_t most = 0;
    for (const auto& [text, member] : toy.members) {
      const auto shared = static_cast<std::size_t>(std::ranges::count_if(
          left, [&](std::uint32_t cell) { return owns(toy, member, cell, cells.value); }));
      if (shared > most) most = shared, best = &text;
    }
    if (best == nullptr) break;
    found.push_back(*best);
    for (auto at = left.begin(); at != left.end();)
      at = owns(toy, toy.members.at(*best), *at, cells.value) ? left.erase(at) : std::next(at);
    if (toy.form.fingerprints) break;  // one fingerprint is enough
  }
  return found;
}

struct Step {
  std::string_view verb;
  PlayKey key;
  KeyCells cells;
  Cells before;
  Cells after;
  bool there_before = false;
  bool there = false;
  bool added = false;
  std::vector<std::string> lost = {};

  // Of the answer before the step: afterwards an added key is there with good reason.
  bool false_positive(bool was_added) const { return there_before && !was_added; }
};

std::string sentence_of(const Toy& toy, const Step& step, bool was_added) {
  const std::string key = "'" + step.key.text + "'";
  const bool exact = toy.row->exact;
  if (step.verb == "ask") {
    if (!step.there && step.added)
      return key +
             " was added, and the filter says no: removing what was never added has "
             "cleared a cell that it needs.";
    if (!step.there)
      return key + " is surely not there: " +
             (exact ? "its cell is empty." : "a cell of its own is empty.");
    if (exact) return key + " is there, for certain.";
    if (step.added) return key + " may be there, and it is: it was added.";
    return key +
           " may be there, says the filter, but nobody added it: a false positive. Other "
           "keys own all its cells.";
  }
  if (step.verb == "add") {
    if (was_added) return key + " was there already.";
    if (step.there_before)
      return key + " is new, but the filter takes it for one it has seen: a false positive.";
    return key + " is surely new, and there from now on.";
  }
  if (!was_added && step.there_before)
    return fmt::format("{} was never added. Removing it took cells of other keys{}", key,
                       step.lost.empty() ? "; this time none of them is lost."
                                         : ", and the filter now denies keys that were added.");
  if (!was_added) return key + " is not there; nothing changes.";
  return step.there ? key + " is removed once, and still there." : key + " is removed.";
}

Answer step_of(const Toy& toy, const Step& step, bool was_added) {
  const auto state = state_of(toy);
  if (!state) return state.error();
  const bool wrong = step.false_positive(was_added);
  std::string cells;
  std::set<std::uint64_t> lines;
  for (const std::uint32_t cell : step.cells.places) {
    if (toy.form.line != 0) lines.insert(cell / toy.form.line);
    const std::uint32_t shown = std::max(step.before[cell], step.after[cell]);
    Object one;
    one.set("cell", std::uint64_t{cell}).set("before", std::uint64_t{step.before[cell]});
    one.set("after", std::uint64_t{step.after[cell]}).set("owners", owners_of(toy, cell, shown));
    cells += (cells.empty() ? "" : ",") + one.text();
  }
  Object reply;
  reply.set("key", step.key.text).set("verb", step.verb).set("hash", hash_of(toy, step.key));
  reply.put("line", lines.size() == 1 ? json(*lines.begin()) : "null");
  reply.set("lines", std::vector<std::uint64_t>(lines.begin(), lines.end()));
  reply.put("cells", "[" + cells + "]");
  reply.set("there_before", step.there_before).set("there", step.there).set("added", step.added);
  reply.set("false_positive", wrong).set("false_negative", !step.there && step.added);
  reply.set("explained_by",
            wrong ? explanation(toy, step.cells, step.before) : std::vector<std::string>{});
  reply.set("sentence", sentence_of(toy, step, was_added)).set("lost", step.lost);
  return reply.put("state", *state).text();
}

Result<Step> begin(Toy& toy, std::string_view verb, std::string_view text) {
  const auto key = play_key(toy.set, text);
  if (!key) return key.error();
  auto cells = cells_of_key(toy.alone, toy.form, *key);
  if (!cells) return cells.error();
  auto before = cells_of(toy.set, toy.form);
  if (!before) return before.error();
  const auto now = there(toy.set, *key);
  if (!now) return now.error();
  return Step{.verb = verb,
              .key = *key,
              .cells = std::move(*cells),
              .before = std::move(*before),
              .there_before = *now};
}

// What is known once the verb is done.
Result<void> finish(const Toy& toy, Step& step) {
  auto after = cells_of(toy.set, toy.form);
  if (!after) return after.error();
  step.after = std::move(*after);
  const auto now = there(toy.set, step.key);
  if (!now) return now.error();
  step.there = *now;
  step.added = toy.members.contains(step.key.text);
  return {};
}

void note_added(Toy& toy, const Step& step) {
  Member& member = toy.members[step.key.text];
  member.key = step.key;
  member.cells = step.cells;
  // Kinds that cannot remove do not count either.
  member.times = toy.row->removes ? member.times + 1 : 1;
}

// A window forgets by itself.
void drop_forgotten(Toy& toy) {
  if (!toy.row->forgets) return;
  std::erase_if(toy.members, [&](const auto& member) {
    const auto still = there(toy.set, member.second.key);
    return still && !*still;
  });
}

void note_removed(Toy& toy, const Step& step) {
  const auto found = toy.members.find(step.key.text);
  if (found == toy.members.end()) return;
  const auto still = toy.row->exact ? there(toy.set, step.key) : Result<bool>(false);
  if (--found->second.times == 0 || (toy.row->exact && still && !*still)) toy.members.erase(found);
}

Answer run_step(std::string_view verb, std::string_view text) {
  if (!toy()) return no_toy();
  Toy& now = *toy();
  auto step = begin(now, verb, text);
  if (!step) return step.error();
  const bool was_added = now.members.contains(step->key.text);
  if (verb == "add") {
    if (auto done = add(now.set, step->key); !done) return done.error();
    note_added(now, *step);
    drop_forgotten(now);
  } else if (verb == "remove") {
    if (auto done = remove(now.set, step->key); !done) return done.error();
    note_removed(now, *step);
    for (const auto& [member, held] : now.members)
      if (const auto still = there(now.set, held.key); still && !*still)
        step->lost.push_back(member);
  }
  if (auto done = finish(now, *step); !done) return done.error();
  return step_of(now, *step, was_added);
}

// Texts that were never added: a share of them that passes is the rate.
double measured(const Toy& toy) {
  constexpr unsigned strangers = 2000;
  if (toy.row->exact) return 0;
  unsigned passed = 0;
  for (unsigned i = 0; i < strangers; ++i) {
    const auto answer = there(toy.set, {.text = "stranger " + std::to_string(i)});
    passed += answer && *answer;
  }
  return static_cast<double>(passed) / strangers;
}

// "key 1", "key 2", ...; of integers the lowest.
std::string next_key(Toy& toy) {
  for (;;) {
    const std::uint64_t number = toy.filled++;
    const auto range = toy.set.range();
    std::string key =
        range ? std::to_string(range->low + number) : "key " + std::to_string(number + 1);
    if (!toy.members.contains(key)) return key;
  }
}

}  // namespace

Answer play_make(const Request& request) {
  const auto kind = request.text("kind");
  const KindRow* const row = AnySet::find_row(kind.value_or(""));
  if (row == nullptr || !playable(*row))
    return Error{Code::bad_input, "this kind cannot be shown cell by cell"};
  const auto keys = request.whole("keys");
  if (!keys) return keys.error();
  if (*keys < 1 || *keys > 10'000)
    return Error{Code::bad_input, "a filter to look at holds 1 to 10,000 keys"};
  const auto typed =
      cli::want_of(cli::PlanText{.rate = request.text("rate"), .range = request.text("range")});
  if (!typed) return typed.error();
  Want want = *typed;
  if (row->input == InputForm::hashed) want.keys = *keys;
  want.removal = true;  // only spectral asks
  auto set = AnySet::make(row->id.name, want);
  if (!set) return set.error();
  auto alone = AnySet::make(row->id.name, want);
  if (!alone) return alone.error();
  const CellForm form = cell_form(*set);
  toy().emplace(Toy{std::move(*set), std::move(*alone), form, row, {}, 0});
  return state_of(*toy());
}

Answer play_add(const Request& request) {
  return run_step("add", request.all("key").empty() ? "" : request.all("key").front());
}

Answer play_ask(const Request& request) {
  return run_step("ask", request.all("key").empty() ? "" : request.all("key").front());
}

Answer play_remove(const Request& request) {
  return run_step("remove", request.all("key").empty() ? "" : request.all("key").front());
}

Answer play_state(const Request&) {
  if (!toy()) return no_toy();
  return state_of(*toy());
}

Answer play_fill(const Request& request) {
  if (!toy()) return no_toy();
  Toy& now = *toy();
  const auto count = request.whole("count");
  if (!count) return count.error();
  if (*count > 100'000) return Error{Code::bad_input, "fill adds at most 100,000 keys at a time"};
  constexpr std::uint64_t most_points = 60;
  const std::uint64_t step = std::max<std::uint64_t>(1, (*count + most_points - 1) / most_points);
  std::string points;
  std::optional<std::string> refused;
  for (std::uint64_t done = 0; done < *count && !refused;) {
    for (std::uint64_t i = 0; i < step && done < *count && !refused; ++i, ++done) {
      const std::string text = next_key(now);
      const auto key = play_key(now.set, text);
      if (!key) {
        refused = key.error().sentence;
        break;
      }
      auto cells = cells_of_key(now.alone, now.form, *key);
      if (!cells) return cells.error();
      if (auto added = add(now.set, *key); !added) refused = added.error().sentence;
      if (!refused) now.members[text] = {*key, std::move(*cells), 1};
    }
    drop_forgotten(now);
    Object point;
    point.set("keys", std::uint64_t{now.members.size()}).set("rate_now", now.set.rate_now());
    point.set("measured", measured(now)).set("fill", now.set.fill_ratio());
    points += (points.empty() ? "" : ",") + point.text();
  }
  const auto state = state_of(now);
  if (!state) return state.error();
  Object reply;
  reply.put("state", *state).put("points", "[" + points + "]").set("refused", refused);
  return reply.text();
}

Answer play_find_false(const Request& request) {
  if (!toy()) return no_toy();
  Toy& now = *toy();
  const auto tries = request.whole("tries");
  if (!tries) return tries.error();
  if (now.row->exact) return std::string("null");
  for (std::uint64_t i = 1; i <= std::min<std::uint64_t>(*tries, 10'000'000); ++i) {
    const std::string text = "word " + std::to_string(i);
    if (now.members.contains(text)) continue;
    const auto answer = there(now.set, {.text = text});
    if (!answer) return answer.error();
    if (*answer) return run_step("ask", text);
  }
  return std::string("null");
}

}  // namespace bloomery::web
