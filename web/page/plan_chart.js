// Every kind as a curve: bits a key by rate, memory by keys, and what too many keys do.

import { $, el, say } from "./dom.js";
import { LineChart } from "./chart.js";
import { groupOf, groups } from "./kinds.js";
import { about, bytes, rate, real, tiny } from "./units.js";

const overFactors = [0.1, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5];
const rateTick = (value) => (value >= 1e-3 ? `${Number((value * 100).toPrecision(2))} %` : tiny(value));

export class PlanChart {
  constructor(engine, onpick) {
    this.engine = engine;
    this.onpick = onpick;
    this.charts = new Map();
    $("legend").replaceChildren(...Object.entries(groups).map(([group, text]) => el("li", {}, el("i", { class: `swatch ${group}` }), text)));
  }

  clear() {
    for (const chart of this.charts.values()) chart.draw({ lines: [] });
  }

  chart(which) {
    if (!this.charts.has(which)) {
      const host = el("div", { hidden: true });
      $("chart").append(host);
      this.charts.set(which, new LineChart(host, this.options(which)));
    }
    for (const [name, chart] of this.charts) chart.host.hidden = name !== which;
    return this.charts.get(which);
  }

  options(which) {
    const rateAxis = { label: "false-positive rate", log: true, format: rate, tick: rateTick };
    if (which === "rate")
      return { label: "Bits a key of every kind, by false-positive rate", height: 360, names: "left", x: rateAxis, y: { label: "bits a key", log: true, base: 2, format: (bits) => `${real(bits)} bits`, tick: (bits) => (bits === 1 ? "1 bit" : `${bits} bits`) }, onpick: (x) => this.onpick("rate", x) };
    if (which === "keys")
      return { label: "Memory of every kind, by number of keys", height: 360, names: "right", x: { label: "keys", log: true, format: (keys) => `${about(keys)} keys`, tick: about }, y: { label: "memory", log: true, base: 32, format: bytes, tick: (size) => bytes(size).replace(".00", "") }, onpick: (x) => this.onpick("keys", x) };
    return { label: "False-positive rate when a set holds more keys than planned", height: 360, names: "right", x: { label: "keys added, times the plan", log: false, format: (factor) => `${factor} × the keys`, tick: (factor) => `${factor} ×` }, y: { ...rateAxis, min: 1e-6, max: 1 } };
  }

  async show(plan, current) {
    const which = plan.state.chart;
    const chart = this.chart(which);
    say($("chart-note"), this.note(which, plan));
    const data = which === "over" ? await this.over(plan) : await this.curves(which, plan);
    if (current() && data) chart.draw(data);
  }

  note(which, plan) {
    const keys = about(plan.row.keys ?? plan.report.keys);
    if (which === "rate") return `For ${keys} keys. Press a place in the picture to plan for that rate.`;
    if (which === "keys") return `At a rate of ${rate(plan.report.rate)}. Press a place in the picture to plan for so many keys.`;
    return plan.growth.get(plan.row.kind)?.ok?.sentence ?? "Planned for the keys at 1; what if more come?";
  }

  async curves(which, plan) {
    const { report, row } = plan;
    const keys = row.keys ?? report.keys;
    const want = which === "rate" ? { keys: String(keys), low: Math.min(1e-9, report.rate || 1), high: 0.5 } : { rate: String(report.rate || 0.01), low: 1e3, high: Math.max(1e12, keys) };
    const { range, allow } = plan.want;
    const reply = await this.engine.curves({ over: which, points: 61, ...want, range, allow });
    if (reply.error) { say($("chart-note"), reply.error); return { lines: [] }; }
    const curves = reply.ok;
    const values = which === "rate" ? curves.bits_per_key : curves.bytes;
    const lines = curves.kinds.map((kind, k) => ({
      name: kind, group: groupOf(kind), strong: kind === row.kind,
      points: curves.x.map((x, i) => [x, values[k][i]]).filter((point) => point[1] !== null),
    }));
    const at = which === "rate" ? row.rate : keys;
    return { lines: lines.filter((line) => line.points.length), y: which === "rate" ? { min: 1, max: 1024 } : undefined, marks: at > 0 ? [{ x: at, text: which === "rate" ? rate(at) : about(at) }] : [] };
  }

  async over(plan) {
    const replies = await Promise.all(plan.report.kinds.map(({ kind }) => plan.engine.growth({ ...plan.want, kind, factors: overFactors })));
    const lines = [];
    for (const reply of replies) {
      if (reply.error || reply.ok.beyond === "exact") continue;
      const { kind, points, beyond } = reply.ok;
      // A kind that is full takes no more: there its line ends.
      const shown = points.filter((point) => point.rate !== null && point.rate > 1e-7 && (beyond !== "full" || point.held >= point.keys)).map((point) => [point.factor, point.rate]);
      if (shown.length) lines.push({ name: kind, group: groupOf(kind), strong: kind === plan.row.kind, points: shown, end: beyond === "full" ? "full" : undefined });
    }
    const most = Math.max(1e-4, ...lines.flatMap((line) => line.points.map((point) => point[1])));
    const least = Math.min(1e-2, ...lines.flatMap((line) => line.points.map((point) => point[1])));
    return { lines, marks: [{ x: 1, text: "planned" }, { x: 3, text: "3 times" }], x: { min: 0, max: 5 }, y: { min: 10 ** Math.floor(Math.log10(least)), max: most > 0.1 ? 1 : 10 ** Math.ceil(Math.log10(most)) } };
  }
}
