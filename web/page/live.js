// The live view of `bloomery serve`: sets and running de-duplications over time. Shown only where a server answers.
//
// The page from a file or a static host may connect to nothing: its policy has `connect-src 'none'`. The server
// sends the same page with `connect-src 'self'` instead, and that is how the page knows that it may ask.

import { $, el, put, say, show } from "./dom.js";
import { LineChart } from "./chart.js";
import { groupOf } from "./kinds.js";
import { about, bytes, count, rate, real, seconds } from "./units.js";

const kept = 900;
const clock = (time) => new Date(time * 1000).toLocaleTimeString([], { hour12: false });

// Which columns of the history are drawn, for a set and for a run.
const drawn = {
  set: [
    ["keys", "keys", about],
    ["fill", "fill", (value) => `${real(value * 100)} %`],
    ["rate_now", "false-positive rate", rate],
  ],
  run: [
    ["lines_per_second", "lines a second", about],
    ["repeats", "repeats so far", about],
    ["expected_lost", "new lines probably lost", real],
  ],
};

export class LiveView {
  static async answers() {
    const policy = document.querySelector("meta[http-equiv=Content-Security-Policy]");
    if (!location.protocol.startsWith("http") || policy?.content.includes("connect-src 'none'")) return false;
    try {
      const reply = await fetch("api/status.json", { cache: "no-store" });
      return (reply.ok || reply.status === 401) && (reply.headers.get("content-type") ?? "").includes("json");
    } catch {
      return false;
    }
  }

  constructor() {
    this.series = new Map();
    this.cards = new Map();
    this.answered = -Infinity; // when the server last told its status without a stream
    this.state = el("p", { role: "status" }, el("span", { class: "status off" }, "Connecting ..."));
    this.host = el("div");
    put($("live"), this.state, this.host);
  }

  async enter() {
    if (this.events || this.begun) return;
    this.begun = true;
    if (!(await LiveView.answers())) {
      this.tell("This view needs a server: bloomery serve shows the same page with sets and runs as they change.", false);
      this.begun = false;
      return;
    }
    await this.history();
    await this.poll();
    this.listen();
  }

  async history() {
    const reply = await fetch("api/history.json", { cache: "no-store" });
    if (!reply.ok) return;
    for (const { id, time, ...columns } of (await reply.json()).series) {
      const points = time.map((at, i) => ({ time: at, ...Object.fromEntries(Object.entries(columns).filter(([, column]) => Array.isArray(column)).map(([name, column]) => [name, column[i]])) }));
      this.series.set(id, points);
    }
  }

  async poll() {
    const reply = await fetch("api/status.json", { cache: "no-store" });
    if (reply.status === 401) this.tell("This server wants its token: open its address with ?token= and the token", false);
    if (!reply.ok) return false;
    this.answered = performance.now();
    this.take(await reply.json());
    return true;
  }

  listen() {
    clearInterval(this.polling);
    this.polling = undefined;
    this.events = new EventSource("api/events");
    this.events.addEventListener("status", (event) => this.take(JSON.parse(event.data)));
    this.events.addEventListener("end", () => { this.events.close(); this.old("The server has ended. What you see is its last word."); });
    this.events.addEventListener("error", () => {
      const refused = this.events.readyState === EventSource.CLOSED && performance.now() - this.answered < 6000;
      if (!refused) this.old("The server does not answer; trying again. What you see is old.");
      if (this.events.readyState !== EventSource.CLOSED || this.polling) return;
      // No stream was free: ask now and then, and try for a stream again when the server answers.
      this.polling = setInterval(() => this.poll().then((good) => { if (good) this.listen(); }, () => {}), 5000);
    });
  }

  tell(text, good) {
    put(this.state, el("span", { class: `status ${good ? "" : "off"}` }, text));
  }

  old(text) {
    this.tell(text, false);
    this.host.classList.add("stale");
  }

  take(status) {
    this.host.classList.remove("stale");
    const text = `bloomery ${status.version}, up ${seconds(status.time - status.started)}, ${count(status.watchers)} ${status.watchers === 1 ? "watcher" : "watchers"}`;
    const shown = this.state.firstChild;
    if (shown.classList.contains("off")) this.tell(text, true);
    else say(shown, text);
    const there = new Set();
    for (const run of status.runs) this.one("run", run, status.time, there);
    for (const set of status.sets) this.one("set", set, status.time, there);
    for (const [id, card] of this.cards) if (!there.has(id)) { card.node.remove(); this.cards.delete(id); }
    if (there.size === 0) this.tell(`${text}; it watches nothing yet`, true);
  }

