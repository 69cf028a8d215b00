// lines: what to copy for a planned set. Numbers and flags as people write them.
#include <fmt/format.h>

#include <array>
#include <string>

#include <bloomery/kinds.hpp>

#include <tools/cli/plans/plan_table.hpp>

#include "verbs.hpp"
#include "wants.hpp"

namespace bloomery::web {
namespace {

// The public name of a kind (kinds.hpp).
std::string_view type_of(std::string_view kind) {
  struct Named {
    KindId id;
    std::string_view type;
  };
  static constexpr std::array named = {
      Named{Bitmap::id, "Bitmap"},
      Named{TwoBitMap::id, "TwoBitMap"},
      Named{ClassicBloom::id, "ClassicBloom"},
      Named{BlockedBloom::id, "BlockedBloom"},
      Named{SplitBlock::id, "SplitBlock"},
      Named{CountingBloom::id, "CountingBloom"},
      Named{SpectralBloom::id, "SpectralBloom"},
      Named{Cuckoo::id, "Cuckoo"},
      Named{WindowBloom::id, "WindowBloom"},
      Named{BinaryFuse::id, "BinaryFuse"},
      Named{Ribbon::id, "Ribbon"},
      Named{Sharded::id, "Sharded"},
      Named{BloomChain::id, "BloomChain"},
      Named{HashSet::id, "HashSet"},
      Named{Scalable::id, "Scalable"},
      Named{Compact::id, "Compact"},
      Named{Cascade::id, "Cascade"},
  };
  for (const Named& one : named)
    if (one.id.name == kind) return one.type;
  return "BlockedBloom";
}

// 10000000 as "10'000'000" or "10_000_000".
std::string grouped(std::uint64_t number, char mark) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, mark);
  return digits;
}

// A word of a command line, as a shell reads it back.
std::string word(const std::string& text) {
  const bool plain = text.find_first_not_of(
                         "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%./_-") ==
                     std::string::npos;
  return plain ? text : "'" + text + "'";
}

std::string flag(const char* name, const cli::Typed& typed) {
  return typed ? fmt::format(" {} {}", name, word(*typed)) : "";
}

struct Facts {
  const cli::Planned& plan;
  const KindRow& row;
  cli::PlanText text;

  bool integers() const { return row.input == InputForm::ordinal; }
  // What the constructor needs: a hash-set has no rate, what grows needs no keys but is better
  // with them.
  bool has_rate() const { return !integers() && !row.whole_hashes; }
  std::string rate() const { return fmt::format("{}", plan.want.rate); }
  std::string keys(char mark) const { return grouped(plan.want.keys, mark); }
  std::string range(char mark) const {
    return fmt::format("{}, {}", grouped(plan.want.range.low, mark),
                       grouped(plan.want.range.high, mark));
  }
};

std::string plan_line(const Facts& facts) {
  return "bloomery plan" + flag("-n", facts.text.keys) + flag("-p", facts.text.rate) +
         flag("-m", facts.text.memory) + flag("--range", facts.text.range) +
         flag("--allow", facts.text.allow);
}

std::string build_line(const Facts& facts) {
  const std::string kind(facts.row.id.name);
  if (facts.row.two_lists)
    return fmt::format("bloomery build -p {} --allow allowed.txt -o {}.set blocked.txt",
                       facts.rate(), kind);
  std::string line = fmt::format("bloomery build --kind {}", kind);
  if (facts.integers())
    line += fmt::format(" --range {}..{}", facts.plan.want.range.low, facts.plan.want.range.high);
  // Static kinds count their keys themselves.
  else if (!facts.row.built)
    line += fmt::format(" -n {}", facts.plan.want.keys);
  if (facts.has_rate()) line += fmt::format(" -p {}", facts.rate());
  return line + fmt::format(" -o {}.set {}.txt", kind, facts.integers() ? "numbers" : "keys");
}

std::string cpp_want(const Facts& facts) {
  if (facts.integers()) return fmt::format("{{.range = {{{}}}}}", facts.range('\''));
  if (!facts.has_rate()) return fmt::format("{{.keys = {}}}", facts.keys('\''));
  return fmt::format("{{.keys = {}, .rate = {}}}", facts.keys('\''), facts.rate());
}

std::string cpp_lines(const Facts& facts) {
  const std::string_view type = type_of(facts.row.id.name);
  if (facts.row.two_lists)
    return fmt::format(
        "#include <bloomery/bloomery.hpp>\n\n"
        "const auto lists =\n"
        "    bloomery::Set<bloomery::Cascade>::build({{.rate = {}}}, blocked, allowed).value();\n"
        "if (lists.may_contain(key)) ...\n",
        facts.rate());
  const std::string head = "#include <bloomery/bloomery.hpp>\n\n";
  if (facts.row.built)
    return head + fmt::format(
                      "const auto set =\n"
                      "    bloomery::Set<bloomery::{}>::build({}, keys).value();\n"
                      "if (set.may_contain(key)) ...\n",
                      type, cpp_want(facts));
  const char* const use = facts.row.exact ? "contains" : "may_contain";
  return head + fmt::format(
                    "bloomery::Set<bloomery::{}> seen({});\n"
                    "if (seen.add(key)) ...   // true: surely new\n"
                    "if (seen.{}(key)) ...\n",
                    type, cpp_want(facts), use);
}

std::string python_lines(const Facts& facts) {
  const std::string kind(facts.row.id.name);
  const std::string head = "import bloomery\n\n";
  if (facts.row.two_lists)
    return head + fmt::format(
                      "lists = bloomery.Cascade(blocked, allowed, rate={})\n"
                      "key in lists\n",
                      facts.rate());
  std::string made;
  if (kind == "bitmap")
    made = fmt::format("bloomery.Bitmap({})", facts.range('_'));
  else if (facts.integers())
    made = fmt::format("bloomery.Set(range=({}), kind=\"{}\")", facts.range('_'), kind);
  else
    made =
        fmt::format("bloomery.Set({}{}, kind=\"{}\")", facts.row.built ? "keys" : facts.keys('_'),
                    facts.has_rate() ? ", rate=" + facts.rate() : "", kind);
  if (facts.row.built) return head + "held = " + made + "\nkey in held\n";
  return head + "seen = " + made + "\nseen.add(key)   # True: surely new\nkey in seen\n";
}

}  // namespace

Answer lines(const Request& request) {
  const auto plan = planned_kind(request);
  if (!plan) return plan.error();
  const Facts facts{*plan, *plan->row, plan_text_of(request)};
  Object reply;
  reply.set("plan", plan_line(facts)).set("command", build_line(facts));
  reply.set("check", fmt::format("bloomery check {}.set asked.txt", facts.row.id.name));
  reply.set("cpp", cpp_lines(facts)).set("python", python_lines(facts));
  return reply.text();
}

}  // namespace bloomery::web
