#include "remote_set.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <memory>

#include <bloomery/remote/redis_any_set.hpp>

#include <tools/cli/report/refuse.hpp>
#include <tools/cli/report/units.hpp>

namespace bloomery::cli {
namespace {

constexpr const char* password_variable = "BLOOMERY_REDIS_PASSWORD";

SetFile live(RedisSet set) {
  auto remote = std::make_shared<RedisSet>(std::move(set));
  const bool elsewhere = remote->law().key_is_elsewhere;
  return {any_set_of(remote, KeyForm::text), {}, elsewhere, {}, remote};
}

RedisSet opened(const std::string& url, const Word& key_file) {
  const RedisAddress address = remote_address(url);
  if (!key_file) return RedisSet::open(address).value();
  const SecretKey key = read_key_file(*key_file);
  return RedisSet::open(address, &key).value();
}

}  // namespace

bool is_remote(const std::string& path) { return is_redis_url(path); }

RedisAddress remote_address(const std::string& url) {
  RedisAddress address = parse_redis_url(url).value();
  const char* const password = std::getenv(password_variable);
  if (address.login.password.empty() && password != nullptr) address.login.password = password;
  return address;
}

SetFile open_live_set(const std::string& path, const Word& key_file, Verify verify) {
  return is_remote(path) ? live(opened(path, key_file)) : open_set(path, key_file, verify);
}

SetFile copy_remote_set(const std::string& url, const Word& key_file) {
  RedisSet remote = opened(url, key_file);
  return {local_copy_of(remote).value(), {}, remote.law().key_is_elsewhere};
}

SetFile join_remote_set(const std::string& url, const RedisSet::Wish& wish) {
  return live(RedisSet::open_or_make(remote_address(url), wish).value());
}

bool remote_exists(const std::string& url) { return RedisSet::exists(remote_address(url)).value(); }

std::uint64_t verify_remote_set(const std::string& url) {
  RedisSet set = opened(url, {});
  set.verify().value();
  return set.law().shards();
}

void expect_uploadable(const std::string& url, bool force) {
  if (remote_exists(url) && !force)
    refuse(fmt::format("{} exists; --force replaces it", remote_address(url).shown()));
}

SetFile upload_set(const std::string& url, const SetFile& built, Overwrite overwrite) {
  const Parts parts = built.set.parts().value();
  const Part& part = parts.parts.at(0);
  RedisLaw law =
      redis_law_of(decode_shape<BlockedBloom>(part.shape).value(), part.capacity, part.rate_asked);
  law.hasher = built.set.hasher();
  law.key_is_elsewhere = built.key_is_elsewhere;
  law.strip_cr = built.set.rules().strip_cr;
  law.normalisation = built.set.rules().normalisation;
  law.made_from = built.set.rules().made_from;
  auto uploaded = RedisSet::upload(remote_address(url), law, part.payload, part.adds,
                                   built.set.rules().form, overwrite);
  if (!uploaded && uploaded.error().code == Code::exists && overwrite == Overwrite::refuse)
    refuse(uploaded.error().sentence + "; --force replaces it");
  return live(std::move(uploaded).value());
}

void describe_remote(Report& report, const RedisSet& remote) {
  const RedisLaw& law = remote.law();
  report.text("server", remote.address().shown_server());
  report.flag("cluster", remote.router().is_cluster());
  report.count("masters", remote.router().masters().size());
  report.count("epoch", remote.epoch());
  report.count("shards", law.shards());
  report.bytes("largest_key_bytes", law.bytes_of(0));
  if (law.expires_at == 0) return report.text("expires", "never");
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  report.seconds("expires_in",
                 (static_cast<double>(law.expires_at) - static_cast<double>(ms)) / 1e3);
}

void warn_in_doubt(const RedisSet& remote, std::string_view what, Messages& messages) {
  if (remote.in_doubt() == 0) return;
  messages.warning(fmt::format(
      "{} lines are in doubt: the answer that said whether they were new was lost with a "
      "connection; {}",
      print_count(remote.in_doubt()), what));
}

}  // namespace bloomery::cli
