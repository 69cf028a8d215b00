#include <bloomery/redis/redis_set.hpp>

#include <sys/random.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include <bloomery/remote/redis_shards.hpp>

namespace bloomery::inline v0 {

using namespace detail;
namespace {

// New keys that the server need not know of yet.
constexpr std::uint64_t most_untold = 1000;

// With a random secret key.
Result<Hasher> fresh_hasher() {
  SecretKey key;
  static_assert(sizeof key == 16);
  if (::getrandom(&key, sizeof key, 0) != static_cast<ssize_t>(sizeof key))
    return Error{Code::io, "the system gives no random bytes for a hardened hash"};
  return Hasher::hardened(key);
}

}  // namespace

// -- making and finding ---------------------------------------------------------------------------

Result<RedisSet> RedisSet::open(const RedisAddress& address, const SecretKey* key) {
  auto epochs = RedisEpochs::connect(address);
  if (!epochs) return epochs.error();
  if (auto opened = epochs->open(key); !opened) return opened.error();
  return RedisSet(std::move(*epochs));
}

Result<bool> RedisSet::exists(const RedisAddress& address) {
  auto epochs = RedisEpochs::connect(address);
  if (!epochs) return epochs.error();
  return epochs->exists();
}

Result<RedisSet> RedisSet::open_or_make(const RedisAddress& address, const Wish& wish) {
  auto law = plan_redis_law(wish.want);
  if (!law) return law.error();
  const auto hasher = wish.hasher ? Result<Hasher>(*wish.hasher) : fresh_hasher();
  if (!hasher) return hasher.error();
  law->hasher = *hasher;
  law->key_is_elsewhere = wish.key_is_elsewhere;
  law->strip_cr = wish.strip_cr;
  law->normalisation = wish.normalisation;
  law->made_from = wish.made_from;
  auto epochs = RedisEpochs::connect(address);
  if (!epochs) return epochs.error();
  if (auto made = epochs->open_or_make(epochs->timed(*law)); !made) return made.error();
  return RedisSet(std::move(*epochs));
}

Result<RedisSet> RedisSet::upload(const RedisAddress& address, const RedisLaw& law,
                                  std::span<const std::byte> payload, std::uint64_t adds,
                                  KeyForm form, Overwrite overwrite) {
  if (payload.size() != law.shape.blocks * line_bytes)
    return Error{Code::mismatch, "the bytes are not those of a set of this shape"};
  auto epochs = RedisEpochs::connect(address);
  if (!epochs) return epochs.error();
  RedisLaw own = epochs->timed(law);
  own.making = RedisMaking::upload;
  if (auto done = epochs->replace(own, payload, adds, form, overwrite); !done) return done.error();
  return RedisSet(std::move(*epochs));
}

// Without the last keys the count on the server is only a little too low; a destructor must not
// fail, nor wait again for a server that did not answer.
RedisSet::~RedisSet() {
  if (epochs_.untold() > 0 && epochs_.epoch() > 0 && !epochs_.router().lost()) {
    const auto told = tell_adds();
    static_cast<void>(told.has_value());
  }
}

// -- keys -----------------------------------------------------------------------------------------

Result<RemoteCounts> RedisSet::add_all(std::span<const Hash> hashes, std::span<RemoteAdd> answers,
                                       KeyForm form) {
  assert((answers.empty() || answers.size() == hashes.size()) && "one answer for each key");
  std::fill(answers.begin(), answers.end(), RemoteAdd::not_done);
  if (hashes.empty()) return RemoteCounts{};
  if (auto noted = epochs_.note_form(form); !noted) return noted.error();
  RemoteCounts counts;
  std::vector<RemoteAdd> own;
  std::optional<Error> failed;
  for (std::size_t first = 0; first < hashes.size() && !failed; first += RedisBulk::keys_at_once) {
    const std::size_t count = std::min(RedisBulk::keys_at_once, hashes.size() - first);
    if (answers.empty()) own.assign(count, RemoteAdd::not_done);
    const auto into = answers.empty() ? std::span(own) : answers.subspan(first, count);
    const auto added = bulk_.add(epochs_, hashes.subspan(first, count), into.data(), form);
    if (!added) failed = added.error();
    const auto told = [&](RemoteAdd one) {
      return static_cast<std::uint64_t>(std::ranges::count(into, one));
    };
    counts.fresh += told(RemoteAdd::fresh);
    counts.in_doubt += told(RemoteAdd::in_doubt);
    bulk_.learn_repeats(into);
  }
  epochs_.count(counts.fresh);
  in_doubt_ += counts.in_doubt;
  if (failed) return *failed;
  if (auto waited = wait_for_replicas(); !waited) return waited.error();
  if (epochs_.untold() >= most_untold)
    if (auto told = tell_adds(); !told) return told.error();
  return counts;
}

Result<void> RedisSet::wait_for_replicas() {
  const unsigned replicas = address().rules.wait_replicas;
  if (replicas == 0) return {};
  auto waited = epochs_.router().wait_for_replicas(replicas);
  if (!waited)
    return Error{waited.error().code, address().shown() + ": " + waited.error().sentence};
  return {};
}

Result<RemoteCounts> RedisSet::add_all(std::span<const std::string_view> keys,
                                       std::span<RemoteAdd> answers) {
  hashes_.clear();
  for (const std::string_view key : keys) hashes_.push_back(law().hasher(key));
  return add_all(hashes_, answers, KeyForm::text);
}

Result<void> RedisSet::may_contain_all(std::span<const Hash> hashes, std::span<bool> answers,
                                       KeyForm form) {
  assert(answers.size() == hashes.size() && "one answer for each key");
  if (epochs_.form() != KeyForm::none)
    if (auto fits = epochs_.expect_form(form); !fits) return fits.error();
  for (std::size_t first = 0; first < hashes.size(); first += RedisBulk::keys_at_once) {
    const std::size_t count = std::min(RedisBulk::keys_at_once, hashes.size() - first);
    if (auto done = bulk_.ask(epochs_, hashes.subspan(first, count), answers.data() + first); !done)
      return done.error();
  }
  return {};
}

Result<void> RedisSet::may_contain_all(std::span<const std::string_view> keys,
                                       std::span<bool> answers) {
  hashes_.clear();
  for (const std::string_view key : keys) hashes_.push_back(law().hasher(key));
  return may_contain_all(hashes_, answers, KeyForm::text);
}

// -- the whole set --------------------------------------------------------------------------------

Result<void> RedisSet::clear() {
  RedisLaw law = epochs_.law();
  law.making = RedisMaking::reserve;
  return epochs_.replace(law, {}, 0, KeyForm::none, Overwrite::replace);
}

Result<void> RedisSet::clear(const Want& want) {
  auto law = plan_redis_law(want);
  if (!law) return law.error();
  law->hasher = epochs_.law().hasher;
  law->key_is_elsewhere = epochs_.law().key_is_elsewhere;
  law->strip_cr = epochs_.law().strip_cr;
  law->normalisation = epochs_.law().normalisation;
  law->made_from = epochs_.law().made_from;
  law->expires_at = epochs_.law().expires_at;
  return epochs_.replace(*law, {}, 0, KeyForm::none, Overwrite::replace);
}

Result<void> RedisSet::drop() { return epochs_.drop(); }
Result<void> RedisSet::tell_adds() { return epochs_.tell_adds(); }
Result<RedisSet::Estimate> RedisSet::estimate() { return estimate_shards(epochs_); }
Result<std::vector<std::byte>> RedisSet::download() { return download_shards(epochs_); }
Result<void> RedisSet::verify() { return verify_shards(epochs_); }

}  // namespace bloomery::inline v0
