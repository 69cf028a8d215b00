// The histogram of lines and the heat map of regions.

import { svg } from "./dom.js";
import { about, count } from "./units.js";

const high = 240;
const foot = 26;
const left = 44;

/** Bars for what is, a curve for what chance would give. */
export function drawHistogram(host, { histogram, expected, unit_bits: unit }) {
  const wide = Math.max(240, host.clientWidth);
  const used = histogram.map((units, ones) => (units > 0 || expected[ones] >= 0.5 ? ones : -1)).filter((ones) => ones >= 0);
  let low = Math.max(0, used[0] - 2);
  let top = Math.min(unit, used.at(-1) + 2);
  if (top - low < 20) { low = Math.max(0, low - 10); top = Math.min(unit, top + 10); }
  const most = Math.max(1, ...histogram.slice(low, top + 1), ...expected.slice(low, top + 1));
  const step = (wide - left) / (top - low + 1);
  const y = (value) => (high - foot) * (1 - value / most) + 4;
  const bars = [];
  for (let ones = low; ones <= top; ++ones)
    if (histogram[ones] > 0) bars.push(svg("rect", { x: left + (ones - low) * step, width: Math.max(0.6, step * 0.86), y: y(histogram[ones]), height: Math.max(0.8, high - foot + 4 - y(histogram[ones])) }, svg("title", {}, `${count(histogram[ones])} lines have ${ones} bits set`)));
  const curve = expected.slice(low, top + 1).map((value, i) => `${i ? "L" : "M"}${(left + (i + 0.43) * step).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const every = Math.max(1, Math.ceil((top - low) / (wide / 80)));
  const ticks = [];
  for (let ones = Math.ceil(low / every) * every; ones <= top; ones += every) ticks.push(svg("text", { x: left + (ones - low + 0.43) * step, y: high - 6, "text-anchor": "middle" }, String(ones)));
  host.replaceChildren(svg("svg", { viewBox: `0 0 ${wide} ${high}`, class: "chart bars", role: "img", "aria-label": `Histogram: most lines have about ${histogram.indexOf(Math.max(...histogram))} of ${unit} bits set.` },
    svg("g", { class: "tick" }, ticks, svg("text", { x: left - 6, y: 14, "text-anchor": "end" }, about(most)), svg("line", { x1: left, x2: wide, y1: high - foot + 4, y2: high - foot + 4 })),
    bars, svg("path", { d: curve })));
}

/** Each region in a shade between the ground and the accent, by its share of ones. */
export function drawHeat(canvas, { heat, rows, columns }) {
  const style = getComputedStyle(document.documentElement);
  const from = rgb(style.getPropertyValue("--cell"));
  const to = rgb(style.getPropertyValue("--hot"));
  const none = rgb(style.getPropertyValue("--card"));
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  for (let i = 0; i < rows * columns; ++i) {
    const share = heat[i];
    const colour = share === null || share === undefined ? none : from.map((part, c) => part + (to[c] - part) * Math.min(1, share));
    image.data.set([...colour, 255], i * 4);
  }
  context.putImageData(image, 0, 0);
}

function rgb(text) {
  const hex = text.trim().slice(1);
  return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
}
