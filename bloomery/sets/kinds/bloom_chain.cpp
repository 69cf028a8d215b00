#include <bloomery/detail/sets/kinds/bloom_chain.hpp>

#include <algorithm>
#include <bit>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include <bloomery/detail/hash/real.hpp>
#include <bloomery/detail/sets/bulk/groups.hpp>
#include <bloomery/sets/shown_bytes.hpp>

namespace bloomery::inline v0::detail {
namespace {

// Keys of the first link when no number is given: 80 KB at 1 %.
constexpr std::uint64_t default_first_keys = 65'536;

constexpr double lowest_rate = 1e-9;

// The share of the rate that link i may use. Sums to 0.95 over all i.
double share(std::size_t link) {
  if (link == 0) return 0.7;
  const double i = static_cast<double>(link);
  return 0.25 * 6 / (std::numbers::pi * std::numbers::pi * i * i);
}

}  // namespace

Want BloomChain::link_want(const Want& want, std::size_t link) {
  const std::uint64_t first = want.keys == 0 ? default_first_keys : want.keys;
  return {.keys = first << std::min<std::size_t>(link, 50), .rate = want.rate * share(link)};
}

Result<BloomChain::Shape> BloomChain::plan(const Want& want) {
  if (auto sound =
          check_keys_and_rate({.keys = std::max<std::uint64_t>(want.keys, 1), .rate = want.rate});
      !sound)
    return sound.error();
  if (want.rate < lowest_rate)
    return Error{Code::impossible,
                 "a set that grows cannot go below a rate of 1e-9, since each link has only a "
                 "share of it; use blocked with a number of keys, or hash-set"};
  return BlockedBloom::plan(link_want(want, 0));
}

Result<Grown> BloomChain::grown(const Want& want, std::uint64_t keys) {
  Grown grown{.held = keys};
  double missed = 1;  // the chance that no link matches an absent key
  for (std::size_t link = 0; link == 0 || (keys > 0 && link < most_links); ++link) {
    const Want part = link_want(want, link);
    const auto shape = BlockedBloom::plan(part);
    if (!shape) return shape.error();
    const std::uint64_t held = std::min(keys, part.keys);
    keys -= held;
    grown.bytes += bytes(*shape);
    missed *= 1 - BlockedBloom::expected_rate(*shape, held);
  }
  grown.rate = 1 - missed;
  return grown;
}

Result<BloomChain> BloomChain::make(const Want& asked) {
  Want want = asked;
  const auto first = plan(want);
  const bool fits = want.memory_bytes == 0 || (first && bytes(*first) <= want.memory_bytes);
  // A guess, a missing rate, or a cap that the usual start exceeds: let the memory decide.
  if (want.keys != 0 || want.rate == 0 || !fits) {
    auto whole = complete<BloomChain>(want);
    if (!whole) return whole.error();
    want = *whole;
  }
  if (auto shape = plan(want); !shape) return shape.error();
  auto chain = std::make_unique<Chain>();
  chain->want = want;
  BloomChain set(std::move(chain));
  if (auto grown = set.grow(); !grown) return grown.error();
  return set;
}

Result<BloomChain> BloomChain::from_parts(Parts parts) {
  if (parts.form != Form::chain || parts.parts.empty() || parts.parts.size() > most_links)
    return Error{Code::mismatch, "the image does not hold a chain set"};
  auto chain = std::make_unique<Chain>();
  const Part& first = parts.parts[0];
  chain->want = {.keys = first.capacity, .rate = std::bit_cast<double>(first.state[0])};
  if (auto sound = check_keys_and_rate(chain->want); !sound) return sound.error();
  for (Part& part : parts.parts) {
    auto link = Link::from_part(std::move(part));
    if (!link) return link.error();
    const std::size_t count = chain->count;
    chain->links[count] = std::make_unique<Link>(std::move(*link));
    chain->count = count + 1;
  }
  return BloomChain(std::move(chain));
}

Parts BloomChain::parts() const {
  Parts parts;
  parts.form = Form::chain;
  for (std::size_t i = 0; i < links(); ++i) parts.parts.push_back(link(i).part());
  // The rate asked of the whole chain; each link has only its share.
  parts.parts[0].state[0] = std::bit_cast<std::uint64_t>(chain_->want.rate);
  return parts;
}

// The next link: twice the keys at its share of the rate. Where 64-bit hashes cannot hold that
// share for so many keys, more of what is left of the rate; where the cap has no room for so many
// keys, as many as fit. Nothing when neither helps.
std::optional<Want> BloomChain::next_want() const {
  Want next = link_want(chain_->want, links());
  double left = chain_->want.rate;
  for (std::size_t i = 0; i < links(); ++i) left -= link(i).rate_asked();
  while (!BlockedBloom::plan(next) && next.rate * 2 <= left / 2) next.rate *= 2;
  const auto shape = BlockedBloom::plan(next);
  if (!shape) return std::nullopt;
  const std::uint64_t cap = chain_->want.memory_bytes;
  if (cap == 0 || links() == 0 || bytes() + bytes(*shape) <= cap) return next;
  if (bytes() >= cap) return std::nullopt;
  const auto fitting = complete<BlockedBloom>({.rate = next.rate, .memory_bytes = cap - bytes()});
  // A link for a few keys more is not worth asking for ever after.
  if (!fitting || fitting->keys < capacity() / 16) return std::nullopt;
  return Want{.keys = fitting->keys, .rate = next.rate};
}

Result<void> BloomChain::grow() const {
  const std::size_t count = links();
  if (count == most_links) return full_error();
  const auto next = next_want();
  if (!next) {
    chain_->capped = true;  // from here on the last link is overfilled
    return {};
  }
  auto link = Link::make(*next);
  if (!link) return link.error();
  chain_->links[count] = std::make_unique<Link>(std::move(*link));
  chain_->count.store(count + 1, std::memory_order_release);
  return {};
}

bool BloomChain::wants_growth() const {
  return newest().adds() >= newest().most_adds() && !chain_->capped;
}

Added BloomChain::add(Hash hash) {
  for (std::size_t i = links() - 1; i-- > 0;)
    if (link(i).may_contain(hash)) return Added::seen;
  if (wants_growth()) {
    if (newest().may_contain(hash)) return Added::seen;
    if (auto grown = grow(); !grown) return Added::full;
  }
  return newest().add(hash);
}

Added BloomChain::add_shared(Hash hash) {
  for (;;) {
    // Read once: a link that is appended meanwhile must not hide the one before it.
    const std::size_t count = links();
    for (std::size_t i = count - 1; i-- > 0;)
      if (link(i).may_contain_shared(hash)) return Added::seen;
    Link& last = *chain_->links[count - 1];
    if (last.adds_shared() < last.most_adds() || chain_->capped) return last.add_shared(hash);
    if (last.may_contain_shared(hash)) return Added::seen;
    const Locked hold(chain_->growing);
    // Another thread may have grown the chain while this one waited.
    if (count == links())
      if (auto grown = grow(); !grown) return Added::full;
  }
}

bool BloomChain::may_contain(Hash hash) const {
  for (std::size_t i = links(); i-- > 0;)
    if (link(i).may_contain(hash)) return true;
  return false;
}

bool BloomChain::may_contain_shared(Hash hash) const {
  for (std::size_t i = links(); i-- > 0;)
    if (link(i).may_contain_shared(hash)) return true;
  return false;
}

// Same answers and same bytes as one by one: a group is added at once only if it cannot fill the
// newest link on the way.
Result<std::size_t> BloomChain::add_all(std::span<const Hash> hashes, bool* fresh) {
  std::size_t count = 0;
  std::array<bool, group_keys> older;
  std::array<Hash, group_keys> left;
  std::array<std::size_t, group_keys> place;
  std::array<bool, group_keys> is_new;
  for (std::size_t done = 0; done < hashes.size();) {
    const auto group = hashes.subspan(done, std::min(group_keys, hashes.size() - done));
    std::fill_n(is_new.begin(), group.size(), false);
    const std::size_t count_links = links();
    std::size_t lefts = group.size();
    for (std::size_t i = 0; i < lefts; ++i) left[i] = group[i], place[i] = i;
    // Each older link takes out what it has; the rest goes on to the next.
    for (std::size_t l = count_links - 1; l-- > 0 && lefts != 0;) {
      link(l).may_contain_all(std::span(left).first(lefts), older.data());
      std::size_t kept = 0;
      for (std::size_t i = 0; i < lefts; ++i)
        if (!older[i]) left[kept] = left[i], place[kept] = place[i], ++kept;
      lefts = kept;
    }
    if (!chain_->capped && newest().adds() + lefts > newest().most_adds()) {
      for (std::size_t i = 0; i < lefts; ++i) {
        const Added added = add(left[i]);
        if (added == Added::full) return full_error();
        is_new[place[i]] = added == Added::fresh;
      }
    } else {
      auto added = newest().add_all(std::span(left).first(lefts), older.data());
      if (!added) return added;
      for (std::size_t i = 0; i < lefts; ++i) is_new[place[i]] = older[i];
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      count += is_new[i];
      if (fresh != nullptr) fresh[done + i] = is_new[i];
    }
    done += group.size();
  }
  return count;
}

void BloomChain::may_contain_all(std::span<const Hash> hashes, bool* answers) const {
  newest().may_contain_all(hashes, answers);
  std::array<bool, group_keys> older;
  for (std::size_t l = links() - 1; l-- > 0;)
    for (std::size_t done = 0; done < hashes.size(); done += group_keys) {
      const auto group = hashes.subspan(done, std::min(group_keys, hashes.size() - done));
      link(l).may_contain_all(group, older.data());
      for (std::size_t i = 0; i < group.size(); ++i) answers[done + i] |= older[i];
    }
}

Result<void> BloomChain::unite(const BloomChain& other) {
  const std::size_t common = std::min(links(), other.links());
  for (std::size_t i = 0; i < common; ++i)
    if (auto fitting = link(i).fits(other.link(i)); !fitting) return fitting.error();
  std::uint64_t taken_over = 0;
  for (std::size_t i = common; i < other.links(); ++i) taken_over += other.link(i).bytes();
  const std::uint64_t cap = chain_->want.memory_bytes;
  if (cap != 0 && taken_over > cap - std::min(cap, bytes()))
    return Error{Code::full, "the united set would take " +
                                 detail::shown_bytes(bytes() + taken_over) + ", more than the " +
                                 detail::shown_bytes(cap) + " allowed"};
  for (std::size_t i = 0; i < common; ++i)
    if (auto united = chain_->links[i]->unite(other.link(i)); !united) return united.error();
  for (std::size_t i = common; i < other.links(); ++i) {
    auto link = Link::from_part(other.link(i).part());
    if (!link) return link.error();
    chain_->links[i] = std::make_unique<Link>(std::move(*link));
    chain_->count.store(i + 1, std::memory_order_release);
  }
  return {};
}

Result<void> BloomChain::intersect(const BloomChain&) {
  return Error{Code::unsound,
               "chain sets cannot be intersected: a key may be in different links of the two "
               "and would be lost; build both as blocked with the same number of keys instead"};
}

Result<void> BloomChain::clear() {
  const std::size_t before = links();
  chain_->count.store(1, std::memory_order_release);
  for (std::size_t i = 1; i < before; ++i) chain_->links[i].reset();
  chain_->capped = false;
  return newest().clear();
}

std::uint64_t BloomChain::bytes() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < links(); ++i) sum += link(i).bytes();
  return sum;
}

