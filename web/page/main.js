// The page: which view is shown, and who fills it.

import { startEngine } from "../engine/engine.js";
import { ClusterView } from "./cluster.js";
import { $, el, say, show } from "./dom.js";
import { HowView } from "./how.js";
import { InspectView } from "./inspect.js";
import { LiveView } from "./live.js";
import { PlanView } from "./plan.js";
import { go, read, views, watch } from "./state.js";
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
  const said = String(what?.message ?? what).replace(/\.$/, "");
  say($("trouble"), facts ? `Something broke: ${said}. Reload the page; if it happens again, please report it with what you did.` : `This page cannot work here: ${said}`);
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

// A file may be dropped anywhere; without this, the browser would leave the page and show the file.
function catchDrops() {
  const held = (event) => event.dataTransfer?.types.includes("Files");
  const over = (yes) => (event) => {
    if (!held(event)) return;
    event.preventDefault();
    shown.inspect?.over(yes);
  };
  addEventListener("dragover", over(true));
  addEventListener("dragleave", (event) => { if (event.relatedTarget === null) over(false)(event); });
  addEventListener("drop", async (event) => {
    over(false)(event);
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length === 0) return;
    const bench = read().view === "plan" && files[0].name.endsWith(".json");
    if (!bench) go("inspect");
    await shown[bench ? "plan" : "inspect"]?.take(files);
  });
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
  catchDrops();
  if (await LiveView.answers()) {
    show(document.querySelector("nav a[data-view=live]"), true);
    say($("requests"), "This page asks nobody but the server that it came from.");
    if (location.hash === "") history.replaceState(null, "", "#live");
  }
  await enter(read());
}

addEventListener("unhandledrejection", (event) => { if (event.reason?.name !== "AbortError") trouble(event.reason); });
start().catch(trouble);
