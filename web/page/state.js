// What the page shows is in the address: #plan?keys=10M&rate=1%25. A view reads its part and writes it;
// going back brings the earlier state.

const watchers = new Set();

const longest = 100; // characters of a value: no plan needs more, and addresses come from anywhere

export const views = ["plan", "inspect", "how", "cluster", "live"];

export function read() {
  const text = location.hash.slice(1);
  const cut = text.indexOf("?");
  const view = cut < 0 ? text : text.slice(0, cut);
  const values = new Map(new URLSearchParams(cut < 0 ? "" : text.slice(cut + 1)));
  for (const [name, value] of values) values.set(name, value.slice(0, longest));
  return { view: views.includes(view) ? view : "plan", values };
}

export function address(view, values) {
  const text = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== "" && value !== undefined && value !== null));
  const query = text.toString().replaceAll("%2C", ",").replaceAll("+", "%20");
  return `#${view}${query ? `?${query}` : ""}`;
}

let lastWritten = -Infinity;
let waiting = null;

/**
 * Puts the state into the address. Changes in quick succession, as of a slider, are one step back; and
 * they are written a few times a second, because browsers refuse more than some hundred in a row.
 */
export function write(view, values) {
  const next = address(view, values);
  const now = performance.now();
  const together = now - lastWritten < 1000;
  lastWritten = now;
  if (!together) {
    flush();
    if (next !== location.hash) history.pushState(null, "", next);
    told = location.hash;
    return;
  }
  if (waiting === null) setTimeout(flush, 300);
  waiting = next;
}

function flush() {
  if (waiting !== null && waiting !== location.hash) history.replaceState(null, "", waiting);
  if (waiting !== null) told = location.hash;
  waiting = null;
}

/** The next write is a step of its own. */
export function step() {
  lastWritten = -Infinity;
}

export function go(view, values = {}) {
  step();
  flush();
  const next = address(view, values);
  if (next !== location.hash) history.pushState(null, "", next);
  tell();
}

export function watch(seen) {
  watchers.add(seen);
}

let told = null;
function tell() {
  waiting = null; // what was typed just before somebody went elsewhere
  if (told === location.hash) return; // a link fires two events
  told = location.hash;
  const now = read();
  for (const seen of watchers) seen(now);
}

addEventListener("click", flush, true); // before a link leads elsewhere
addEventListener("popstate", tell);
addEventListener("hashchange", tell);