std::uint64_t BloomChain::capacity() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < links(); ++i) sum += link(i).capacity();
  return sum;
}

std::uint64_t BloomChain::adds() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < links(); ++i) sum += link(i).adds_shared();
  return sum;
}

double BloomChain::estimate() const {
  double sum = 0;
  for (std::size_t i = 0; i < links(); ++i) sum += link(i).estimate();
  return sum;
}

// An absent key is rejected only if every link rejects it.
double BloomChain::rate_now() const {
  double stopped = 0;  // logarithm, so that tiny rates do not drown in 1 - rate
  for (std::size_t i = 0; i < links(); ++i) stopped += real::log1p(-link(i).rate_now());
  return -real::expm1(stopped);
}

double BloomChain::expected_rate_now() const {
  double stopped = 0;
  for (std::size_t i = 0; i < links(); ++i) stopped += real::log1p(-link(i).expected_rate_now());
  return -real::expm1(stopped);
}

double BloomChain::fill_ratio() const {
  double ones = 0;
  for (std::size_t i = 0; i < links(); ++i)
    ones += link(i).fill_ratio() * static_cast<double>(link(i).bytes());
  return ones / static_cast<double>(bytes());
}

// An older link has too many keys after a union, or a few too many when several threads filled it
// at once. The second does no harm as long as the whole chain keeps its rate.
bool BloomChain::overfull() const {
  if (newest().overfull()) return true;
  for (std::size_t i = 0; i + 1 < links(); ++i)
    if (link(i).overfull()) return expected_rate_now() > rate_asked();
  return false;
}

Error BloomChain::full_error() const {
  return {Code::full, "the set cannot grow beyond its " + detail::shown_bytes(bytes()) +
                          ": the system does not give more memory"};
}

}  // namespace bloomery::inline v0::detail
