// Three doubts that people have, each shown by doing: why a wrong "maybe", why no removal, what too many keys do.

import { $, el, put } from "./dom.js";
import { LineChart } from "./chart.js";
import { count, rate } from "./units.js";

export class Lessons {
  constructor(play, view) {
    this.play = play;
    this.view = view;
    this.parts = [this.falsePositive(), this.removal(), this.overfull()];
    put($("h-lessons"), this.parts.map((part) => part.card));
  }

  reset() {
    for (const part of this.parts) put(part.result, el("p", { class: "soft" }, part.before));
    this.chart = null;
  }

  part(title, button, before, run) {
    const result = el("div", { class: "result", "aria-live": "polite" });
    const press = el("button", { type: "button", onclick: async () => {
      press.disabled = true;
      const { turn } = this.view;
      try {
        await run(result);
      } finally {
        press.disabled = false;
        if (turn !== this.view.turn) this.reset(); // somebody chose another filter meanwhile
      }
    } }, button);
    return { card: el("section", { class: "card" }, el("h3", {}, title), result, el("p", {}, press)), result, before };
  }

  async some(keys) {
    if (this.view.filter.keys >= keys) return null;
    return this.filled(keys - this.view.filter.keys);
  }

  async filled(keys) {
    const reply = await this.play.fill(keys);
    if (reply.error) return reply;
    this.view.filter = reply.ok.state;
    this.view.now = null;
    const known = new Set(this.view.keys);
    for (let i = 1; known.size < reply.ok.state.keys && i <= reply.ok.state.keys; ++i) known.add(`key ${i}`);
    this.view.keys = [...known];
    this.view.tell(`${count(reply.ok.state.keys)} keys are in it now.`);
    this.view.draw();
    return reply;
  }

  falsePositive() {
    return this.part("Why does it say maybe to a stranger?", "Find a false positive", "All places of a stranger may be in use by other keys. Press, and see one.", async (result) => {
      const filled = await this.some(this.view.filter.capacity);
      if (filled?.error) return put(result, el("p", { class: "wrong" }, filled.error));
      const reply = await this.play.findFalse();
      if (reply.error) return put(result, el("p", { class: "wrong" }, reply.error));
      if (reply.ok === null) return put(result, el("p", {}, "None was found. This kind is exact, or its rate is so low that a search takes too long."));
      const step = reply.ok;
      this.view.take(step);
      const shared = step.cells.filter((cell) => cell.owners.length > 0);
      put(result, el("p", {}, `“${step.key}” was never added, and every one of its ${count(step.cells.length)} places is in use${step.explained_by.length ? `, by ${step.explained_by.map((key) => `“${key}”`).join(", ")}` : ""}. So the filter must say maybe.`),
        shared.length ? el("ul", { class: "note" }, shared.slice(0, 6).map((cell) => el("li", {}, `place ${cell.cell}: ${cell.owners.slice(0, 3).join(", ")}${cell.owners.length > 3 ? " ..." : ""}`))) : null);
    });
  }

  removal() {
    return this.part("Why can most kinds not remove a key?", "Try to remove one", "Places are shared. Press, and see who else would be forgotten.", async (result) => {
      const filled = await this.some(Math.max(2, this.view.filter.capacity));
      if (filled?.error) return put(result, el("p", { class: "wrong" }, filled.error));
      const { removes } = this.view.facts.get(this.view.state.kind);
      return removes ? this.removeStranger(result) : this.clearCells(result);
    });
  }

  // What clearing the bits of one key would do to the others, read from who uses them.
  async clearCells(result) {
    const key = this.view.keys.at(0);
    const refused = await this.play.remove(key);
    const asked = await this.play.ask(key);
    if (asked.error) return put(result, el("p", { class: "wrong" }, asked.error));
    const victims = new Set(asked.ok.cells.flatMap((cell) => cell.owners).filter((owner) => owner !== key));
    this.view.take(asked.ok);
    this.view.mark(new Map(asked.ok.cells.map((cell) => [cell.cell, "gone"])));
    return put(result, refused.error ? el("p", {}, refused.error) : null,
      asked.ok.cells.length === 0 ? null : el("p", {}, victims.size === 0 ? `By luck nobody shares the places of “${key}” (red above); add more keys and try again.` : `Were the places of “${key}” (red above) cleared, ${count(victims.size)} other ${victims.size === 1 ? "key" : "keys"} would be denied although they were added: ${[...victims].slice(0, 5).join(", ")}${victims.size > 5 ? " ..." : ""}. So it is refused.`),
      el("p", { class: "soft" }, "For keys that go away again take counting or cuckoo."));
  }

  // These kinds remove; what they cannot know is whether the key was ever added.
  async removeStranger(result) {
    const found = await this.play.findFalse();
    if (found.error) return put(result, el("p", { class: "wrong" }, found.error));
    if (found.ok === null) return put(result, el("p", {}, "This kind removes keys, and here nothing can go wrong: no stranger passes."));
    const reply = await this.play.remove(found.ok.key);
    if (reply.error) return put(result, el("p", {}, reply.error));
    this.view.take(reply.ok);
    return put(result, el("p", {}, `This kind can. But remove only what was added: “${found.ok.key}” never was, it only looked so. Removing it ${reply.ok.lost.length ? `made the filter forget ${reply.ok.lost.map((key) => `“${key}”`).join(", ")}` : "took away counts that other keys need; this time all of them survived"}.`));
  }

  overfull() {
    return this.part("What if more keys come than planned?", "Add three times the keys", "It does not forget; it says maybe more and more often. Press, and watch the rate.", async (result) => {
      const { capacity } = this.view.filter;
      const reply = await this.filled(Math.max(1, capacity * 3 - this.view.filter.keys));
      if (reply.error) return put(result, el("p", { class: "wrong" }, reply.error));
      const { points, refused } = reply.ok;
      const last = points.at(-1);
      const host = el("div");
      put(result, host, el("p", {}, refused ?? (last ? `With ${count(last.keys)} keys, planned for ${count(capacity)}: of 2,000 strangers ${rate(last.measured)} pass${last.rate_now === null ? "" : `; the bits say ${rate(last.rate_now)}`}. No added key is denied.` : "")));
      if (points.length < 2) return;
      const lines = [{ name: "measured", group: "change", strong: true, points: points.map((point) => [point.keys, point.measured]) }];
      if (points.every((point) => point.rate_now !== null)) lines.push({ name: "by the bits", group: "add", points: points.map((point) => [point.keys, point.rate_now]) });
      new LineChart(host, { label: "Rate while keys are added", height: 200, x: { label: "keys", format: (keys) => `${count(keys)} keys`, tick: count }, y: { label: "rate", min: 0, format: rate } })
        .draw({ lines, marks: [{ x: capacity, text: "planned" }] });
    });
  }
}
