// What is shown of one set file: its facts, a picture of its fill, and a place to ask it.

import { el, put, say } from "./dom.js";
import { kinds } from "./kinds.js";
import { drawHeat, drawHistogram } from "./picture.js";
import { snippet } from "./plan_lines.js";
import { about, bytes, count, odds, rate, real, seconds } from "./units.js";

const known = new Set(["kind", "keys", "keys_estimated", "capacity", "bytes", "bits_per_key", "fill", "rate_asked", "rate_now", "room_left", "overfull", "file_bytes", "uuid", "hash", "hardened", "key_form"]);

export async function showInspection(view, file, inspection, took) {
  const { info } = inspection;
  const picture = el("section", { class: "card" }, el("h2", {}, "How full it is"), el("p", { class: "soft" }, "Drawing ..."));
  put(view.shown, headline(file, info, took), inspection.in_pieces ? el("p", { class: "card warn-box" }, "It is larger than the browser lends this page at once. Every byte was verified, in pieces; what only all bits together tell is left to the command: bloomery info and bloomery check.") : null, el("div", { class: "columns" }, facts(info), asking(view, info, view.facts.get(info.kind)?.exact)), picture, raw(inspection));
  await showPicture(view, picture, info);
}

function headline(file, info, took) {
  const used = info.capacity > 0 && info.room_left !== null ? info.keys / info.capacity : null;
  const bar = used === null ? null : el("progress", { max: "1", value: Math.min(1, used), "aria-label": "Keys of those it was planned for" });
  return el("section", { class: "card" },
    el("h2", {}, file.name, " ", el("span", { class: "badge" }, info.kind)),
    el("p", {}, el("span", { class: "status" }, `Verified: every checksum of ${bytes(info.file_bytes)} fits`), el("span", { class: "soft", id: "verify-time" }, ` (${seconds(took)}, ${bytes(info.file_bytes / Math.max(took, 1e-6))} a second)`)),
    el("p", { class: "soft" }, `${kinds[info.kind]?.what ?? "a kind of set"}.`),
    bar,
    el("dl", { class: "facts" },
      fact("keys", about(info.keys), info.capacity > 0 && info.room_left !== null ? `planned for ${about(info.capacity)}` : "it grows"),
      fact("keys, by the bits", info.keys_estimated === null ? "unknown" : about(info.keys_estimated), "estimated from what is set"),
      fact("false positives now", rate(info.rate_now ?? NaN), info.rate_now > 0 ? odds(info.rate_now) : null),
      fact("planned rate", info.rate_asked === null ? "unknown" : rate(info.rate_asked)),
      fact("memory", bytes(info.bytes), info.bits_per_key === null ? null : `${real(info.bits_per_key, 4)} bits a key`)),
    info.overfull ? el("p", { class: "warn-box" }, `It is overfull: it holds more keys than it was planned for, so its rate is ${rate(info.rate_now ?? NaN)} and no longer ${rate(info.rate_asked ?? NaN)}. No key is forgotten. Build it again for more keys.`) : null);
}

function fact(name, value, small) {
  return el("div", {}, el("dt", {}, name), el("dd", {}, value, small ? el("small", {}, small) : null));
}

function facts(info) {
  const pairs = [
    ["kind", info.kind],
    ["fill", info.fill === null || info.fill === undefined ? "unknown" : `${real(info.fill * 100)} % of the bits`],
    ["room left", info.room_left === null ? "no limit" : `${count(info.room_left)} keys`],
    ["keys are", info.key_form],
    ["hash", `${info.hash}${info.hardened ? ", hardened" : ""}`],
    ...Object.entries(info).filter(([name]) => !known.has(name)).map(([name, value]) => [name.replaceAll("_", " "), typeof value === "number" ? (Number.isInteger(value) ? count(value) : real(value)) : String(value ?? "unknown")]),
    ["uuid", info.uuid],
  ];
  return el("section", { class: "card" }, el("h2", {}, "Shape"), el("dl", { class: "pairs" }, pairs.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])));
}

