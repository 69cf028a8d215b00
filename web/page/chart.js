// Lines in a picture: logarithmic or plain axes, a crosshair that pointer and arrow keys move.

import { el, perFrame, svg } from "./dom.js";

const room = { left: 58, right: 14, top: 14, bottom: 40 };
const nameRoom = 78; // for the names of the lines, where the chart is wide enough for them
const nameHeight = 13;

export class LineChart {
  /**
   * @param host element that holds the picture
   * @param options { label, x, y, height, onpick, names }; an axis is { label, log, format, min?, max? };
   *   onpick(x) is called when somebody presses the picture; names: "left" or "right", the side
   *   on which the lines lie apart, and so are named
   */
  constructor(host, options) {
    this.host = host;
    this.options = options;
    this.at = null;
    this.plot = svg("svg", { class: "chart", tabindex: "0", role: "application", "aria-roledescription": "chart", "aria-label": options.label });
    this.tip = el("div", { class: "tip", hidden: true });
    this.spoken = el("p", { class: "offscreen", "aria-live": "polite" });
    host.classList.add("chart-host");
    host.append(this.plot, this.tip, this.spoken);
    this.plot.style.height = `${options.height ?? 300}px`;
    this.draw = perFrame((data) => this.paint(data));
    new ResizeObserver(() => this.data && this.draw(this.data)).observe(host);
    this.listen();
  }

