// Set files that a person drops or chooses: verified, looked at, asked, compared. All of it here in the browser.

import { $, announce, el, put, say, show } from "./dom.js";
import { showInspection } from "./inspect_shown.js";
import { bytes, seconds } from "./units.js";

export class InspectView {
  constructor(engine, facts) {
    this.engine = engine;
    this.facts = facts;
    this.file = null;
    this.turn = 0;
    this.lay();
  }

  enter() {}

  lay() {
    this.drop = el("div", { class: "drop" },
      el("p", {}, el("strong", {}, "Drop a set file here")),
      el("p", {}, el("label", { class: "file-button" }, el("input", { type: "file", id: "set-file", "aria-describedby": "drop-note" }), el("span", {}, "Choose a file"))),
      el("p", { class: "note", id: "drop-note" }, "made by bloomery build, by C++, Python or Redis. Drop a second one to see whether the two can be merged."));
    this.job = el("div", { class: "card", hidden: true, role: "group", "aria-label": "Verification" },
      el("p", { id: "job-text", role: "status" }),
      el("progress", { id: "job-bar", max: "1", value: 0, "aria-label": "Read so far" }),
      el("p", {}, el("button", { type: "button", id: "job-cancel", onclick: () => this.cancel?.abort() }, "Cancel")));
    this.shown = el("div", { id: "inspected" });
    this.pair = el("div", { id: "compared", "aria-live": "polite" });
    $("inspect").replaceChildren(this.drop, this.job, this.pair, this.shown);
    $("set-file").addEventListener("change", (event) => { this.take([...event.target.files]); event.target.value = ""; });
  }

  /** Files are held over the page. */
  over(yes) {
    this.drop.classList.toggle("over", yes);
  }

  /** The first file is looked at; a second one, now or later, is compared with it. */
  async take(files) {
    if (files.length === 0) return;
    this.cancel?.abort();
    if (files.length > 1 || this.file === null) {
      put(this.pair);
      const good = await this.open(files[0]);
      if (good && files.length > 1) await this.compare(files[0], files[1]);
      return;
    }
    await this.compare(this.file, files[0]);
  }

  async open(file) {
    ++this.turn;
    this.opened?.close();
    this.file = null;
    put(this.shown);
    this.cancel = new AbortController();
    const mine = this.cancel;
    this.opened = this.engine.open(file);
    const watching = this.watch(file, mine.signal);
    const begun = performance.now();
    try {
      const reply = await this.opened.inspect(watching);
      if (mine !== this.cancel) return false;
      show(this.job, false);
      if (reply.error) {
        put(this.shown, el("section", { class: "card bad", role: "alert" }, el("h2", {}, file.name), el("p", { class: "sentence" }, reply.error)));
        return false;
      }
      this.file = file;
      const took = (performance.now() - begun) / 1000;
      announce(`${file.name} is verified`);
      await showInspection(this, file, reply.ok, took);
      return mine === this.cancel;
    } catch (error) {
      if (mine !== this.cancel) return false; // another file has taken its place
      show(this.job, false);
      if (error?.name !== "AbortError") throw error;
      put(this.shown, el("p", { class: "card" }, `Cancelled. Nothing is known of ${file.name}.`));
      return false;
    }
  }

  watch(file, signal) {
    show(this.job, true);
    say($("job-text"), `Reading ${file.name}, ${bytes(file.size)} ...`);
    $("job-bar").value = 0;
    const begun = performance.now();
    let told = 0;
    return {
      signal,
      progress: (done, all) => {
        const share = all > 0 ? done / all : 0;
        $("job-bar").value = share;
        const now = performance.now();
        if (now - told < 500) return;
        told = now;
        const left = share > 0.02 ? `, about ${seconds(((now - begun) / 1000) * (1 / share - 1))} left` : "";
        say($("job-text"), `Reading ${file.name}: ${bytes(done)} of ${bytes(all)}${left}`);
      },
    };
  }

  async compare(one, other) {
    const turn = ++this.turn;
    const reply = await this.engine.compare(one, other);
    if (turn !== this.turn) return;
    const close = el("button", { type: "button", onclick: () => put(this.pair) }, "Close");
    const instead = el("button", { type: "button", onclick: () => { put(this.pair); this.file = null; this.take([other]); } }, `Look inside ${other.name} instead`);
    const title = el("h2", {}, `Can ${one.name} and ${other.name} be merged?`);
    if (reply.error) {
      put(this.pair, el("section", { class: "card bad" }, title, el("p", { class: "sentence" }, reply.error), el("div", { class: "ask-row" }, instead, close)));
      return;
    }
    const { mergeable, why, points } = reply.ok;
    put(this.pair, el("section", { class: "card" }, title,
      el("p", {}, el("strong", { class: mergeable ? "good" : "wrong" }, mergeable ? "Yes. " : "No. "), el("span", { class: "sentence" }, why)),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What was compared" }, el("table", {},
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "compared"), el("th", { scope: "col" }, one.name), el("th", { scope: "col" }, other.name), el("th", { scope: "col" }, "result"))),
        el("tbody", {}, points.map((point) => el("tr", {}, el("th", { scope: "row" }, point.what), el("td", {}, point.one), el("td", {}, point.other), el("td", { class: point.same ? "good" : "wrong" }, point.same ? "same" : "differs")))))),
      mergeable ? el("p", { class: "note" }, "bloomery merge union -o both.set ", one.name, " ", other.name) : null,
      el("div", { class: "ask-row" }, instead, close)));
    announce(mergeable ? "They can be merged" : "They cannot be merged");
  }

  ask(keys) {
    return this.opened.ask(keys);
  }

  picture(want) {
    return this.opened.picture(want, { signal: this.cancel.signal });
  }
}
