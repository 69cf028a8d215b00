// Images: what read_image takes can be asked, added to, measured and merged without harm, and is
// read back equal when it is saved. The input is an image without its padding and its checksums,
// which are put in (condensed_image.hpp), so that mutations get behind the first check.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/image.hpp>

#include <tests/fuzz/condensed_image.hpp>
#include <tests/fuzz/must.hpp>

namespace bloomery::fuzz {
namespace {

// What sets may ask for. To open an image takes no more than its bytes and what they are read to;
// growing may ask for more, and gets an Error.
constexpr std::size_t most_to_open = std::size_t{1} << 22;
constexpr std::size_t most_to_grow = std::size_t{1} << 20;
bool opening = false;

void* take_zeroed(std::size_t bytes) {
  must(!opening || bytes <= most_to_open, "an image is opened in memory of its own size");
  return bytes <= most_to_grow || opening ? std::calloc(1, bytes) : nullptr;
}

template <class Made>
auto opened(Made make) {
  opening = true;
  auto made = make();
  opening = false;
  return made;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// Saved and opened again: equal, and saved to the same bytes.
void check_saved(const AnySet& set) {
  const auto bytes = set.to_bytes();
  must(bytes.has_value(), "a set that is open can be saved", bytes ? "" : bytes.error().sentence);
  auto again = opened([&] { return AnySet::from_bytes(*bytes); });
  must(again.has_value(), "what was saved can be opened", again ? "" : again.error().sentence);
  must(*again == set, "what was saved is opened equal");
  const auto twice = again->to_bytes();
  must(twice && *twice == *bytes, "what is opened is saved to the same bytes");
}

void measure(const AnySet& set) {
  static_cast<void>(set.measure().has_value());
  set.bytes(), set.adds(), set.capacity(), set.rate_asked();
  set.estimate(), set.rate_now(), set.expected_rate_now(), set.fill_ratio(), set.overfull();
  set.range(), set.shape_facts(), set.stuck(), set.lists(), set.most_count();
  set.time_span(), set.time_told();
}

// Every verb, with keys of one form. Errors are answers as good as others.
template <class Key, std::size_t n>
void use(AnySet& set, const std::array<Key, n>& keys) {
  const std::span<const Key> all(keys);
  std::array<bool, n> fresh{};
  std::array<bool, n> there{};
  std::array<std::uint64_t, n> counts{};
  static_cast<void>(set.may_contain_all(all, there).has_value());
  static_cast<void>(set.counts(all, counts).has_value());
  if (set.add_all(all, fresh) && set.may_contain_all(all, there) && !set.time_span()) {
    // A window of few keys may have forgotten the first ones.
    must(there.back(), "a key that was added last is there");
  }
  static_cast<void>(set.remove_all(all.first(n / 2)).has_value());
  static_cast<void>(set.may_contain_all(all, there).has_value());
}

void use(AnySet& set, const KeyRules& rules) {
  static constexpr std::array<std::string_view, 4> texts = {"", "a", "key 17", "key 18"};
  const auto low = set.range() ? set.range()->low : 0;
  const std::array ordinals = {Ordinal{low}, Ordinal{low + 1}, Ordinal{low + 63},
                               set.range() ? Ordinal{set.range()->high} : Ordinal{low}};
  static constexpr std::array hashes = {Hash{0}, Hash{0x0123'4567'89ab'cdef}, Hash{~0ull},
                                        Hash{0x8000'0000'0000'0001}};
  if (rules.form != KeyForm::hash) use(set, texts);
  use(set, hashes);
  use(set, ordinals);
}

// Two sets at once, and what makes another of one.
void combine(AnySet& set) {
  auto twin = set.clone();
  if (!twin) return;
  must(*twin == set, "a clone is equal");
  static_cast<void>(twin->unite(set).has_value());
  static_cast<void>(twin->intersect(set).has_value());
  static_cast<void>(twin->exclusive(set).has_value());
  static_cast<void>(twin->subtract(set).has_value());
  if (const auto fold = set.best_fold(0.5); fold && *fold > 1)
    if (const auto folded = set.folded(*fold, 0.5)) check_saved(*folded);
  static_cast<void>(twin->advance_to(1000, 10).has_value());
  static_cast<void>(twin->clear().has_value());
  check_saved(*twin);
}

void check(const CondensedImage& condensed) {
  const std::string image = condensed.whole();
  OpenOptions options;
  if (condensed.asks_for(CondensedImage::give_key)) options.key = SecretKey{1, 2};
  if (condensed.asks_for(CondensedImage::header_only)) options.verify = Verify::header;
  auto set = opened([&] {
    if (!condensed.asks_for(CondensedImage::as_stream))
      return AnySet::from_bytes(bytes_of(image), options);
    std::istringstream stream(image);
    return AnySet::open(stream, options);
  });
  if (!set) return;
  const bool can_be_saved = !condensed.asks_for(CondensedImage::give_key);
  measure(*set);
  if (can_be_saved) check_saved(*set);
  combine(*set);
  use(*set, set->rules());
  measure(*set);
  if (can_be_saved) check_saved(*set);
}

}  // namespace
}  // namespace bloomery::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomery;
  detail::Memory::lend_from({fuzz::take_zeroed, std::free});
  fuzz::check(fuzz::CondensedImage(data, size));
  return 0;
}