  one(of, thing, time, there) {
    there.add(thing.id);
    const points = this.series.get(thing.id) ?? [];
    if (!points.length || points.at(-1).time < time) points.push({ time, ...thing });
    if (points.length > 2 * kept) points.splice(1, points.length - kept);
    this.series.set(thing.id, points);
    const card = this.cards.get(thing.id) ?? this.lay(of, thing);
    (of === "run" ? showRun : showSet)(card, thing);
    for (const { name, chart } of card.charts) {
      const all = pieces(points, name);
      show(chart.host.parentElement, all.length > 0); // of a set whose bits are not read, the fill is not known
      chart.draw({ lines: all.map((piece) => ({ name: "", group: of === "run" ? "change" : "add", strong: true, points: piece })) });
    }
  }

  lay(of, thing) {
    const title = el("h2", {});
    const state = el("p", { class: "sentence" });
    const facts = el("dl", { class: "facts" });
    const bar = el("progress", { max: "1", hidden: true });
    const plots = el("div", { class: "live-charts" });
    const charts = drawn[of].map(([name, label, format]) => {
      const host = el("div");
      plots.append(el("div", {}, el("h3", {}, label), host));
      return { name, chart: new LineChart(host, { label: `${label} of ${thing.name} over time`, height: 160, x: { label: "", format: clock, tick: clock }, y: { label, min: 0, format } }) };
    });
    const node = el("section", { class: "card", "aria-label": thing.name }, title, state, bar, facts, plots);
    this.host.append(node);
    const card = { node, title, state, facts, bar, charts };
    this.cards.set(thing.id, card);
    return card;
  }
}

/** A gap where a look failed. */
function pieces(points, name) {
  const all = [[]];
  for (const point of points) {
    if (point[name] === null || point[name] === undefined) {
      if (all.at(-1).length) all.push([]);
    } else all.at(-1).push([point.time, point[name]]);
  }
  return all.filter((piece) => piece.length);
}

const or = (value, format, none = "unknown") => (value === null || value === undefined ? none : format(value));

function pairs(host, list) {
  const shown = list.filter(Boolean);
  if (host.children.length !== shown.length) put(host, shown.map(() => el("div", {}, el("dt", {}), el("dd", {}))));
  shown.forEach(([name, value], i) => { say(host.children[i].firstChild, name); say(host.children[i].lastChild, value); });
}

function progress(bar, share, label) {
  bar.hidden = share === null || share === undefined;
  if (bar.hidden) return;
  bar.value = Math.min(1, share);
  bar.setAttribute("aria-label", label);
}

function showSet(card, set) {
  say(card.title, `${set.name}${set.kind ? `, ${set.kind}` : ""}`);
  const grows = groupOf(set.kind) === "grow";
  const said = [
    set.live && `live, ${set.live_state}; ${count(set.log_keys)} keys in its log`,
    set.overfull && "overfull: it has more keys than it was planned for",
    set.facts_from === "head" && "its bits are not read: it is large, or they lie elsewhere",
  ].filter(Boolean);
  say(card.state, set.error ?? said.join("; "));
  card.state.className = `sentence ${set.error ? "wrong" : set.overfull ? "warn" : "soft"}`;
  progress(card.bar, grows || !set.capacity ? null : set.keys / set.capacity, "Keys of those planned");
  pairs(card.facts, set.error ? [] : [
    ["keys", or(set.keys, about)],
    ["planned for", grows ? "it grows" : or(set.capacity, about)],
    ["added a second", or(set.keys_per_second, about)],
    ["false positives now", or(set.rate_now, rate)],
    ["fill", or(set.fill, (fill) => `${real(fill * 100)} %`)],
    ["memory", or(set.bytes, bytes)],
  ]);
}

function showRun(card, run) {
  say(card.title, `${run.name}, ${run.state === "done" ? "done" : "running"}`);
  say(card.state, `process ${run.process}, ${seconds(run.seconds)}${run.kind ? `, ${run.kind}` : ""}`);
  progress(card.bar, run.share_done, "Input read");
  pairs(card.facts, [
    ["lines in", or(run.lines_in, about)],
    ["lines out", or(run.lines_out, about)],
    ["repeats", or(run.repeats, about)],
    ["lines a second", or(run.lines_per_second, about)],
    ["new lines probably lost", or(run.expected_lost, real)],
    ["memory of the set", or(run.memory_bytes, bytes)],
    ["memory of the process", or(run.resident_bytes, bytes)],
  ]);
}
