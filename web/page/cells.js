// The cells of a small filter: bits as squares, counters and fingerprints as numbers.

import { el } from "./dom.js";
import { count } from "./units.js";

export class Cells {
  constructor(host) {
    this.host = host;
    host.classList.add("cells");
    host.setAttribute("role", "group");
    host.setAttribute("aria-label", "The cells of the filter");
  }

  /** marks: a Map from a cell to a class; before: a Map from a cell to the value to show instead. */
  show(state, { marks = new Map(), before = new Map(), lines = [] } = {}) {
    const perLine = Math.max(1, Math.min(state.line_cells || state.values.length, state.values.length));
    const layout = `${state.values.length}/${perLine}/${state.cell_bits}`;
    if (this.layout !== layout) this.lay(state, perLine);
    this.layout = layout;
    state.values.forEach((now, cell) => {
      const value = before.get(cell) ?? now;
      const node = this.nodes[cell];
      const name = `cell ${value !== 0 ? "set" : ""} ${marks.get(cell) ?? ""}`;
      if (node.className !== name) node.className = name;
      const text = state.cell_bits > 1 && value !== 0 ? (state.cell_bits > 4 && state.cell_bits !== 8 ? value.toString(16) : String(value)) : "";
      if (node.textContent !== text) node.textContent = text;
    });
    this.lines.forEach((line, i) => {
      line.classList.toggle("touched", this.lines.length > 1 && lines.includes(i));
      const set = state.values.slice(i * perLine, (i + 1) * perLine).filter((value) => value !== 0).length;
      line.setAttribute("aria-label", `${this.lines.length > 1 ? `line ${i + 1}: ` : ""}${count(set)} of ${count(Math.min(perLine, state.values.length - i * perLine))} cells in use`);
    });
  }

  lay(state, perLine) {
    const columns = state.cell_bits === 1 ? "bits" : state.cell_bits <= 8 ? "small" : "large";
    this.nodes = state.values.map(() => el("i", { class: "cell" }));
    this.lines = [];
    for (let at = 0; at < this.nodes.length; at += perLine)
      this.lines.push(el("div", { class: `cell-line ${columns} ${perLine < 8 ? "bucket" : ""}`, role: "img" }, this.nodes.slice(at, at + perLine)));
    this.host.classList.toggle("buckets", perLine < 8);
    this.host.replaceChildren(...this.lines);
  }
}
