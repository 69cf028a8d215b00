// A small filter to play with: key, hash, line, bits, one step at a time.

import { $, announce, el, put, say, show } from "./dom.js";
import { Cells } from "./cells.js";
import { examples, laws, usual } from "./how_text.js";
import { kinds } from "./kinds.js";
import { Lessons } from "./lessons.js";
import { step, write } from "./state.js";
import { bytes, count, rate, real } from "./units.js";

const start = { kind: "classic", keys: "16", rate: "0.1" };
const allSteps = 5;
const cells = (number) => `${count(number)} ${number === 1 ? "cell" : "cells"}`;

export class HowView {
  constructor(engine, facts) {
    this.engine = engine;
    this.facts = facts;
    this.keys = [];
    this.next = 0;
    this.turn = 0; // of the filter: what a reply to an earlier one says is dropped
    this.lay();
    this.lessons = new Lessons(engine.play, this);
  }

  lay() {
    const playable = [...this.facts.values()].filter((kind) => kind.playable).map(({ kind }) => kind);
    const change = (name) => (event) => { step(); this.set({ [name]: event.target.value }); };
    $("how").replaceChildren(
      el("div", { class: "card" },
        el("div", { class: "fields" },
          el("div", { class: "field" }, el("label", { for: "h-kind" }, "Kind"), el("select", { id: "h-kind", onchange: change("kind") }, playable.map((kind) => el("option", { value: kind }, kind)))),
          el("div", { class: "field" }, el("label", { for: "h-keys" }, "Planned for"), el("select", { id: "h-keys", onchange: change("keys") }, [8, 16, 32, 64].map((keys) => el("option", { value: String(keys) }, `${keys} keys`)))),
          el("div", { class: "field" }, el("label", { for: "h-rate" }, "False-positive rate"), el("select", { id: "h-rate", onchange: change("rate") }, [["0.3", "30 %"], ["0.1", "10 %"], ["0.01", "1 %"]].map(([value, text]) => el("option", { value }, text))))),
        el("p", { id: "h-what", class: "note" }),
        el("form", { class: "ask-row", id: "h-form", autocomplete: "off", onsubmit: (event) => { event.preventDefault(); this.run("add"); } },
          el("input", { type: "text", id: "h-key", "aria-label": "Key", spellcheck: "false", maxlength: "60" }),
          el("button", { type: "submit", class: "main" }, "Add"),
          el("button", { type: "button", onclick: () => this.run("ask") }, "Ask"),
          el("button", { type: "button", id: "h-remove", onclick: () => this.run("remove") }, "Remove"),
          el("button", { type: "button", onclick: () => this.again() }, "Start again")),
        el("p", { id: "h-verdict", class: "verdict", role: "status" }),
        el("ol", { class: "flow", id: "h-flow", "aria-label": "From the key to the answer" }, Array.from({ length: allSteps }, () => el("li", {}, el("b", {}), el("span", {})))),
        el("div", { class: "ask-row steps" },
          el("button", { type: "button", id: "h-back", onclick: () => this.walk(-1) }, "Step back"),
          el("button", { type: "button", id: "h-next", onclick: () => this.walk(1) }, "Next step"),
          el("span", { class: "note grow", id: "h-steps" })),
        el("h2", {}, "Inside"),
        el("div", { id: "h-cells" }),
        el("ul", { class: "legend" }, el("li", {}, el("i", { class: "cell set demo" }), "in use"), el("li", {}, el("i", { class: "cell looked demo" }), "looked at by this key"), el("li", {}, el("i", { class: "cell fresh demo" }), "changed by it")),
        el("p", { id: "h-facts", class: "note" }),
        el("h2", {}, "Keys that were added ", el("span", { class: "soft" }, "(a filter does not keep them; this page does)")),
        el("ul", { id: "h-chips", class: "chips", "aria-label": "Keys that were added" })),
      el("h2", {}, "Three doubts, shown"),
      el("div", { id: "h-lessons", class: "lessons" }));
    this.cells = new Cells($("h-cells"));
  }

  enter(values) {
    const state = { ...start };
    for (const name of Object.keys(start)) if (values.has(name)) state[name] = values.get(name);
    if (!this.facts.get(state.kind)?.playable) state.kind = start.kind;
    for (const name of ["keys", "rate"])
      if (![...$(`h-${name}`).options].some((option) => option.value === state[name])) state[name] = start[name];
    const same = this.state && Object.keys(start).every((name) => this.state[name] === state[name]);
    this.state = state;
    for (const name of Object.keys(start)) $(`h-${name}`).value = state[name];
    return same ? undefined : this.make();
  }

  set(changes) {
    Object.assign(this.state, changes);
    write("how", Object.fromEntries(Object.entries(this.state).filter(([name, value]) => value !== start[name])));
    this.make();
  }

  again() {
    this.next = 0;
    return this.make();
  }

  integers() {
    return this.facts.get(this.state.kind).input === "integers";
  }

  want() {
    const { kind, keys, rate: asked } = this.state;
    return this.integers() ? { kind, keys: Number(keys), range: [0, 127] } : { kind, keys: Number(keys), rate: Number(asked) };
  }

  async make() {
    const facts = this.facts.get(this.state.kind);
    const turn = ++this.turn;
    this.law = { ...usual, ...laws[this.state.kind] };
    this.keys = [];
    this.now = null;
    say($("h-what"), `${this.state.kind}: ${kinds[this.state.kind]?.what ?? ""}.`);
    show($("h-rate").parentElement, !this.integers());
    const reply = await this.engine.play.make(this.want());
    if (turn !== this.turn) return;
    if (reply.error) { this.refuse(reply.error); return; }
    this.filter = reply.ok;
    this.example();
    this.tell(facts.built ? "This kind takes all its keys at once. Ask it, or let it be filled below." : "It is empty. Add a key and watch where it goes.");
    this.draw();
    this.lessons.reset();
  }

