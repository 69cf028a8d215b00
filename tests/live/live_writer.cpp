// Adds batches of keys to a live file until it is killed or done, and acknowledges each:
//
//    live_writer FILE KIND WRITER SEED BATCHES KEYS_A_BATCH none|interval|every LOG_BYTES
//
// Makes the file if it is not there. Told to end (SIGTERM), it closes it after a batch.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <bloomery/live.hpp>
#include <tests/live/live_keys.hpp>

namespace {

using namespace bloomery;

int fail(const Error& error) {
  std::fprintf(stderr, "live_writer: %s\n", error.sentence.c_str());
  return 2;
}

void say(const std::string& line) {
  if (::write(1, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::_Exit(3);
}

Result<void> make(const std::string& path, const std::string& kind, std::uint64_t log_bytes) {
  Want want{.keys = 4000, .rate = 1e-4};
  if (kind == "bitmap") want = {.range = {0, (1U << 20) - 1}};
  auto set = AnySet::make(kind, want);
  if (!set) return set.error();
  return create_live(path, *set, {.log_bytes = log_bytes});
}

Result<std::size_t> add(AnySet& set, const std::vector<std::uint64_t>& keys,
                        std::span<bool> fresh) {
  if (set.input() == InputForm::ordinal) {
    std::vector<Ordinal> ordinals;
    for (const std::uint64_t key : keys) ordinals.push_back(Ordinal{key});
    return set.add_all(std::span<const Ordinal>(ordinals), fresh);
  }
  std::vector<std::string> names;
  for (const std::uint64_t key : keys) names.push_back(live_test::name_of(key));
  const std::vector<std::string_view> views(names.begin(), names.end());
  return set.add_all(std::span<const std::string_view>(views), fresh);
}

}  // namespace

volatile std::sig_atomic_t is_told_to_end = 0;

int main(int argc, char** argv) {
  std::signal(SIGTERM, [](int) { is_told_to_end = 1; });
  if (argc != 9) return fail({Code::bad_input, "eight arguments are needed"});
  const std::string path = argv[1], kind = argv[2], durability = argv[7];
  const std::uint64_t seed = std::strtoull(argv[4], nullptr, 10);
  const std::uint64_t batches = std::strtoull(argv[5], nullptr, 10);
  const std::size_t keys_a_batch = std::strtoull(argv[6], nullptr, 10);
  // One that found the file says nothing: its maker may not be done.
  if (!std::filesystem::exists(path)) {
    const auto made = make(path, kind, std::strtoull(argv[8], nullptr, 10));
    if (!made && made.error().code != Code::exists) return fail(made.error());
    if (made) say("ready\n");
  }
  auto live = AnyLiveSet::open(path, {.durability = durability == "every"  ? Durability::every
                                                    : durability == "none" ? Durability::none
                                                                           : Durability::interval,
                                      .interval_ms = 1});
  if (!live) return fail(live.error());
  if (live->recovery().sync_failed) say("recovered from a failed sync\n");
  const auto room = std::make_unique<bool[]>(keys_a_batch);
  const std::span<bool> fresh(room.get(), keys_a_batch);
  for (std::uint64_t batch = 0; batch < batches && is_told_to_end == 0; ++batch) {
    const auto added = add(live->set(), live_test::keys_of(seed, batch, keys_a_batch), fresh);
    // A set that is full stays so until this program is killed.
    if (!added && added.error().code == Code::full) {
      while (is_told_to_end == 0) ::usleep(1000);
      break;
    }
    if (!added) return fail(added.error());
    std::string line = std::string(argv[3]) + " " + std::to_string(batch) + " ";
    for (const bool one : fresh) line += one ? '1' : '0';
    say(line + "\n");
  }
  if (auto closed = live->close(); !closed) return fail(closed.error());
  return 0;
}
