#include "dedup_flags.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>

#include <tools/cli/report/refuse.hpp>
#include <tools/cli/report/units.hpp>
#include <tools/cli/sets/remote_set.hpp>

namespace bloomery::cli {
namespace {

bool is_same_file(const std::string& one, const std::string& other) {
  std::error_code unseen;
  if (one == "-") return std::filesystem::equivalent("/proc/self/fd/0", other, unseen);
  // What is there is known by its number; a pipe (/dev/fd/63) has no path.
  if (std::filesystem::exists(one, unseen) && std::filesystem::exists(other, unseen))
    return std::filesystem::equivalent(one, other, unseen);
  return full_path(one) == full_path(other);
}

// What a set that others share cannot be.
void expect_shareable(const DedupFlags& flags) {
  if (flags.exact || flags.window || flags.size.memory)
    refuse(
        "a set on a Redis server is neither exact nor a window, and its size is planned from "
        "--keys and --rate; leave --exact, --window and --memory out");
  if (flags.repeated)
    refuse(
        "--repeated cannot be used with a set on a Redis server: what others have printed would be "
        "reported as repeats of this run; use --dups");
  if (flags.checkpoint)
    refuse("a set on a Redis server remembers every line at once; leave --checkpoint out");
}

void expect_together(const DedupFlags& flags) {
  if (flags.state && is_remote(*flags.state)) expect_shareable(flags);
  if (flags.live && flags.state && is_remote(*flags.state))
    refuse("--live is for files; a set on a Redis server is shared anyway; leave it out");
  if (flags.live && !flags.state)
    refuse("--live makes a state in a file that several runs use at once; name it with --state F");
  if (flags.live && (flags.size.memory || flags.window))
    refuse(
        "--live: a state that several runs use at once grows with what all of them add, and "
        "forgets nothing; leave --memory and --window out");
  if (flags.checkpoint && !flags.state)
    refuse("--checkpoint saves a state; name it with --state F");
  if (flags.checkpoint && flags.keys.skip_bad)
    refuse(
        "--checkpoint cannot be used with --skip-bad: lines without a key are not remembered, and "
        "a resumed run would print them again");
  if (flags.checkpoint && (flags.repeated || flags.dups))
    refuse(
        "--checkpoint cannot be used with --repeated or --dups: a resumed run would take what it "
        "had read before for repeats");
  if (flags.token_file && !flags.serve)
    refuse("--token-file is what requests to --serve must show; give --serve, or leave it out");
  const bool prints = !flags.in_place && (!flags.output.path || *flags.output.path == "-");
  if (flags.dups && *flags.dups == "-" && prints)
    refuse(
        "--dups - would mix the repeats with the other lines; give -o a file, or use --repeated");
  if (flags.state)
    refuse_compressed(flags.output.path,
                      "with --state it is resumed where it ends; give it a name that is not "
                      "compressed");
  if (flags.size.memory)
    for (const Word& path : {flags.output.path, flags.dups})
      refuse_compressed(path,
                        "that takes memory beside --memory; pipe the lines through a "
                        "compressor instead");
  if (!flags.in_place) return;
  if (flags.state)
    refuse(
        "--in-place and --state exclude each other: a second run would find every line in the "
        "state, and empty the files; use --output");
  if (flags.output.path || flags.repeated)
    refuse("--in-place writes the kept lines back; leave --output and --repeated out");
  if (flags.files.empty()) refuse("--in-place needs the files to replace");
  std::map<std::pair<dev_t, ino_t>, std::string> seen;
  for (const std::string& path : flags.files) {
    if (!is_plain_file(path))
      refuse(fmt::format("--in-place replaces files, and {} is not a file", path));
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) continue;  // told by who reads it
    const auto [before, first] = seen.try_emplace({facts.st_dev, facts.st_ino}, path);
    if (!first)
      refuse(
          fmt::format("{} and {} are one file: all its lines would be repeats the second time; "
                      "name it once",
                      before->second, path));
  }
}

// Refuses two names for one file where the one would be lost to the other.
void expect_apart(const DedupFlags& flags) {
  struct Named {
    std::string flag;
    std::string path;
  };
  std::vector<Named> written;
  std::vector<std::string> inputs = flags.files;
  if (inputs.empty()) inputs.push_back("-");
  if (flags.state && !is_remote(*flags.state)) written.push_back({"--state", *flags.state});
  if (flags.output.path && *flags.output.path != "-")
    written.push_back({"--output", *flags.output.path});
  if (flags.dups && *flags.dups != "-") written.push_back({"--dups", *flags.dups});
  std::vector<std::string> read;
  for (const std::string& path : flags.against)
    if (!is_remote(path) && path != "-") read.push_back(path);
  if (flags.hash.key_file) read.push_back(*flags.hash.key_file);
  for (std::size_t i = 0; i < written.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      if (is_same_file(written[i].path, written[j].path))
        refuse(fmt::format("{} and {} name the same file, {}", written[j].flag, written[i].flag,
                           written[i].path));
    for (const std::string& path : read)
      if (is_same_file(path, written[i].path))
        refuse(fmt::format("{} is read by this command; give {} another name", written[i].path,
                           written[i].flag));
    for (const std::string& path : inputs)
      if (is_same_file(path, written[i].path))
        refuse(fmt::format("{} is an input; give {} another name{}", written[i].path,
                           written[i].flag,
                           written[i].flag == "--output" && !flags.state
                               ? ", or use --in-place to replace the file"
                               : ""));
  }
}

}  // namespace

