// One row for every kind.

import { $, el, show } from "./dom.js";
import { timesText } from "./bench.js";
import { groupOf, kinds } from "./kinds.js";
import { beyond } from "./plan_answer.js";
import { bytes, count, rate, real } from "./units.js";

export function showRows(table, plan, onpick) {
  const body = table.tBodies[0];
  if (!plan) {
    for (const row of body.rows) row.className = "unfit";
    for (const cell of body.querySelectorAll("td")) cell.textContent = "";
    return;
  }
  const keysVary = plan.report.kinds.some((row) => row.keys !== undefined);
  show(table.querySelector(".keys-column"), keysVary);
  const focused = document.activeElement?.dataset?.kind;
  body.replaceChildren(...plan.report.kinds.map((row) => rowOf(row, plan, keysVary, onpick)));
  if (focused) body.querySelector(`[data-kind="${CSS.escape(focused)}"]`)?.focus();
}

function rowOf(row, plan, keysVary, onpick) {
  const { kind } = row;
  const chosen = plan.row.kind === kind;
  const growth = plan.growth.get(kind);
  const pick = el("button", { type: "button", class: "pick", "data-kind": kind, "aria-pressed": String(chosen), title: kinds[kind]?.what, onclick: () => onpick(kind) },
    el("i", { class: `swatch ${groupOf(kind)}` }), kind, plan.best?.row === row ? el("span", { class: "badge" }, "recommended") : null);
  return el("tr", { class: `${chosen ? "chosen" : ""} ${row.lacks.length ? "unfit" : ""}`, title: row.lacks.join(", ") },
    el("th", { scope: "row" }, pick),
    el("td", { class: "num" }, row.bits_per_key === null ? "–" : real(row.bits_per_key, 4)),
    el("td", { class: "num", title: `${count(row.bytes)} bytes`, "data-bytes": row.bytes }, bytes(row.bytes)),
    keysVary ? el("td", { class: "num" }, count(row.keys)) : null,
    el("td", { class: "num" }, rate(row.rate)),
    el("td", { class: "num" }, kinds[kind]?.misses(row.rate) ?? "–"),
    el("td", { class: "num" }, timesText(kind)),
    el("td", { class: "wide" }, growth === undefined ? "…" : growth.error ?? beyond(growth.ok)));
}

export function showLeftOut(host, leftOut) {
  if (!leftOut?.length) {
    host.replaceChildren();
    return;
  }
  host.replaceChildren(el("details", {}, el("summary", {}, `${leftOut.length} ${leftOut.length === 1 ? "kind does" : "kinds do"} not fit`),
    el("ul", { class: "note" }, leftOut.map((row) => el("li", {}, el("strong", {}, row.left_out), `: ${row.why}`)))));
}
