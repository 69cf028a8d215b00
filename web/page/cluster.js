// bloomery plan --nodes, drawn.

import { $, announce, el, say, show } from "./dom.js";
import { snippet } from "./plan_lines.js";
import { write } from "./state.js";
import { about, bytes, count, rate, real, seconds } from "./units.js";

const start = { keys: "100G", rate: "1%", memory: "", nodes: "", replicas: "", network: "" };
const asked = [
  ["keys", "Keys to hold", "100G"],
  ["rate", "False-positive rate", "1%"],
  ["nodes", "Masters", "as few as do"],
  ["memory", "Memory of each node for the set", "16G"],
  ["replicas", "Replicas of each master", "1"],
  ["network", "Network of each machine, bits a second", "10G"],
];
const mostDrawn = () => (matchMedia("(max-width: 34rem)").matches ? 9 : 32);

export class ClusterView {
  constructor(engine) {
    this.engine = engine;
    this.turn = 0;
    this.down = null;
    const form = el("form", { class: "card", novalidate: true, autocomplete: "off", onsubmit: (event) => event.preventDefault() },
      el("div", { class: "fields" }, asked.map(([name, label, example]) => el("div", { class: "field" },
        el("label", { for: `c-${name}` }, label),
        el("input", { id: `c-${name}`, type: "text", placeholder: example, spellcheck: "false", "aria-describedby": `c-${name}-note`, oninput: (event) => this.set(name, event.target.value) }),
        el("p", { id: `c-${name}-note`, class: "note" })))),
      el("p", { id: "c-error", class: "error", role: "alert", hidden: true }));
    this.result = el("div");
    $("cluster").replaceChildren(form, this.result);
  }

  enter(values) {
    this.state = { ...start };
    for (const name of Object.keys(start)) if (values.has(name)) this.state[name] = values.get(name);
    for (const [name] of asked) $(`c-${name}`).value = this.state[name];
    return this.update();
  }

  set(name, value) {
    this.state[name] = value;
    write("cluster", Object.fromEntries(Object.entries(this.state).filter(([key, text]) => text !== start[key])));
    this.update();
  }

  async update() {
    const turn = ++this.turn;
    const want = Object.fromEntries(Object.entries(this.state).filter(([, text]) => text.trim() !== ""));
    const reply = await this.engine.planNodes(want);
    if (turn !== this.turn) return;
    const field = reply.error ? asked.find(([name]) => reply.error.startsWith(`--${name} `))?.[0] : undefined;
    for (const [name] of asked) {
      const wrong = name === field;
      say($(`c-${name}-note`), wrong ? reply.error : "");
      $(`c-${name}-note`).className = wrong ? "error" : "note";
      if (wrong) $(`c-${name}`).setAttribute("aria-invalid", "true");
      else $(`c-${name}`).removeAttribute("aria-invalid");
    }
    say($("c-error"), field ? "" : reply.error ?? "");
    show($("c-error"), Boolean(reply.error) && !field);
    if (reply.error) {
      this.result.replaceChildren(el("p", { class: "card soft" }, "No plan: see the message above."));
      return;
    }
    say($("c-keys-note"), about(reply.ok.keys));
    say($("c-rate-note"), rate(reply.ok.rate));
    this.down = null;
    announce(`${count(reply.ok.masters)} masters with ${bytes(reply.ok.memory_a_node)} each`);
    this.show(reply.ok, want);
  }

  show(plan, want) {
    const words = ["bloomery plan", want.nodes ? `--nodes=${want.nodes}` : "--nodes", `-n ${want.keys}`, `-p ${want.rate}`];
    if (want.memory) words.push(`-m ${want.memory}`);
    if (want.replicas) words.push(`--replicas ${want.replicas}`);
    if (want.network) words.push(`--network ${want.network}`);
    this.result.replaceChildren(this.drawn(plan), this.costs(plan), this.events(plan),
      el("div", { class: "card" }, snippet("Terminal: this plan", words.join(" "))));
  }

