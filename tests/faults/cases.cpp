#include "cases.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace bloomery::faults {
namespace {

using Words = std::vector<std::string>;

// Lines, some of them twice: few, so that a run takes milliseconds.
Files plain_files() {
  Files files;
  for (int i = 0; i < 60; ++i) {
    files["in"] += fmt::format("line {}\n", i % 40);
    files["more"] += fmt::format("line {}\n", 30 + i % 20);
    files["numbers"] += fmt::format("{}\n", i * 7 % 40);
    files["few"] += fmt::format("{}\n", i % 4);
    files["sparse"] += fmt::format("{}\n", 1'000'003ULL * static_cast<unsigned>(i % 40));
    files["json"] += fmt::format("{{\"\\u0061\":{{\"b\":[\"x\\n{}\"]}},\"c\":{}}}\n", i % 20, i);
    files["urls"] += fmt::format("http://u{}@[::1]:80/%7ea?b=2&a=1\n", i % 9);
    files["csv"] += i == 0 ? "id,name\n" : fmt::format("{},\"n \"\"{}\"\"\"\n", i, i % 7);
    files["fields"] += fmt::format("{} x{} y\n", i, i % 9);
    files["allowed"] += i < 10 ? fmt::format("line {}\n", 100 + i) : "";
    files["utf16"] += std::string(i == 0 ? "\xff\xfe" : "") + static_cast<char>('a' + i % 5) +
                      std::string("\0\n\0", 3);
  }
  const std::string four(3, '\0');
  for (int i = 0; i < 40; ++i) {
    files["u32le"] += static_cast<char>(i * 5 % 32) + four;
    files["u64le"] += static_cast<char>(i * 5 % 32) + four + four + '\0';
  }
  files["key"] = "000102030405060708090a0b0c0d0e0f\n";
  return files;
}

// name of the file -> the run that makes it
struct Made {
  std::string name;
  Words words;
};

const std::vector<std::string> hashed_kinds = {
    "classic", "blocked", "split-block", "counting", "spectral", "cuckoo", "window",
    "fuse",    "ribbon",  "hash-set",    "scalable", "compact",  "chain",  "sharded"};
const std::vector<std::string> integer_kinds = {"bitmap", "two-bit"};
const std::vector<std::string> growing_kinds = {"classic",  "blocked", "split-block", "counting",
                                                "spectral", "cuckoo",  "window",      "hash-set",
                                                "scalable", "compact", "chain",       "sharded"};

bool needs_size(const std::string& kind) {
  return kind != "hash-set" && kind != "compact" && kind != "fuse" && kind != "ribbon";
}

Words build_words(const std::string& kind, const std::string& out) {
  Words words = {"build", "--kind", kind, "-o", out, "-q"};
  if (kind == "bitmap" || kind == "two-bit") {
    words.insert(words.end(), {"--range", "0..63", "numbers"});
    return words;
  }
  if (needs_size(kind)) words.insert(words.end(), {"-n", "200"});
  if (kind != "hash-set" && kind != "compact") words.insert(words.end(), {"-p", "1e-4"});
  words.push_back("in");
  return words;
}

// In the bytes of the file, and as a log.
const std::vector<std::string> live_kinds = {"blocked", "sharded", "compact", "chain", "counting"};

Words live_words(const std::string& kind, const std::string& out) {
  Words words = build_words(kind, out);
  words.insert(words.begin() + 1, "--live");
  return words;
}

std::vector<Made> made_by_runs() {
  std::vector<Made> all;
  for (const auto& kinds : {hashed_kinds, integer_kinds})
    for (const std::string& kind : kinds)
      all.push_back({kind + ".set", build_words(kind, kind + ".set")});
  all.push_back(
      {"other.set", {"build", "-o", "other.set", "-q", "-n", "200", "-p", "1e-4", "more"}});
  all.push_back({"cascade.set",
                 {"build", "-o", "cascade.set", "-q", "-p", "1e-2", "--allow", "allowed", "in"}});
  all.push_back(
      {"keyed.set", {"build", "-o", "keyed.set", "-q", "-n", "200", "--key-file", "key", "in"}});
  all.push_back({"large.set", {"build", "-o", "large.set", "-q", "-n", "5k", "-p", "1e-4", "in"}});
  all.push_back(
      {"json.set", {"build", "-o", "json.set", "-q", "-n", "200", "--json-key", ".c", "json"}});
  all.push_back(
      {"state.set", {"dedup", "--seed", "0", "--state", "state.set", "-o", "old.txt", "in"}});
  for (const std::string& kind : live_kinds)
    all.push_back({kind + ".live", live_words(kind, kind + ".live")});
  all.push_back(
      {"state.live",
       {"dedup", "--seed", "0", "--live", "--state", "state.live", "-o", "old.live.txt", "in"}});
  for (const char* const ending : {"gz", "bz2", "xz", "zst", "lz4"})
    all.push_back(
        {fmt::format("in.{}", ending), {"dedup", "-o", fmt::format("in.{}", ending), "in"}});
  return all;
}

void add_dedup_cases(std::vector<Case>& all) {
  const auto add = [&](std::string name, Words words, Words needs, Law law = Law::files,
                       std::string pipe = {}) {
    words.insert(words.begin(), "dedup");
    all.push_back({"dedup " + name, std::move(words), std::move(needs), law, std::move(pipe)});
  };
  add("plain", {"-T1", "in"}, {"in"});
  add("threads", {"-T2", "in"}, {"in"});
  add("pipe", {"-T1"}, {"in"}, Law::files, "in");
  add("two files", {"-T1", "in", "more"}, {"in", "more"});
  add("rate", {"-T1", "-p", "1e-6", "in"}, {"in"});
  add("exact", {"-T1", "--exact", "in"}, {"in"});
  add("memory", {"-T1", "-m", "64M", "in"}, {"in"});
  add("window", {"-T1", "--window", "10", "in"}, {"in"});
  add("out", {"-T1", "-o", "out", "in"}, {"in"});
  add("out threads", {"-T2", "-o", "out", "in"}, {"in"});
  add("out force", {"-T1", "-f", "-o", "out", "in", "more"}, {"in", "more", "out"});
  for (const char* const ending : {"gz", "bz2", "xz", "zst", "lz4"}) {
    const auto packed = fmt::format("in.{}", ending);
    add(packed, {"-T1", packed}, {packed});
    add("out." + std::string(ending), {"-T1", "-o", fmt::format("out.{}", ending), "in"}, {"in"});
  }
  add("packed pipe", {"-T1"}, {"in.gz"}, Law::files, "in.gz");
  add("utf-16", {"-T1", "utf16"}, {"utf16"});
  add("dups", {"-T1", "-D", "dups", "in"}, {"in"});
  add("in place", {"-T1", "--in-place", "in", "more"}, {"in", "more"});
  add("against set", {"-T1", "--against", "other.set", "in"}, {"in", "other.set"});
  add("against list", {"-T1", "--against", "more", "in"}, {"in", "more"});
  add("count", {"-T1", "--count", "in"}, {"in"});
  add("unique", {"-T1", "--unique", "in"}, {"in"});
  add("top", {"-T1", "--top", "3", "in"}, {"in"});
  add("distinct", {"-T1", "--distinct", "in"}, {"in"});
  add("keep last", {"-T1", "--keep", "last", "in"}, {"in"});
  add("keep last threads", {"-T2", "--keep", "last", "in"}, {"in"});
  add("repeated", {"-T1", "--repeated", "in"}, {"in"});
  add("json", {"-T1", "--json-key", ".a.b[0]", "json"}, {"json"});
  add("csv", {"-T1", "--csv", "--column", "name", "csv"}, {"csv"});
  add("fields", {"-T1", "-k", "2", "fields"}, {"fields"});
  add("url", {"-T1", "--normalize", "url", "urls"}, {"urls"});
  add("stats", {"-T1", "--stats", "--json", "-o", "out", "in"}, {"in"});
  add("state", {"-T1", "--seed", "0", "--state", "S", "in"}, {"in"}, Law::state);
  add("hardened state", {"-T1", "--state", "S", "in"}, {"in"}, Law::state);
  add("old state", {"-T1", "--state", "state.set", "more"}, {"more", "state.set"}, Law::state);
  add("state out", {"-T1", "--seed", "0", "--state", "S", "-o", "OUT", "in"}, {"in"},
      Law::state_and_output);
  add("state out checkpoints",
      {"-T1", "--seed", "0", "--state", "S", "-o", "OUT", "--checkpoint", "1ms", "in", "more"},
      {"in", "more"}, Law::state_and_output);
  add("old state out", {"-T1", "--state", "state.set", "-o", "old.txt", "more"},
      {"more", "state.set", "old.txt"}, Law::state_and_output);
}

void add_build_cases(std::vector<Case>& all) {
  const auto add = [&](std::string name, Words words, Words needs) {
    all.push_back({std::move(name), std::move(words), std::move(needs)});
  };
  for (const std::string& kind : hashed_kinds)
    add("build " + kind, build_words(kind, "out"), {"in"});
  for (const std::string& kind : integer_kinds)
    add("build " + kind, build_words(kind, "out"), {"numbers"});
  add("build cascade", {"build", "-q", "-o", "out", "-p", "1e-2", "--allow", "allowed", "in"},
      {"in", "allowed"});
  add("build sampled", {"build", "-o", "out", "in"}, {"in"});
  add("build force", {"build", "-q", "-f", "-o", "other.set", "-n", "100", "in"},
      {"in", "other.set"});
  add("build like", {"build", "-q", "-o", "out", "--like", "other.set", "in"}, {"in", "other.set"});
  add("build key file", {"build", "-q", "-o", "out", "-n", "100", "--key-file", "key", "in"},
      {"in", "key"});
  add("build json", {"build", "--json", "-o", "out", "--json-key", ".c", "-n", "100", "json"},
      {"json"});
  all.push_back(
      {"build pipe", {"build", "-q", "-o", "out", "-n", "100"}, {"in"}, Law::files, "in"});
  all.push_back({"build fuse pipe",
                 {"build", "-q", "-o", "out", "--kind", "fuse"},
                 {"in"},
                 Law::files,
                 "in"});
}

void add_change_cases(std::vector<Case>& all) {
  for (const std::string& kind : growing_kinds)
    all.push_back({"add " + kind, {"add", "-q", kind + ".set", "more"}, {kind + ".set", "more"}});
  for (const std::string& kind : integer_kinds)
    all.push_back({"add " + kind, {"add", "-q", kind + ".set", "few"}, {kind + ".set", "few"}});
  all.push_back({"add report", {"add", "blocked.set", "more"}, {"blocked.set", "more"}});
  all.push_back({"add keyed",
                 {"add", "-q", "--key-file", "key", "keyed.set", "more"},
                 {"keyed.set", "more", "key"}});
  for (const char* const kind : {"counting", "cuckoo"})
    all.push_back({fmt::format("remove {}", kind),
                   {"remove", "-q", fmt::format("{}.set", kind), "in"},
                   {fmt::format("{}.set", kind), "in"}});
}

void add_live_cases(std::vector<Case>& all) {
  for (const std::string& kind : live_kinds) {
    const std::string set = kind + ".live";
    all.push_back({"build live " + kind, live_words(kind, "out"), {"in"}});
    all.push_back({"add live " + kind, {"add", "-q", set, "more"}, {set, "in", "more"}, Law::live});
    all.push_back({"seal " + kind, {"seal", set}, {set, "in", "more"}, Law::live});
    all.push_back(
        {"unseal " + kind, {"unseal", kind + ".set"}, {kind + ".set", "in", "more"}, Law::live});
    all.push_back({"info live " + kind, {"info", set}, {set}});
    all.push_back({.name = "verify live " + kind,
                   .words = {"verify", set},
                   .needs = {set},
                   .tells_failures = true});
    all.push_back({"check live " + kind, {"check", set, "more"}, {set, "more"}});
  }
  all.push_back({"remove live counting",
                 {"remove", "-q", "counting.live", "few"},
                 {"counting.live", "in", "more", "few"},
                 Law::live});
  const Words dedup = {"dedup", "-T1", "--seed", "0", "--live", "--state", "S"};
  const auto add = [&](std::string name, Words more, Words needs, Law law) {
    more.insert(more.begin(), dedup.begin(), dedup.end());
    all.push_back({"dedup live " + name, std::move(more), std::move(needs), law});
  };
  // With what they know of their output.
  all.push_back({"seal state", {"seal", "state.live"}, {"state.live", "in", "more"}, Law::live});
  all.push_back({"unseal state", {"unseal", "state.set"}, {"state.set", "in", "more"}, Law::live});
  add("state", {"in"}, {"in"}, Law::state);
  add("exact state", {"--exact", "in"}, {"in"}, Law::state);
  add("state out", {"-o", "OUT", "in"}, {"in"}, Law::state_and_output);
  add("state out checkpoints", {"-o", "OUT", "--checkpoint", "1ms", "in", "more"}, {"in", "more"},
      Law::state_and_output);
  all.push_back({"dedup live old state",
                 {"dedup", "-T1", "--state", "state.live", "more"},
                 {"more", "state.live"},
                 Law::state});
}

void add_asking_cases(std::vector<Case>& all) {
  const auto add = [&](std::string name, Words words, Words needs, std::string pipe = {}) {
    all.push_back(
        {std::move(name), std::move(words), std::move(needs), Law::files, std::move(pipe)});
  };
  for (const auto& kinds : {hashed_kinds, Words{"cascade"}})
    for (const std::string& kind : kinds)
      add("check " + kind, {"check", kind + ".set", "more"}, {kind + ".set", "more"});
  for (const std::string& kind : integer_kinds)
    add("check " + kind, {"check", kind + ".set", "few"}, {kind + ".set", "few"});
  add("check invert", {"check", "-v", "blocked.set", "more"}, {"blocked.set", "more"});
  add("check which", {"check", "--which", "-s", "blocked.set", "-s", "other.set", "more"},
      {"blocked.set", "other.set", "more"});
  add("check verify", {"check", "--verify", "in", "blocked.set", "more"},
      {"blocked.set", "in", "more"});
  add("check count", {"check", "-c", "blocked.set", "more"}, {"blocked.set", "more"});
  add("check none", {"check", "blocked.set", "allowed"}, {"blocked.set", "allowed"});
  add("check quiet none", {"check", "-q", "blocked.set", "allowed"}, {"blocked.set", "allowed"});
  add("check list", {"check", "in", "more"}, {"in", "more"});
  add("check trust", {"check", "--trust", "--stats", "blocked.set", "more"},
      {"blocked.set", "more"});
  add("check out", {"check", "-o", "out.gz", "blocked.set", "more"}, {"blocked.set", "more"});
  add("check pipe", {"check", "blocked.set"}, {"blocked.set", "more"}, "more");
  add("check json", {"check", "--json-key", ".c", "json.set", "json"}, {"json.set", "json"});
  for (const char* const kind : {"counting", "spectral"})
    add(fmt::format("count {}", kind), {"count", fmt::format("{}.set", kind), "more"},
        {fmt::format("{}.set", kind), "more"});
  for (const auto& kinds : {hashed_kinds, integer_kinds, Words{"cascade"}})
    for (const std::string& kind : kinds)
      add("info " + kind, {"info", kind + ".set"}, {kind + ".set"});
  add("info measure", {"info", "--measure=1000", "blocked.set"}, {"blocked.set"});
  add("info json", {"info", "--json", "sharded.set"}, {"sharded.set"});
  for (const Words& flag : {Words{}, Words{"--json"}}) {
    Words words = {"verify", "blocked.set", "fuse.set"};
    words.insert(words.begin() + 1, flag.begin(), flag.end());
    all.push_back({.name = flag.empty() ? "verify" : "verify json",
                   .words = words,
                   .needs = {"blocked.set", "fuse.set"},
                   .tells_failures = true});
  }
  add("merge union", {"merge", "union", "-q", "-o", "out", "blocked.set", "other.set"},
      {"blocked.set", "other.set"});
  add("merge intersect", {"merge", "intersect", "-f", "-o", "out", "blocked.set", "other.set"},
      {"blocked.set", "other.set", "out"});
  add("fold", {"fold", "-q", "-o", "out", "large.set"}, {"large.set"});
}

void add_other_cases(std::vector<Case>& all) {
  const auto add = [&](std::string name, Words words, Words needs = {}, std::string pipe = {}) {
    all.push_back(
        {std::move(name), std::move(words), std::move(needs), Law::files, std::move(pipe)});
  };
  for (const char* const what : {"sort", "count", "once", "dups", "missing"}) {
    add(fmt::format("ints {}", what), {"ints", what, "--range", "0..63", "numbers"}, {"numbers"});
    add(fmt::format("ints {} sparse", what),
        {"ints", what, "--map", "sparse", "--range", "0..100", "numbers"}, {"numbers"});
    add(fmt::format("ints {} u32le", what),
        {"ints", what, "--range", "0..31", "--format", "u32le", "u32le"}, {"u32le"});
  }
  add("ints sort u64le", {"ints", "sort", "--range", "0..31", "--format", "u64le", "u64le"},
      {"u64le"});
  add("ints out", {"ints", "sort", "--range", "0..63", "-o", "out", "--stats", "numbers"},
      {"numbers"});
  add("ints pipe", {"ints", "sort", "--range", "0..63"}, {"numbers"}, "numbers");
  add("ints large sparse", {"ints", "sort", "--map", "sparse", "sparse"}, {"sparse"});
  add("plan", {"plan", "-n", "1M", "-p", "1%"});
  add("plan json", {"plan", "-n", "1M", "-m", "2M", "--json"});
  add("plan nodes", {"plan", "--nodes", "-n", "1e9", "-p", "1%"});
  for (const char* const shell : {"bash", "zsh", "fish"})
    add(fmt::format("completions {}", shell), {"completions", shell});
  add("man", {"man"});
  add("help", {"help", "dedup"});
  add("brief help", {"-h"});
  all.push_back({.name = "version", .words = {"--version"}, .needs = {}, .whole = true});
  all.push_back(
      {.name = "wrong flag", .words = {"dedup", "--stat", "in"}, .needs = {"in"}, .refused = true});
}

}  // namespace

Files made_files(const std::string& bloomery, Place& place) {
  Files files = plain_files();
  files["out"] = "the old output\n";
  place.put(files);
  for (const Made& made : made_by_runs()) {
    Words words = {bloomery};
    words.insert(words.end(), made.words.begin(), made.words.end());
    const Run run = place.run(words);
    if (run.exit != 0) throw std::runtime_error(made.name + " cannot be made: " + run.err);
  }
  return place.files();
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  add_dedup_cases(all);
  add_build_cases(all);
  add_change_cases(all);
  add_live_cases(all);
  add_asking_cases(all);
  add_other_cases(all);
  return all;
}

}  // namespace bloomery::faults
