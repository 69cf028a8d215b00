#include "build_order.hpp"

#include <fmt/format.h>

#include <bloomery/detail/sets/kinds/blocked_bloom.hpp>
#include <bloomery/detail/sets/kinds/sharded.hpp>

#include <tools/cli/flags/suggest.hpp>
#include <tools/cli/input/once_each.hpp>
#include <tools/cli/input/source_text.hpp>
#include <tools/cli/report/units.hpp>
#include <tools/cli/sets/remote_set.hpp>
#include <tools/cli/sets/set_file.hpp>

#include "command.hpp"

namespace bloomery::cli {
namespace {

const KindRow& row_named(const std::string& name) {
  if (const KindRow* row = AnySet::find_row(name)) return *row;
  refuse(unknown_kind(name));
}

// --allow and the kind cascade belong together.
const KindRow& row_of(const BuildFlags& flags) {
  const KindRow& row = row_named(flags.kind.value_or(flags.allow.empty() ? "blocked" : "cascade"));
  if (row.two_lists && flags.allow.empty())
    refuse(fmt::format(
        "the kind {} is built from two lists; name the lines that must not match with --allow FILE",
        row.id.name));
  if (!row.two_lists && !flags.allow.empty())
    refuse(
        fmt::format("--allow makes a set of kind cascade, not {}; leave --kind out", row.id.name));
  return row;
}

void take_key_rules(Order& order, const BuildFlags& flags, bool strip_cr) {
  order.keys.cutter = cutter_of(flags.keys);
  order.keys.skip_bad = flags.keys.skip_bad;
  order.keys.empty = empty_keys_of(flags.keys);
  order.keys.empty_chosen = flags.keys.empty.has_value();
  order.lines = line_rules_of(flags.lines, order.keys.cutter);
  order.lines.strip_cr = strip_cr;
}

Order order_like(const BuildFlags& flags) {
  const bool more = flags.most_count || flags.removable || flags.kind || flags.size.keys ||
                    flags.size.rate || flags.size.memory || flags.range || flags.shards ||
                    flags.hash.seed || flags.hash.hardened || flags.lines.crlf;
  if (more)
    refuse(
        "--like takes kind, size, range, hash and key rules from a set file; leave --kind, "
        "--keys, --rate, --memory, --range, --most-count, --removable, --shards, --seed, "
        "--hardened "
        "and --crlf out");
  const SetFile like = open_set(*flags.like, flags.hash.key_file, Verify::header);
  if (!flags.allow.empty() || like.set.lists())
    refuse("a cascade cannot be united with another, so --like cannot be used with --allow");
  Order order;
  order.row = AnySet::find_row(like.set.kind().name);
  order.hasher = like.set.hasher();
  take_key_rules(order, flags, like.set.rules().strip_cr);
  order.keys.normalizer = normalizer_of(flags.keys, like.set, *flags.like);
  order.want.range = like.set.range().value_or(Range{});
  order.want.rate = like.set.rate_asked();
  if (like.set.kind() == Sharded::id)
    order.want.shards = like.set.parts().value().parts.at(0).count;
  // What grows has the shape of its first part, whatever it has grown to.
  order.want.keys = like.set.parts().value().parts.at(0).capacity;
  if (!order.row->grows) order.shape = like.set.shape_facts();
  for (const auto& [name, value] : order.shape) {
    if (name == "counter_bits") order.want.most_count = like.set.most_count();
    if (name == "selection") order.want.removal = value == "1";
  }
  return order;
}

}  // namespace

Flags build_flags(BuildFlags& flags) {
  return joined({
      {"-o,--output", "F", "the set file to make", &flags.output.path},
      {"-f,--force", "", "replace the set file if there is one", &flags.output.force},
      {"--kind", "KIND",
       fmt::format("one of {}; blocked by default", fmt::join(kind_names(), ", ")), &flags.kind},
      size_flags(flags.size, {.rate = "false-positive rate: 0.1%, 1e-3; 1e-6 by default"}),
      {"--range", "A..B", "bitmap and two-bit: which integers", &flags.range},
      {"--most-count", "N", "spectral: the highest count it keeps; 65535", &flags.most_count},
      {"--removable", "", "spectral: allow keys to be removed", &flags.removable},
      {"--multiset", "",
       "cuckoo: a line that comes again is one more copy, to be removed by itself",
       &flags.multiset},
      {"--live", "", "a live set: programs add to it and ask it at once, and nothing is rewritten",
       &flags.live},
      {"--shards", "N", "sharded: how many; each at most 64 KiB by default", &flags.shards},
      {"--like", "F", "kind, size, hash and key rules of this set file", &flags.like},
      {"--allow", "FILE",
       "lines that must not match; may be given several times; - is standard input", &flags.allow},
      line_flags(flags.lines),
      crlf_flag(flags.lines,
                "whether a carriage return at the end of a line is part of the key; strip"),
      key_flags(flags.keys, "they are left out and counted"),
      hash_flags(flags.hash),
      key_file_flag(flags.hash.key_file),
      {"-q,--quiet", "", "no report and no progress; warnings stay", &flags.quiet},
      {"--strict", "", "exit with 3 if the set became overfull", &flags.strict},
      speech_flags(flags.speech),
      progress_flag(flags.speech),
  });
}

namespace {

Order planned_order(const BuildFlags& flags) {
  const bool remote = flags.output.path && is_remote(*flags.output.path);
  if (remote && (flags.like || !flags.allow.empty() || flags.size.memory))
    refuse(
        "a set on a Redis server is of kind blocked, planned from its keys and --rate; leave "
        "--like, --allow and --memory out");
  if (flags.like) return order_like(flags);
  Order order;
  order.row = &row_of(flags);
  order.remote = remote;
  if (remote && order.row->id != BlockedBloom::id)
    refuse(fmt::format("a set on a Redis server is of kind blocked, not {}; leave --kind out",
                       order.row->id.name));
  order.want = want_of(flags.size);
  if (flags.shards && order.row->id != Sharded::id) refuse("--shards is for the kind sharded");
  if (flags.shards) order.want.shards = parse_keys("--shards", *flags.shards).value();
  order.hasher = hasher_of(flags.hash);
  take_key_rules(order, flags, crlf_of(flags.lines, Crlf::strip) == Crlf::strip);
  order.keys.normalizer = normalizer_of(flags.keys);
  if ((flags.most_count || flags.removable) && order.row->id.name != "spectral")
    refuse("--most-count and --removable are for the kind spectral");
  if (flags.most_count)
    order.want.most_count = parse_keys("--most-count", *flags.most_count).value();
  order.want.removal = flags.removable;
  if (order.row->input == InputForm::hashed) {
    if (flags.range) refuse("--range is for the kinds bitmap and two-bit");
    if (order.row->built && flags.size.keys)
      refuse(fmt::format("a {} set is built from all its lines and counts them; leave --keys out",
                         order.row->id.name));
    if (order.row->whole_hashes && flags.size.rate)
      refuse(fmt::format("the kind {} {}; leave --rate out", order.row->id.name,
                         order.row->exact ? "is exact" : "keeps whole hashes and has no rate"));
    // Memory without a rate: the rate is what memory and keys give, where keys are known.
    const bool rate_from_memory = order.want.memory_bytes > 0 && !order.row->grows;
    if (order.want.rate == 0 && !rate_from_memory && !order.row->whole_hashes)
      order.want.rate = default_rate;
    return order;
  }
  if (order.keys.normalizer)
    refuse(fmt::format("the kind {} holds integers, which have one spelling; leave --normalize out",
                       order.row->id.name));
  if (flags.size.keys || flags.size.rate)
    refuse(fmt::format(
        "the kind {} is exact and planned from its --range; leave --keys and --rate out",
        order.row->id.name));
  if (flags.range) order.want.range = parse_range("--range", *flags.range).value();
  return order;
}

}  // namespace

Order order_of(const BuildFlags& flags) {
  Order order = planned_order(flags);
  if (flags.multiset) expect_copies(*order.row);
  if (flags.live && order.remote)
    refuse("--live is for files; a set on a Redis server is shared anyway; leave it out");
  if (flags.live && (order.row->built || order.row->two_lists))
    refuse(
        fmt::format("a {} set is built from all its lines and takes no more, so it cannot be live; "
                    "leave --live out, or choose a kind that can be added to, such as blocked",
                    order.row->id.name));
  return order;
}

void note_rules(AnySet& set, const Order& order) {
  set.rules().strip_cr = order.lines.strip_cr;
  if (order.keys.normalizer) set.rules().normalisation = order.keys.normalizer->name();
  set.rules().made_from = source_text(order.keys.cutter, order.lines, WholeLines::list);
}

}  // namespace bloomery::cli
