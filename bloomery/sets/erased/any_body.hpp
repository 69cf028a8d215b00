// What stands behind an AnySet: the calls that every kind answers, and the sentences for those it
// cannot. For any_set.cpp, any_holder.hpp, and sets that live elsewhere (remote/).
#pragma once

#include <bit>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/plan.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0 {

// Keys as every body takes them: hashed at the door (any_set.cpp), or integers as themselves.
using AnyInputs =
    std::variant<std::span<const Hash>, std::span<const WideHash>, std::span<const Ordinal>>;

enum class Merge { unite, intersect, subtract, exclusive };

// Which chunks of a payload were changed since their checksums were taken. A chunk has a power of
// two bytes: a place is marked for every key of a log.
class ChunkMarks {
 public:
  ChunkMarks(std::uint64_t payload_bytes, std::uint64_t chunk_bytes)
      : shift_(static_cast<unsigned>(std::countr_zero(chunk_bytes))),
        marks_((payload_bytes + chunk_bytes - 1) >> shift_, 0) {
    assert(std::has_single_bit(chunk_bytes) && "a chunk is a power of two bytes long");
  }

  void mark(std::uint64_t byte) { marks_[byte >> shift_] = 1; }
  void mark_all() { marks_.assign(marks_.size(), 1); }
  bool operator[](std::uint64_t chunk) const { return marks_[chunk] != 0; }
  std::uint64_t size() const { return marks_.size(); }

 private:
  unsigned shift_;
  std::vector<std::uint8_t> marks_;
};

// What a body knows without going through its bits.
struct BodyFacts {
  std::uint64_t bytes = 0;
  std::uint64_t adds = 0;
  std::uint64_t capacity = 0;
  double rate_asked = 0;
  std::uint64_t most_count = 0;  // 0: does not count
  std::uint64_t time_span = 0;   // 0: not kept by time
  std::uint64_t time_told = 0;
  std::optional<Range> range = std::nullopt;
  std::optional<AnySet::Lists> lists = std::nullopt;
  bool shared = false;     // with other programs
  bool on_server = false;  // shared by way of a server, to which the form of keys is told at open
};

// One virtual call per span of keys; below it everything is typed. Answers may be null in add and
// remove, and have room for all inputs otherwise. AnySet documents what each verb promises.
struct AnySet::Body {
  virtual ~Body() = default;
  virtual const KindRow& row() const = 0;

  virtual Result<std::size_t> add(const AnyInputs& inputs, bool* fresh) = 0;
  virtual Result<void> ask(const AnyInputs& inputs, bool* answers) const = 0;
  virtual Result<std::size_t> remove(const AnyInputs& inputs, bool* removed) = 0;
  virtual Result<void> count(const AnyInputs& inputs, std::uint64_t* counts) const = 0;

  // The other body is of the same kind.
  virtual Result<void> merge(Merge how, const Body& other) = 0;
  virtual Result<void> clear() = 0;
  virtual Result<void> advance_to(std::uint64_t time, std::uint64_t span) = 0;
  virtual void cap_memory(std::uint64_t bytes) = 0;
  virtual Result<std::uint64_t> best_fold(double rate) const = 0;
  virtual Result<std::unique_ptr<Body>> folded(std::uint64_t factor, double rate) const = 0;

  virtual BodyFacts facts() const = 0;
  // Computed, or counted in the bits, whenever they are asked for.
  virtual double estimate() const = 0;
  virtual double rate_now() const = 0;
  virtual double expected_rate_now() const = 0;
  virtual double fill_ratio() const = 0;
  virtual bool overfull() const = 0;
  virtual std::optional<std::uint64_t> stuck() const = 0;
  virtual std::vector<std::pair<std::string, std::string>> shape_facts() const = 0;
  virtual Result<detail::Parts> parts() const = 0;

  // Live files (storage/live/): the keys change the bytes of the one payload in place; these are
  // the chunks where. Every chunk on a kind that is not InPlace.
  virtual void mark_chunks(const AnyInputs&, ChunkMarks& marks) const { marks.mark_all(); }
  // Prefetches the lines of a few keys that are added next, into the L1 cache. Nothing on a kind
  // that is not InPlace.
  virtual void prefetch(const AnyInputs&) const {}
  // As many keys are in the set now, also those that others added to its bytes.
  virtual void tell_adds(std::uint64_t) {}
  // Of a set whose keys others add too: the form of all its keys so far, and the form that they
  // have from now on, or an Error if that contradicts what others added.
  virtual KeyForm known_form(KeyForm here) const { return here; }
  virtual Result<void> settle_form(KeyForm) { return {}; }

  // Reads what estimate(), rate_now() and fill_ratio() tell of, where that can fail.
  virtual Result<void> measure() const { return {}; }

  // A verb of AnySet that changes the set ends with this, however many calls it took: what was
  // changed is as durable now as was promised (live files).
  virtual Result<void> keep_promise() { return {}; }
};

namespace detail {

// What a verb that changed the set returns.
template <class T>
Result<T> with_promise(AnySet::Body& body, Result<T> outcome) {
  const auto kept = body.keep_promise();
  if (outcome && !kept) return kept.error();
  return outcome;
}

template <class K>
inline constexpr bool takes_ordinals = std::same_as<typename K::Input, Ordinal>;

inline Error wrong_input(std::string_view kind, const char* wanted) {
  return {Code::mismatch, "a " + std::string(kind) + " set takes " + wanted};
}

inline Error takes_no_more(std::string_view kind) {
  return {Code::unsupported,
          "a " + std::string(kind) +
              " set holds the keys it was built from and takes no more; build it again from all "
              "keys, or choose a kind that can be added to, such as blocked"};
}

inline Error cannot_be_empty(std::string_view kind) {
  return {Code::unsupported,
          "a " + std::string(kind) +
              " set is built from all its keys and cannot be cleared; build another one"};
}

}  // namespace detail
}  // namespace bloomery::inline v0
