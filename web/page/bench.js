// Nanoseconds a key, from `bloomery bench --json`: measured ones that come with the page, or the user's own.

import built from "./bench.json";
import { about, real } from "./units.js";

let now = { ...built, own: false };

export function timesOf(kind) {
  return now.kinds[kind] ?? null;
}

export function timesText(kind) {
  const times = timesOf(kind);
  return times ? `${real(times.add)} / ${real(times.ask)}` : "not measured";
}

export function benchNote() {
  const whose = now.own ? "Your own bench" : "Measured on one machine";
  return `ns a key: to add / to ask, in bulk. ${whose}: ${now.cpu}, ${about(now.keys)} keys at ${Number((now.rate * 100).toPrecision(3))} %. Yours will differ; compare kinds, not machines.`;
}

/** Takes the text of a file; gives a sentence if it is not a bench. */
export function useBench(text) {
  let report;
  try {
    report = JSON.parse(text);
  } catch {
    return "This file is not JSON; make one with: bloomery bench --json > bench.json";
  }
  if (!Array.isArray(report?.kinds) || !report.kinds.some((row) => Array.isArray(row?.timings)))
    return "This JSON is not from bloomery bench; make one with: bloomery bench --json > bench.json";
  now = { ...trimmed(report), own: true };
  return null;
}

export function trimmed(report) {
  const kinds = {};
  for (const row of report.kinds) {
    const ns = (operation) => row.timings?.find((timing) => timing.operation === operation)?.ns;
    const add = ns("add_all") ?? ns("build");
    const ask = ns("ask_all_hit");
    if (Number.isFinite(add) && Number.isFinite(ask)) kinds[String(row.kind)] = { add: Number(add.toPrecision(3)), ask: Number(ask.toPrecision(3)) };
  }
  return { cpu: String(report.cpu ?? "unknown CPU"), keys: Number(report.keys), rate: Number(report.rate_asked), kinds };
}