  listen() {
    const move = (event) => this.point(this.valueAt(event));
    this.plot.addEventListener("pointermove", move);
    this.plot.addEventListener("pointerdown", move);
    this.plot.addEventListener("click", (event) => { // not pointerdown: that may begin to scroll the page
      move(event);
      if (this.options.onpick && this.at !== null) this.options.onpick(this.at);
    });
    this.plot.addEventListener("pointerleave", () => this.point(null));
    this.plot.addEventListener("blur", () => this.point(null));
    this.plot.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    if (!this.data) return;
    const steps = this.grid();
    const now = this.at === null ? steps.length >> 1 : nearest(steps, this.at);
    const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: steps.length - 1 }[event.key];
    if (event.key === "Enter" && this.options.onpick && this.at !== null) this.options.onpick(this.at);
    if (event.key === "Escape") this.point(null);
    if (to === undefined) return;
    event.preventDefault();
    this.point(steps[Math.min(Math.max(to, 0), steps.length - 1)]);
    this.spoken.textContent = this.sentence();
  }

  /** Every x that some line has. */
  grid() {
    const all = new Set();
    for (const line of this.data.lines) for (const [x] of line.points) all.add(x);
    return [...all].sort((a, b) => a - b);
  }

  valueAt(event) {
    if (!this.scale) return null;
    const box = this.plot.getBoundingClientRect();
    const place = event.clientX - box.left;
    if (place < this.space.left - 8 || place > box.width - this.space.right + 8) return null;
    const steps = this.grid();
    return steps.length ? steps[nearest(steps.map(this.scale.x), place)] : null;
  }

  sentence() {
    if (this.at === null) return "";
    const said = this.readings().map(({ line, y }) => `${line.name} ${this.options.y.format(y)}`);
    return `${this.options.x.format(this.at)}: ${said.join(", ")}`;
  }

  readings() {
    const found = [];
    for (const line of this.data.lines) {
      const hit = line.points.find(([x]) => x === this.at);
      if (hit) found.push({ line, y: hit[1] });
    }
    return found.sort((a, b) => b.y - a.y);
  }

  point(x) {
    this.at = x;
    this.tip.hidden = x === null;
    this.cursor?.remove();
    this.cursor = null;
    if (x === null || !this.scale) return;
    const place = this.scale.x(x);
    this.cursor = svg("g", { class: "cursor" }, svg("line", { x1: place, x2: place, y1: room.top, y2: this.size.height - room.bottom }));
    const rows = this.readings();
    for (const { line, y } of rows)
      this.cursor.append(svg("circle", { cx: place, cy: this.scale.y(y), r: line.strong ? 4.5 : 3, class: line.group }));
    this.plot.append(this.cursor);
    this.tip.replaceChildren(el("strong", {}, this.options.x.format(x)), ...rows.map(({ line, y }) => el("div", { class: `row ${line.strong ? "strong" : ""}` },
      el("i", { class: `swatch ${line.group}` }), el("span", {}, line.name), el("b", {}, this.options.y.format(y)))));
    const wide = this.tip.offsetWidth;
    this.tip.style.transform = `translate(${Math.max(4, place + wide + 20 < this.size.width ? place + 12 : place - wide - 12)}px, ${room.top}px)`;
  }

  paint(data) {
    this.data = data;
    const width = this.host.clientWidth;
    if (width === 0) return;
    this.size = { width, height: this.options.height ?? 300 };
    this.plot.setAttribute("viewBox", `0 0 ${width} ${this.size.height}`);
    const [floor, roof] = [data.y?.min ?? -Infinity, data.y?.max ?? Infinity];
    data = { ...data, lines: data.lines.map((line) => ({ ...line, points: line.points.filter(([, y]) => y >= floor && y <= roof) })) };
    this.data = data;
    const points = data.lines.flatMap((line) => line.points);
    if (points.length === 0) { this.scale = null; this.point(null); this.plot.replaceChildren(); return; }
    const named = this.options.names && width >= 560 ? nameRoom : 0;
    const space = this.space = { ...room, left: room.left + (this.options.names === "left" ? named : 0), right: room.right + (this.options.names === "right" ? named : 0) };
    const x = axis(points.map((point) => point[0]), this.options.x, data.x);
    const y = axis(points.map((point) => point[1]), this.options.y, data.y);
    this.scale = {
      x: (value) => round(space.left + x.share(value) * (width - space.left - space.right)),
      y: (value) => round(this.size.height - space.bottom - y.share(value) * (this.size.height - space.top - space.bottom)),
    };
    this.plot.replaceChildren(...this.axes(x, y), ...this.marks(data), ...this.lines(data, named > 0), ...(named ? this.names(data) : []));
    this.cursor = null;
    if (this.at !== null) this.point(this.at);
  }

  axes(x, y) {
    const { width, height } = this.size;
    const { space } = this;
    const bottom = height - space.bottom;
    const most = Math.max(3, Math.floor((width - space.left) / 80));
    const ticksX = thinned(x.ticks, most).map((value) => svg("g", { class: "tick" },
      svg("line", { x1: this.scale.x(value), x2: this.scale.x(value), y1: space.top, y2: bottom }),
      svg("text", { x: this.scale.x(value), y: bottom + 16, "text-anchor": "middle" }, (this.options.x.tick ?? this.options.x.format)(value))));
    const ticksY = thinned(y.ticks, 7).map((value) => svg("g", { class: "tick" },
      svg("line", { x1: space.left, x2: width - space.right, y1: this.scale.y(value), y2: this.scale.y(value) }),
      svg("text", { x: room.left - 7, y: this.scale.y(value) + 4, "text-anchor": "end" }, (this.options.y.tick ?? this.options.y.format)(value))));
    const names = [
      svg("text", { class: "axis", x: (space.left + width - space.right) / 2, y: height - 6, "text-anchor": "middle" }, this.options.x.label),
    ];
    return [...ticksX, ...ticksY, ...names];
  }

  lines(data, named) {
    const ordered = [...data.lines].sort((a, b) => Boolean(a.strong) - Boolean(b.strong));
    return ordered.flatMap((line) => {
      if (line.points.length === 0) return [];
      const path = line.points.map(([x, y], i) => `${i ? "L" : "M"}${this.scale.x(x)} ${this.scale.y(y)}`).join("");
      const drawn = [svg("path", { d: path, class: `line ${line.group} ${line.strong ? "strong" : ""}`, "data-line": line.name })];
      const last = line.points.at(-1);
      if (line.strong && !named && width(line, this.scale) > 90) drawn.push(svg("text", { class: "mark-text", x: this.scale.x(line.points[0][0]) + 8, y: this.scale.y(line.points[0][1]) - 9 }, line.name));
      if (line.end) drawn.push(svg("text", { class: "mark-text", x: this.scale.x(last[0]), y: this.scale.y(last[1]) - 8, "text-anchor": "middle" }, line.end));
      return drawn;
    });
  }

  /** The name of each line beside its end, pushed apart where ends lie close together. */
  names(data) {
    const left = this.options.names === "left";
    const edge = left ? this.space.left : this.size.width - this.space.right;
    const ends = data.lines.filter((line) => line.points.length && line.name).map((line) => {
      const [x, y] = left ? line.points[0] : line.points.at(-1);
      return { line, x: this.scale.x(x), y: this.scale.y(y) };
    }).sort((a, b) => a.y - b.y);
    const places = spread(ends.map((end) => end.y), nameHeight, room.top, this.size.height - room.bottom);
    return ends.flatMap(({ line, x, y }, i) => {
      const to = edge + (left ? -8 : 8);
      return [svg("path", { class: `leader ${line.group}`, d: Math.abs(x - edge) < 30 ? `M${to} ${places[i]}L${left ? edge - 1 : edge + 1} ${y}L${x} ${y}` : "" }),
        svg("text", { class: `name ${line.group} ${line.strong ? "strong" : ""}`, x: to + (left ? -3 : 3), y: places[i] + 4, "text-anchor": left ? "end" : "start" }, line.name)];
    });
  }

  marks(data) {
    return (data.marks ?? []).flatMap((mark) => {
      const place = this.scale.x(mark.x);
      const right = place > this.size.width * 0.7;
      return [
        svg("line", { class: "mark", x1: place, x2: place, y1: room.top, y2: this.size.height - room.bottom }),
        svg("text", { class: "mark-text", x: place + (right ? -6 : 6), y: room.top + 10, "text-anchor": right ? "end" : "start" }, mark.text),
      ];
    });
  }
}

