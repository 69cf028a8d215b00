// What the page shows is in the address: #plan?keys=10M&rate=1%25. A view reads its part and writes it;
// going back brings the earlier state.

const watchers = new Set();

export const views = ["plan", "inspect", "how", "cluster", "live"];

export function read() {
  const text = location.hash.slice(1);
  const cut = text.indexOf("?");
  const view = cut < 0 ? text : text.slice(0, cut);
  const values = new URLSearchParams(cut < 0 ? "" : text.slice(cut + 1));
  return { view: views.includes(view) ? view : "plan", values };
}

export function address(view, values) {
  const text = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== "" && value !== undefined && value !== null));
  const query = text.toString().replaceAll("%2C", ",").replaceAll("+", "%20");
  return `#${view}${query ? `?${query}` : ""}`;
}

let lastWritten = 0;

/** Puts the state into the address. Changes in quick succession, as of a slider, are one step back. */
export function write(view, values) {
  const next = address(view, values);
  if (next === location.hash) return;
  const now = performance.now();
  const together = now - lastWritten < 1000;
  lastWritten = now;
  told = next;
  if (together) history.replaceState(null, "", next);
  else history.pushState(null, "", next);
}

/** The next write is a step of its own. */
export function step() {
  lastWritten = -Infinity;
}

export function go(view, values = {}) {
  step();
  const next = address(view, values);
  if (next !== location.hash) history.pushState(null, "", next);
  tell();
}

export function watch(seen) {
  watchers.add(seen);
}

let told = null;
function tell() {
  if (told === location.hash) return; // a link fires two events
  told = location.hash;
  const now = read();
  for (const seen of watchers) seen(now);
}

addEventListener("popstate", tell);
addEventListener("hashchange", tell);