function asking(view, info, exact) {
  const answers = el("div", { role: "status", id: "answers" });
  const keys = el("textarea", { id: "ask-keys", rows: "4", spellcheck: "false", "aria-label": "Keys to ask for, one a line" });
  const run = async () => {
    const asked = keys.value.split("\n").filter((key) => key !== "");
    if (asked.length === 0) return put(answers, el("p", { class: "soft" }, "Type a key, one a line."));
    const reply = await view.ask(asked);
    if (reply.error) return put(answers, el("p", { class: "wrong sentence" }, reply.error));
    return put(answers, table(reply.ok));
  };
  const table = (rows) => el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Answers" }, el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "key"), el("th", { scope: "col" }, "answer"))),
    el("tbody", {}, rows.slice(0, 1000).map((row) => el("tr", {}, el("td", { class: "wide mono" }, row.key), el("td", { class: row.there ? "good" : "" }, answer(row, info)))))));
  return el("section", { class: "card" }, el("h2", {}, "Ask it"),
    el("p", { class: "note" }, `One ${info.key_form === "text" ? "key" : "number"} a line. ${exact ? "Its answers are exact." : info.rate_now > 0 ? `A stranger gets a maybe with a chance of ${rate(info.rate_now)}.` : ""}`),
    el("form", { onsubmit: (event) => { event.preventDefault(); run(); } }, keys, el("p", {}, el("button", { type: "submit", class: "main" }, "Ask"))), answers);
}

function answer(row, info) {
  const often = row.count === undefined ? "" : `, ${count(row.count)} times at most`;
  if (!row.there) return "surely not there";
  return row.surely ? `there${often}` : `maybe there${often}${info.rate_now > 0.5 ? ", which says little in a set so full" : ""}`;
}

async function showPicture(view, card, info) {
  const lines = Math.max(1, Math.ceil(info.bytes / 64)); // or about so many
  const columns = lines < 2048 ? 32 : 128;
  const rows = Math.min(64, Math.ceil(lines / columns));
  const reply = await view.picture({ rows, columns });
  if (reply.error) {
    put(card, el("h2", {}, "How full it is"), el("p", { class: "sentence" }, reply.error));
    return;
  }
  const picture = reply.ok;
  const unit = picture.unit_bits;
  const histogram = el("div", { class: "histogram" });
  const map = el("canvas", { class: "map", width: String(columns), height: String(rows), role: "img", "aria-label": `Regions of the set; ${real((picture.mean / unit) * 100)} % of the bits are set on average, the emptiest line has ${picture.emptiest.ones} of ${unit}, the fullest ${picture.fullest.ones}.` });
  put(card, el("h2", {}, "How full it is"),
    el("div", { class: "columns" },
      el("div", {}, el("h3", {}, `Lines of ${unit} bits by how many are set`), histogram,
        el("p", { class: "note" }, `${count(picture.units)} lines, ${real(picture.mean)} bits set on average. Bars: this set. Curve: what chance would give. A fuller right end means more false positives.`)),
      el("div", {}, el("h3", {}, "Regions, in the order of the file"), map,
        el("p", { class: "note", id: "map-note" }, `Emptiest line ${count(picture.emptiest.unit)}: ${picture.emptiest.ones} bits set; fullest line ${count(picture.fullest.unit)}: ${picture.fullest.ones}. An even colour is as it should be.`))));
  new ResizeObserver(() => histogram.clientWidth > 0 && drawHistogram(histogram, picture)).observe(histogram);
  drawHeat(map, picture);
  addEventListener("themechange", () => map.isConnected && drawHeat(map, picture));
  map.addEventListener("pointermove", (event) => {
    const box = map.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * columns);
    const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
    const share = picture.heat[row * columns + column];
    if (share !== undefined) say(card.querySelector("#map-note"), share === null ? "behind the end of the set" : `Here ${real(share * 100)} % of the bits are set; on average ${real((picture.mean / unit) * 100)} %.`);
  });
}

function raw({ json }) {
  return el("details", { class: "card" }, el("summary", {}, "As the command prints it"), snippet("bloomery verify --json", json.verify), snippet("bloomery info --json", json.info));
}
