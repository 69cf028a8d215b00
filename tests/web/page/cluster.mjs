// Cluster: what plan --nodes says, drawn.

import assert from "node:assert/strict";
import { test } from "node:test";
import { close, openPage, refusal, report, text } from "./browser.mjs";

test("a cluster is drawn with the numbers of the command", async () => {
  const page = await openPage({ view: "cluster" });
  for (const [keys, nodes, replicas] of [["100G", "", ""], ["1T", "12", "2"], ["3G", "3", "0"]]) {
    await page.fill("#c-keys", keys);
    await page.fill("#c-nodes", nodes);
    await page.fill("#c-replicas", replicas);
    const told = report("plan", nodes ? `--nodes=${nodes}` : "--nodes", "-n", keys, "-p", "1%", ...(replicas ? ["--replicas", replicas] : []));
    await page.waitForFunction(([masters, all]) => document.querySelectorAll(".node:not(.replica)").length === masters && document.querySelectorAll(".node").length === all, [told.masters, told.nodes]);
    for (const row of told.commands) assert.ok((await text(page, `#cluster tr:has(th:text-is("${row.per_key}"))`)).includes(row.sent.toLocaleString("en-US")));
    for (const event of told.events) assert.ok((await text(page, "#cluster")).includes(event.what));
  }
  await close(page);
});

test("a master that fails takes its share with it", async () => {
  const page = await openPage({ view: "cluster", values: "keys=10G&nodes=4" });
  const event = report("plan", "--nodes=4", "-n", "10G", "-p", "1%").events.find(({ when }) => when.includes("fails"));
  const node = page.locator("button.node").nth(2);
  await node.click();
  assert.equal(await node.getAttribute("aria-pressed"), "true");
  const note = await text(page, "#cluster .nodes-note");
  assert.ok(note.startsWith("Master 3 is down: 25 % of the keys"), note);
  assert.ok(note.includes(event.what), note);
  await node.click();
  assert.equal(await node.getAttribute("aria-pressed"), "false");
  await close(page);
});

test("what cannot be a cluster is told in the words of the command", async () => {
  const page = await openPage({ view: "cluster" });
  await page.fill("#c-nodes", "many");
  await page.waitForSelector("#c-nodes[aria-invalid=true], #c-error:not([hidden])");
  assert.ok((await text(page, "#view-cluster")).includes(refusal("plan", "--nodes=many", "-n", "100G", "-p", "1%")));
  await page.fill("#c-nodes", "");
  await page.waitForSelector("button.node");
  await close(page);
});
