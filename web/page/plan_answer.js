// The card with the answer: how much, which kind, why.

import { el, put } from "./dom.js";
import { timesText } from "./bench.js";
import { kinds } from "./kinds.js";
import { about, bytes, odds, rate, real } from "./units.js";

const exactly = 1e-20; // hashes of 128 bits: nobody will see two keys that have the same

export function noAnswer(card, sentence) {
  put(card, el("p", { class: "kind soft" }, "No plan yet"), el("p", { class: "why" }, sentence));
}

export function answerOf(card, plan) {
  const { report, row, best, state } = plan;
  const keys = row.keys ?? report.keys;
  const text = kinds[row.kind];
  const big = { memory: bytes(row.bytes), rate: row.rate === 0 ? "never wrong" : rate(row.rate), keys: `${about(keys)} keys`, fit: bytes(row.bytes) }[state.find];
  const recommended = best?.row === row;
  put(card,
    el("p", { class: "kind" }, recommended ? "Take " : "You chose ", el("strong", {}, row.kind), recommended ? null : best ? `; recommended is ${best.row.kind}` : ""),
    el("p", { class: "big" }, big),
    el("p", { class: "soft" }, `for ${about(keys)} keys${state.find === "rate" ? ` in ${bytes(row.bytes)}` : ""}, ${row.rate === 0 ? "and no wrong answer" : `and ${odds(row.rate)} strangers taken for a member`}`),
    recommended ? el("p", { class: "why" }, el("strong", {}, "Why: "), `${best.why}.`) : null,
    text ? el("p", { class: "why" }, el("strong", {}, `${row.kind}: `), `${text.what}.`) : null,
    row.lacks?.length ? el("p", { class: "warn-box" }, `It does not do what you asked for: it ${row.lacks.join(", and ")}.`) : null,
    best === null ? el("p", { class: "warn-box" }, "No single kind does all that you ticked; untick one, or use two sets.") : null,
    threeTimes(plan),
    el("dl", { class: "facts" },
      fact("bits a key", real(row.bits_per_key, 4)),
      fact("cache misses a question", text?.misses(row.rate) ?? "unknown"),
      fact("ns a key", timesText(row.kind), "add / ask, in bulk"),
      fact("floor for any set", row.rate > 0 ? `${real(Math.log2(1 / row.rate), 3)} bits` : "none", row.rate > 0 && row.bits_per_key ? `this is ${real(row.bits_per_key / Math.log2(1 / row.rate), 3)} times it` : null),
    ),
  );
}

function fact(name, value, small) {
  return el("div", {}, el("dt", {}, name), el("dd", {}, value, small ? el("small", {}, small) : null));
}

function threeTimes(plan) {
  const reply = plan.growth.get(plan.row.kind);
  return el("p", { class: "three" }, el("strong", {}, "With 3 times the keys: "), reply === undefined ? "…" : reply.error ?? `${beyond(reply.ok)}.`);
}

/** What three times the keys mean, in a few words. */
export function beyond(growth) {
  const point = growth.points.at(-1);
  switch (growth.beyond) {
    case "rate rises": return `the rate rises to ${rate(point.rate)}`;
    case "full": return `full: it refuses keys beyond ${about(point.held)}`;
    case "grows": return `grows to ${bytes(point.bytes)}${point.rate > exactly ? `, ${rate(point.rate)}` : ""}`;
    case "forgets": return `keeps the last ${about(point.held)}, forgets older ones`;
    case "rebuild": return "must be built again";
    default: return "still exact, same memory";
  }
}
