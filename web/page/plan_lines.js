// The lines to copy.

import { copyButton, el } from "./dom.js";

const parts = [
  ["command", "Terminal: make it"],
  ["check", "Terminal: ask it"],
  ["cpp", "C++"],
  ["python", "Python"],
  ["plan", "Terminal: this plan"],
];

export function showSnippets(host, kind, reply) {
  if (reply.error) {
    host.replaceChildren(el("p", { class: "error" }, reply.error));
    return;
  }
  host.replaceChildren(...parts.filter(([name]) => reply.ok[name]).map(([name, title]) => snippet(title, reply.ok[name], `${title}, ${kind}`)));
}

export function snippet(title, text, what = title) {
  const pre = el("pre", { tabindex: "0", "aria-label": what }, el("code", {}, text));
  return el("div", { class: "snippet" }, el("div", { class: "card-head" }, el("h3", {}, title), copyButton(() => text, what, () => pre)), pre);
}