const char* const dedup_story =
    R"(Lines come out in the order they came in, while they come in. A line is
remembered as its 64-bit hash, in 7.5 to 11.3 bytes. A new line is lost when all
64 bits agree with those of another: 0.03 lines of a thousand million.
--exact remembers 128-bit hashes, 19 to 25 bytes a line, and loses nothing (use
--exact --hardened if somebody may choose lines to collide). --rate takes a Bloom
filter instead, 4 bytes a line at 1e-6, and loses new lines with at most that
chance. The report tells how many lines were probably lost; from half a line on
there is a warning.

The set grows as lines come; nobody needs to know how many. (With --rate, files
are sampled to size it, unless --keys is given.) --memory is a hard cap on the
whole program, but for a line longer than 256 KiB, which is held whole beside it.
If the lines do not fit, files are refused before anything is printed. A pipe that
brings more than fits is an error at that moment, with --rate a warning.
--strict makes it exit code 3 when the set is overfull, and whenever half a line
or more was probably lost, by it or by a set of --against.

--state F keeps the set in a file: lines that an earlier run printed are repeats.
With --output the two always agree. F is saved every 60 seconds (--checkpoint),
after the output was synced, with the length of the output in it; a run that was
killed is run again with the same arguments, cuts the output to that length and goes
on, and what comes out is the same. A later run with the same F and the same
output goes on behind what is there. Without --output F is saved at the end, or
at each --checkpoint. A new F has a keyed hash with a fresh secret key, so that
nobody who cannot read it can choose lines that collide; --seed takes the fast one.

--live begins a state that any number of runs on this machine use at once: each
line is printed by exactly one of them. A checkpoint then costs what was added since
the last one, not the size of F. A run that is killed is run again with the same
arguments: lines that it had added, and that are not in its output, come again.

--state redis://[:password@]host[:port]/database/name shares the set with other
runs, on a Redis server or Redis Cluster: of all workers that read a line exactly
one prints it. The first makes the set, for --keys (at least 1M by itself): it
does not grow. Lines go behind what is in --output. When the server is gone for
10 s (?timeout=5s behind the name), the run ends with exit code 2; every line the
set has was printed, and the same command continues. Lines whose answer was lost are
printed and counted as in_doubt. A worker that is killed with -9 may have added
lines that it did not print. The password may stand in BLOOMERY_REDIS_PASSWORD.

--window N forgets: a line is a repeat if it came among the last N different
ones; --window 24h: if it came in that time (with --keys, the most lines in it).

--distinct prints one number: how many lines dedup would print. --count prints
COUNT, a tab and the first line of each key, in the order of these; --top N the N
most frequent, most frequent first. --unique prints the lines that came exactly
once; --keep last the last of equal lines instead of the first, in its place. All
but --distinct are exact: they go by 128-bit hashes, 35 to 46 bytes of memory for
each different line, and print when all was read. Lines wait in memory, or beyond
16 MiB in a file without a name in TMPDIR, at most three times the different lines.

The key of a line is the whole line, or a part of it (--field, --csv, --json-key),
spelled in one way if wanted (--normalize); what is printed is the line as it came,
but UTF-16 as UTF-8, and without a byte order mark. Lines whose key is empty or null
are not repeats of each other (--empty). A CSV header is printed once. --against F
drops what a set file has, by the spelling that is stored in F; or what a plain text
list has, compressed or not, whose lines are keys as they are, in the spelling of
this run.

--serve shows the run while it works, on 127.0.0.1 and a port that is told: lines in and
out, repeats, memory, what was probably lost, over time; 'bloomery serve --help' has
what and to whom. --serve=ADDRESS:PORT listens elsewhere, with --token-file (or
BLOOMERY_TOKEN) where other machines can ask.

