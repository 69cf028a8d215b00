// The page of docs/planner in Debian's chromium, used as a person uses it.
//
//    BLOOMERY=the command node tests/web/page_test.mjs
//
// One browser for all; node's test runner gives a name to each test and the exit code.

import { after, before } from "node:test";
import { start, stop } from "./page/browser.mjs";

before(start);
after(stop);

await import("./page/plan.mjs");
await import("./page/inspect.mjs");
await import("./page/how.mjs");
await import("./page/cluster.mjs");
await import("./page/live.mjs");
await import("./page/look.mjs");