  drawn(plan) {
    const nodes = el("div", { class: "nodes", role: "list", "aria-label": "Masters and their replicas" });
    const note = el("p", { class: "note nodes-note", "aria-live": "polite" });
    const fails = plan.events.find((event) => /fails/.test(event.when));
    const hurt = (i) => {
      this.down = this.down === i ? null : i;
      for (const [at, node] of [...nodes.children].entries()) {
        const button = node.querySelector("button");
        button?.classList.toggle("down", at === this.down);
        button?.setAttribute("aria-pressed", String(at === this.down));
      }
      say(note, this.down === null || !fails ? press : `Master ${i + 1} is down: ${real(fails.share_of_keys * 100)} % of the keys (${bytes(fails.bytes)})${fails.seconds === null ? "" : `, for about ${seconds(fails.seconds)},`} ${fails.what}.`);
    };
    const press = "Press a master to let it fail.";
    note.textContent = press;
    const drawnMasters = Math.min(plan.masters, mostDrawn());
    for (let i = 0; i < drawnMasters; ++i) {
      nodes.append(el("div", { role: "listitem" },
        el("button", { type: "button", class: "node", "aria-pressed": "false", onclick: () => hurt(i) }, el("b", {}, `master ${i + 1}`), bytes(plan.memory_a_node)),
        Array.from({ length: plan.replicas }, (_, r) => el("div", { class: "node replica" }, `replica ${plan.replicas > 1 ? r + 1 : ""}`))));
    }
    return el("section", { class: "card" },
      el("h2", {}, `${count(plan.masters)} masters, ${plan.replicas === 0 ? "no replicas" : `${count(plan.nodes)} nodes with replicas`}`),
      el("dl", { class: "facts" },
        fact("memory", bytes(plan.memory), `${bytes(plan.memory_with_replicas)} with replicas`), fact("memory a node", bytes(plan.memory_a_node), `${count(plan.shards_a_node)} shards`),
        fact("bits a key", real(plan.bits_per_key, 4), `${plan.probes} probes in one block of 64 bytes`), fact("shards", about(plan.shards), `strings of at most ${bytes(plan.largest_key)}`)),
      note, nodes, plan.masters > drawnMasters ? el("p", { class: "note" }, `and ${count(plan.masters - drawnMasters)} more masters like these`) : null, plan.note ? el("p", { class: "warn-box" }, plan.note) : null);
  }

  costs(plan) {
    const most = Math.max(...plan.commands.map((command) => command.most_a_second));
    return el("section", { class: "card" }, el("h2", {}, "What a key costs"),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Cost of a key" }, el("table", {},
        el("thead", {}, el("tr", {}, ["per key", "commands", "bytes sent", "bytes received", "server time", "most a second"].map((head, i) => el("th", { scope: "col", class: i ? "num" : "" }, head)))),
        el("tbody", {}, plan.commands.map((row) => el("tr", {}, el("th", { scope: "row" }, row.per_key), [count(row.commands), count(row.sent), count(row.received), seconds(row.server_us / 1e6), about(row.most_a_second)].map((text) => el("td", { class: "num" }, text))))))),
      el("h3", {}, "Loading all keys"),
      el("dl", { class: "pairs" }, plan.loading.flatMap((row) => [el("dt", {}, row.loading), el("dd", {}, row.seconds === null ? "never" : seconds(row.seconds), el("span", { class: "soft" }, `, limited by ${row.limited_by}`))])),
      el("p", { class: "note" }, `${plan.basis[0].toUpperCase()}${plan.basis.slice(1)}. The busiest master allows ${about(most)} keys a second. Measure your own before you buy machines.`));
  }

  events(plan) {
    return el("section", { class: "card" }, el("h2", {}, "When something happens"),
      el("dl", { class: "pairs" }, plan.events.flatMap((event) => [
        el("dt", {}, event.when),
        el("dd", {}, `${real(event.share_of_keys * 100)} % of the keys, ${bytes(event.bytes)}${event.seconds === null ? "" : `, ${seconds(event.seconds)}`}: `, event.what)])));
  }
}

function fact(name, value, small) {
  return el("div", {}, el("dt", {}, name), el("dd", {}, value, small ? el("small", {}, small) : null));
}