The report (--stats, --json, or when standard error is a terminal):
  lines_in, lines_out, repeats, memory_bytes, rate_now, expected_lost, seconds,
  bytes_in; with --count, --unique and --keep last also distinct, spool_bytes

Exit codes: 0 good, 2 error; 3, with --strict, the set is overfull or half a line or
more was probably lost.

Examples:
  bloomery dedup access.log > once.log
  bloomery dedup --stats *.gz > once.txt
  bloomery dedup --exact -o unique.txt names.txt
  bloomery dedup -i names.txt                   # only the repeats
  bloomery dedup --top 10 names.txt             # the most frequent, with counts
  bloomery dedup --keep last --csv --column id changes.csv
  bloomery dedup --state seen.bloom -o new.txt today.txt
  bloomery dedup --against blocked.bloom mails.txt
  bloomery dedup --state redis://localhost/0/seen -n 10M part1.txt
  bloomery dedup --csv --column email --normalize email people.csv
  tail -f log | bloomery dedup --window 24h -n 10M
  bloomery dedup --serve=127.0.0.1:8787 -o once.log *.log.gz
  find . -print0 | bloomery dedup -0
)";

Flags dedup_flags(DedupFlags& flags) {
  return joined({
      size_flags(flags.size,
                 {.rate = "a Bloom filter: smaller, with this chance that a new line is lost",
                  .memory = "most memory for the whole program: 512M, 2G (binary units)"}),
      {"--exact", "", "lose no line; 19 to 25 bytes of memory for each different one",
       &flags.exact},
      {"-i,--repeated", "", "print the repeats instead of the first ones", &flags.repeated},
      {"-D,--dups", "FILE", "write the repeats to this file as well", &flags.dups},
      {"--state", "F", "remember lines in this set file from run to run", &flags.state},
      {"--live", "", "a new state that several runs use at once, each line printed by one of them",
       &flags.live},
      {"--checkpoint", "TIME",
       "how often the state is saved: 60s, 5min; 60s by default with --output", &flags.checkpoint},
      {"--against", "F",
       "drop the lines that this set file, or plain list, has; may be given several times",
       &flags.against},
      {"--window", "N|TIME", "forget lines after so many others, or so much time: 10M, 24h",
       &flags.window},
      tally_flags(flags.tally),
      {"--in-place", "", "replace each file by its lines that did not come before",
       &flags.in_place},
      {"-T,--threads", "N", "how many; the same lines come out with any; 0, the default: all cores",
       &flags.threads},
      line_flags(flags.lines),
      crlf_flag(flags.lines,
                "whether a carriage return at the end of a line counts (keep, the default) or two "
                "lines that differ only in it are the same (strip)"),
      key_flags(flags.keys, "they are printed, and counted"),
      same_keys_flag(flags.keys),
      output_flags(flags.output),
      hash_flags(flags.hash),
      key_file_flag(flags.hash.key_file),
      {"--stats", "", "the report on standard error", &flags.stats},
      {"-q,--quiet", "", "no report and no progress; warnings stay", &flags.quiet},
      {"--strict", "",
       "exit with 3 if the set became overfull or half a line or more was probably lost",
       &flags.strict},
      speech_flags(flags.speech),
      progress_flag(flags.speech),
      {"--serve", "[ADDR]",
       "show this run in a browser and to Prometheus, on a free port by default", &flags.serve},
      {"--token-file", "FILE", "what requests must show, where other machines can ask",
       &flags.token_file},
  });
}

bool is_plain_file(const Word& path) {
  if (!path || *path == "-") return false;
  // Our own descriptors, whatever they are; /dev/shm has files like any other place.
  if (path->starts_with("/dev/std") || path->starts_with("/dev/fd/")) return false;
  std::error_code unseen;
  const auto status = std::filesystem::status(*path, unseen);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

std::string full_path(const std::string& path) {
  std::error_code unseen;
  const auto absolute = std::filesystem::absolute(path);
  const auto canonical = std::filesystem::weakly_canonical(absolute, unseen);
  return (unseen ? absolute : canonical).string();
}

void expect_fitting(const DedupFlags& flags) {
  expect_tallies(flags);
  expect_together(flags);
  expect_apart(flags);
}

Threads threads_of(const DedupFlags& flags) {
  if (!flags.threads || *flags.threads == "0") return {0};
  const auto count = parse_keys("--threads", *flags.threads);
  if (!count || *count > most_threads)
    refuse(fmt::format("--threads does not take '{}'; give a number from 0 (all cores) to {}",
                       *flags.threads, most_threads));
  return {static_cast<unsigned>(*count)};
}

}  // namespace bloomery::cli
