// The page: which view is shown, and who fills it.

import { startEngine } from "../engine/engine.js";
import { ClusterView } from "./cluster.js";
import { $, el, say, show } from "./dom.js";
import { HowView } from "./how.js";
import { InspectView } from "./inspect.js";
import { LiveView } from "./live.js";
import { PlanView } from "./plan.js";
import { read, views, watch } from "./state.js";
import { startTheme } from "./theme.js";

startTheme();

const titles = { plan: "Plan a filter", inspect: "Look inside a set file", how: "How it works", cluster: "Plan a cluster", live: "Live" };
const shown = {};
let engine;
let facts;

const makers = {
  plan: () => new PlanView(engine, facts),
  inspect: () => new InspectView(engine, facts),
  how: () => new HowView(engine, facts),
  cluster: () => new ClusterView(engine),
  live: () => new LiveView(),
};

function trouble(what) {
  say($("trouble"), `This page cannot work here: ${what?.message ?? what}`);
  show($("trouble"), true);
}

let last = "";
async function enter({ view, values }) {
  for (const name of views) show($(`view-${name}`), name === view);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${titles[view]} · Bloomery`;
  if (last !== "" && last !== view) scrollTo(0, 0);
  last = view;
  try {
    shown[view] ??= makers[view]();
    await shown[view].enter(values);
    document.body.dataset.ready = view;
  } catch (error) {
    trouble(error);
  }
}

async function start() {
  const { view } = read();
  for (const name of views) show($(`view-${name}`), name === view);
  engine = startEngine();
  const about = await engine.about();
  if (about.error) return trouble(about.error);
  facts = new Map(about.ok.kinds.map((kind) => [kind.kind, kind]));
  $("about").prepend(el("span", {}, `bloomery ${about.ok.version}. `));
  watch(enter);
  await enter(read());
  if (await LiveView.answers()) document.querySelector("nav a[data-view=live]").hidden = false;
}

addEventListener("unhandledrejection", (event) => { if (event.reason?.name !== "AbortError") trouble(event.reason); });
start().catch(trouble);