  example() {
    this.next += 1;
    $("h-key").value = this.integers() ? String((this.next * 37) % 128) : examples[(this.next - 1) % examples.length] + (this.next > examples.length ? ` ${Math.ceil(this.next / examples.length)}` : "");
  }

  refuse(sentence) {
    $("h-verdict").className = "verdict wrong";
    say($("h-verdict"), sentence);
  }

  tell(sentence) {
    $("h-verdict").className = "verdict";
    say($("h-verdict"), sentence);
  }

  async run(verb, key = $("h-key").value) {
    if (key === "") {
      this.refuse("Type a key first.");
      return null;
    }
    const before = this.filter;
    const reply = await this.engine.play[verb](key);
    if (reply.error) {
      this.refuse(reply.error);
      return null;
    }
    this.take(reply.ok, before);
    if (verb === "add" && !this.keys.includes(key)) { this.keys.push(key); if ($("h-key").value === key) this.example(); }
    if (verb === "remove") this.keys = this.keys.filter((one) => one !== key);
    this.draw();
    return reply.ok;
  }

  /** Shows a step that was done, whole. */
  take(done, before = this.filter) {
    this.now = { ...done, before };
    this.at = allSteps;
    this.filter = done.state;
    const wrong = done.false_positive || done.false_negative || done.lost.length > 0;
    $("h-verdict").className = `verdict ${wrong ? "warn" : ""}`;
    say($("h-verdict"), done.sentence);
    this.draw();
  }

  walk(by) {
    if (!this.now) return;
    this.at = Math.min(allSteps, Math.max(1, this.at === allSteps && by > 0 ? 1 : this.at + by));
    this.draw();
    const item = $("h-flow").children[this.at - 1];
    announce(item.textContent);
  }

  flow() {
    const { now, law } = this;
    if (!now) return [["Key", "Type one above."], ["Hash", law.hash], ["Line", law.line], ["Cells", law.cells], ["Answer", "Maybe there, or surely not."]];
    const changed = now.cells.filter((cell) => cell.before !== cell.after).length;
    const lines = now.lines.length;
    const total = this.filter.values.length / Math.max(1, this.filter.line_cells);
    const where = total <= 1 || lines === 0 ? law.line : `${lines === 1 ? `line ${now.lines[0] + 1}` : `lines ${now.lines.map((line) => line + 1).join(", ")}`} of ${count(Math.ceil(total))}. ${law.line}`;
    const looked = `${cells(now.cells.length)}: ${now.cells.slice(0, 8).map((cell) => cell.cell).join(", ")}${now.cells.length > 8 ? " ..." : ""}. ${law.cells}`;
    const answer = now.verb === "ask" ? (now.there ? "maybe there" : "surely not there") : now.verb === "add" ? (now.there_before ? "was there already, maybe" : `surely new; ${cells(changed)} changed`) : `${cells(changed)} changed`;
    return [["Key", `“${now.key}”`], ["Hash", `${now.hash}. ${law.hash}`], ["Line", where], ["Cells", looked], ["Answer", answer]];
  }

  draw() {
    const { filter, now } = this;
    const at = now ? this.at : 0;
    this.flow().forEach(([title, text], i) => {
      const item = $("h-flow").children[i];
      say(item.firstChild, title);
      say(item.lastChild, text);
      item.className = now && i + 1 === at && at < allSteps ? "now" : now && i + 1 > at ? "later" : "";
    });
    $("h-back").disabled = !now || at <= 1;
    $("h-next").disabled = !now;
    say($("h-next"), at === allSteps ? "Step by step" : "Next step");
    say($("h-steps"), now ? `step ${at} of ${allSteps}` : "");
    const marks = new Map();
    const before = new Map();
    if (now && at >= 4)
      for (const cell of now.cells) {
        const changed = cell.before !== cell.after;
        marks.set(cell.cell, changed && at === allSteps ? "looked fresh" : "looked");
        if (at < allSteps) before.set(cell.cell, cell.before);
      }
    else if (now) for (const cell of now.cells) before.set(cell.cell, cell.before);
    this.cells.show(filter, { marks, before, lines: now && at >= 3 ? now.lines : [] });
    this.facts_line();
    put($("h-chips"), this.keys.slice(-60).map((key) => el("li", {}, el("button", { type: "button", onclick: () => this.run("ask", key), "aria-label": `Ask for ${key}` }, key))));
    const removes = this.facts.get(this.state.kind).removes;
    $("h-remove").title = removes ? "" : "this kind cannot remove; press to hear why";
  }

  facts_line() {
    const { filter } = this;
    const shape = filter.shape.map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`).join(", ");
    const rates = filter.rate_now === null ? "" : `, false positives now ${rate(filter.rate_now)}${filter.rate_asked ? ` (planned ${rate(filter.rate_asked)})` : ""}`;
    const fill = filter.fill === null ? "" : `, ${real(filter.fill * 100)} % in use`;
    $("h-facts").className = filter.overfull ? "warn" : "note";
    say($("h-facts"), `${bytes(filter.bytes)}; ${count(filter.keys)} of ${count(filter.capacity)} keys${fill}${rates}${filter.overfull ? "; overfull" : ""}. Shape: ${shape || "its range"}.`);
  }

  /** Marks cells, as a lesson wants them. */
  mark(marks) {
    this.cells.show(this.filter, { marks });
  }
}