function round(value) {
  return Math.round(value * 10) / 10;
}

function width(line, scale) {
  return scale.x(line.points.at(-1)[0]) - scale.x(line.points[0][0]);
}

function nearest(sorted, value) {
  let best = 0;
  for (let i = 1; i < sorted.length; ++i) if (Math.abs(sorted[i] - value) < Math.abs(sorted[best] - value)) best = i;
  return best;
}

/** Moves ascending places so that they are `gap` apart, between low and high, and as little as can be. */
function spread(places, gap, low, high) {
  // Less i gaps each, they have only to ascend: neighbours that do not share their mean.
  const pools = [];
  places.forEach((place, i) => {
    let pool = { sum: place - i * gap, count: 1 };
    while (pools.length && pools.at(-1).sum / pools.at(-1).count > pool.sum / pool.count) {
      const before = pools.pop();
      pool = { sum: before.sum + pool.sum, count: before.count + pool.count };
    }
    pools.push(pool);
  });
  const last = high - (places.length - 1) * gap;
  const means = pools.flatMap(({ sum, count }) => Array(count).fill(Math.max(low, Math.min(last, sum / count))));
  return means.map((mean, i) => round(mean + i * gap));
}

function thinned(ticks, most) {
  const step = Math.ceil(ticks.length / most);
  return ticks.filter((_, i) => i % step === 0);
}

function axis(values, options, given = {}) {
  const usable = options.log ? values.filter((value) => value > 0) : values;
  let low = given.min ?? options.min ?? Math.min(...usable);
  let high = given.max ?? options.max ?? Math.max(...usable);
  if (!Number.isFinite(low) || !Number.isFinite(high)) [low, high] = options.log ? [1, 10] : [0, 1];
  if (options.log) {
    if (low === high) { low /= 2; high *= 2; }
    const from = Math.log(low);
    const to = Math.log(high);
    return { share: (value) => clamp((Math.log(Math.max(value, 1e-300)) - from) / (to - from)), ticks: logTicks(low, high, options.base ?? 10) };
  }
  if (low === high) high = low + 1;
  return { share: (value) => clamp((value - low) / (high - low)), ticks: plainTicks(low, high) };
}

function clamp(share) {
  return Math.min(1, Math.max(0, share));
}

function logTicks(low, high, base) {
  const ticks = [];
  const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9);
  const last = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
  for (let power = first; power <= last; ++power) ticks.push(base ** power);
  if (ticks.length >= 3 || base !== 10) return ticks;
  const finer = [];
  for (let power = first - 1; power <= last; ++power)
    for (const digit of [1, 2, 5]) if (digit * 10 ** power >= low && digit * 10 ** power <= high) finer.push(digit * 10 ** power);
  return finer;
}

function plainTicks(low, high) {
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) * power;
  const ticks = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) ticks.push(Number(at.toPrecision(12)));
  return ticks;
}
