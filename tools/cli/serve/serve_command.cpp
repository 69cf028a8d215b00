// `bloomery serve`: the page, and sets on disks and servers as they change.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <tools/cli/commands/command.hpp>
#include <tools/cli/flags/flags.hpp>
#include <tools/cli/report/report.hpp>
#include <tools/cli/report/units.hpp>

#include "blocked_signals.hpp"
#include "serve_flags.hpp"
#include "server.hpp"
#include "set_look.hpp"

namespace bloomery::cli {
namespace {

constexpr const char* default_listen = "127.0.0.1:8787";

struct ServeFlags {
  Word listen;
  Word token;
  Word token_file;
  std::vector<std::string> hosts;
  Word every;
  Word key_file;
  SpeechFlags speech;
  std::vector<std::string> sets;
};

const char* const story =
    R"(Serves a page that plans sets, looks inside set files and, for each SET, shows
its kind, keys, fill, false-positive rate and memory over time. A SET is a set file
(sealed or live), the state of a dedup that runs, or redis://... It may come later:
until it can be read, the page has the sentence that says why.

  /                   the page
  /api/status.json    what was seen last, under the names of info --json
  /api/history.json   numbers of the last 24 hours, older ones more sparsely
  /api/events         what is seen, as it is seen: server-sent events
  /metrics            for Prometheus

Files up to 64 MiB are read when they have changed; of larger ones only the head is
read, and there "facts_from" is "head": keys, and the rate by the formula. Whatever
takes long is looked at less often, so that looking takes at most a twentieth of
one core.

Read only, and for this machine only: another address needs a token, and every
request must be for this server (Host) and from its own page (Origin). Programs give
the token as Authorization: Bearer TOKEN; a browser opens http://ADDRESS/?token=TOKEN
once and keeps a cookie. A token on the command line can be read by others in the list
of processes; --token-file and BLOOMERY_TOKEN in the environment cannot.

SIGINT and SIGTERM end it. With --json the address is printed as {"url":...}.
A dedup shows itself: dedup --serve.

Exit codes: 0 it was ended, 2 error.

Examples:
  bloomery serve
  bloomery serve seen.bloom redis://localhost/0/seen
  bloomery serve --listen 0.0.0.0:8787 --token-file token.txt --host filters.example *.set
  curl -s http://127.0.0.1:8787/metrics
)";

ServeWish wish_of(const ServeFlags& flags) {
  ServeWish wish{.address = parse_listen_address("--listen", flags.listen.value_or(default_listen)),
                 .token = token_of(flags.token, flags.token_file),
                 .names = flags.hosts};
  if (flags.every) wish.every = parse_duration("--every", *flags.every).value();
  if (wish.every < std::chrono::milliseconds(100))
    refuse(fmt::format("--every does not take '{}'; give at least 100ms", *flags.every));
  expect_guarded("--listen", wish);
  return wish;
}

std::vector<std::shared_ptr<Source>> sources_of(const ServeFlags& flags) {
  std::vector<std::shared_ptr<Source>> sources;
  for (std::size_t i = 0; i < flags.sets.size(); ++i) {
    if (std::count(flags.sets.begin(), flags.sets.end(), flags.sets[i]) > 1)
      refuse(fmt::format("{} is named twice; name it once", flags.sets[i]));
    sources.push_back(
        std::make_shared<SetLook>(fmt::format("set{}", i + 1), flags.sets[i], flags.key_file));
  }
  return sources;
}

// For programs that started it on a free port.
void print_address(const Server& server) {
  Report report;
  report.text("url", server.url());
  print_out(report.as_json());
  std::fflush(stdout);
}

Exit run(const ServeFlags& flags, Messages& messages) {
  obey(flags.speech, messages);
  const BlockedSignals blocked;
  const Descriptor ending = blocked.descriptor();
  if (!ending.is_open()) refuse("the system gives no descriptor for signals");
  Server server(wish_of(flags), sources_of(flags));
  for (const std::string& sentence : server.board().look_once())
    messages.warning(fmt::format("{}; it is looked at again", sentence));
  if (flags.speech.json) print_address(server);
  messages.plain(server.address_line());
  const bool ended = server.run_until(ending.number());
  blocked.take(ending);
  if (!ended) {
    // A server that does not answer is waited for elsewhere; nothing is lost by not waiting.
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(Exit::good));
  }
  return Exit::good;
}

}  // namespace

Command serve_command() {
  auto flags = std::make_shared<ServeFlags>();
  return {
      .name = "serve",
      .summary = "a page that plans sets and shows them as they change; metrics",
      .usage = "serve [FLAGS] [SET...]",
      .story = story,
      .flags = joined({
          {"--listen", "ADDR", "address and port; 127.0.0.1:8787 by default, port 0: a free one",
           &flags->listen},
          {"--token", "T", "what requests must show; needed where other machines can ask",
           &flags->token},
          {"--token-file", "FILE", "the same, in the first line of a file", &flags->token_file},
          {"--host", "NAME",
           "a name of this machine that requests may be for; may be given several times",
           &flags->hosts},
          {"--every", "TIME", "how often sets are looked at: 500ms, 10s; 2s by default",
           &flags->every},
          key_file_flag(flags->key_file),
          speech_flags(flags->speech),
      }),
      .operands = {.rest = &flags->sets},
      .run = [flags](Messages& messages) { return run(*flags, messages); },
  };
}

}  // namespace bloomery::cli
