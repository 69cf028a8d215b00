// Live: the page from `bloomery serve`, while a set changes, and from a run of dedup that serves itself.

import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { accessibility, built, close, command, lines, openPage, scratch, scrollsSideways, text, written } from "./browser.mjs";
import { serving } from "./serving.mjs";

const card = (page, name) => page.locator("#live section", { has: page.locator("h2", { hasText: name }) });
const fact = async (page, name, title) => (await card(page, name).locator(".facts div", { has: page.locator(`dt:text-is("${title}")`) }).locator("dd").innerText()).trim();

test("sets are shown as they change, and the server's own address opens at them", async (context) => {
  built("still.set", lines("key", 20000), "-n", "20000", "-p", "1%", "--kind", "blocked");
  built("moving.live", ["first"], "-n", "100000", "-p", "0.1%", "--live");
  const server = await serving((work) => context.after(work), "serve", "--listen", "127.0.0.1:0", "--every", "200ms", "still.set", "moving.live", "later.set");
  const page = await openPage({ view: "live", address: server.address, allowed: server.allowed });
  await card(page, "still.set").waitFor();
  assert.equal(await fact(page, "still.set", "planned for"), "20,000");
  assert.match(await card(page, "later.set").innerText(), /No such file/);
  assert.equal(await fact(page, "moving.live", "keys"), "1");
  written("more.txt", lines("more", 5000).map((line) => `${line}\n`).join(""));
  assert.equal(command("add", "moving.live", "more.txt").code, 0);
  const keys = JSON.parse(command("info", "moving.live", "--json").out).keys.toLocaleString("en-US");
  await card(page, "moving.live").locator(`.facts dd:text-is("${keys}")`).waitFor();
  await card(page, "moving.live").locator("path.line").first().waitFor();
  built("later.set", lines("key", 10), "-n", "10", "-p", "1%", "--kind", "classic");
  await card(page, "later.set, classic").waitFor();
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme });
    await page.waitForSelector(`html[data-theme=${theme}]`);
    assert.deepEqual(await accessibility(page), []);
  }
  await page.setViewportSize({ width: 360, height: 740 });
  assert.equal(await scrollsSideways(page), false);
  assert.match(await text(page, "footer"), /asks nobody but the server/);
  // The other views are there too, with the engine.
  await page.click("nav a[data-view=cluster]");
  await page.waitForSelector("button.node");
  await page.click("nav a[data-view=live]");
  await server.end();
  await page.locator("#view-live", { hasText: "its last word" }).waitFor();
  await close(page);
});

test("a run of dedup serves itself: lines in and out, repeats, its end", async (context) => {
  const run = await serving((work) => context.after(work), "dedup", "--serve=127.0.0.1:0", "-o", "once.txt");
  const page = await openPage({ view: "live", address: run.address, allowed: run.allowed });
  const chunk = `${lines("line", 20000).join("\n")}\n`;
  run.child.stdin.write(chunk + chunk);
  await page.locator('#live .facts div:has(dt:text-is("repeats")) dd:text-is("20,000")').waitFor();
  assert.equal(await fact(page, "dedup", "lines in"), "40,000");
  assert.equal(await fact(page, "dedup", "lines out"), "20,000");
  assert.ok((await page.locator("#live path.line").count()) >= 2);
  run.child.stdin.end();
  assert.equal(await run.ended, 0);
  await page.locator("#view-live", { hasText: "its last word" }).waitFor();
  assert.equal(fs.readFileSync(`${scratch}/once.txt`, "utf8"), chunk);
  await close(page);
});

test("a server that goes and comes back is followed", async (context) => {
  built("back.set", lines("key", 100), "-n", "100", "-p", "1%", "--kind", "blocked");
  const begin = (address) => serving((work) => context.after(work), "serve", "--listen", address, "--every", "200ms", "back.set");
  const first = await begin("127.0.0.1:0");
  const page = await openPage({ view: "live", address: first.address, allowed: first.allowed });
  await card(page, "back.set").waitFor();
  first.child.kill("SIGKILL");
  await first.ended;
  await page.locator("#view-live .stale").waitFor();
  await begin(new URL(first.address).host);
  await page.locator("#view-live .status:not(.off)").waitFor({ timeout: 30000 });
  assert.equal(await page.locator("#view-live .stale").count(), 0);
  assert.ok(page.findings.every((finding) => /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING/.test(finding)), page.findings.join());
  page.findings.length = 0;
  await close(page);
});

test("a token in the address lets in, and does not stay there", async (context) => {
  built("kept.set", lines("key", 100), "-n", "100", "-p", "1%", "--kind", "blocked");
  const token = "0123456789abcdef0123";
  const server = await serving((work) => context.after(work), "serve", "--listen", "127.0.0.1:0", "--token", token, "kept.set");
  const page = await openPage({ view: "live", address: `${server.address}?token=${token}`, allowed: server.allowed });
  await card(page, "kept.set").waitFor();
  assert.equal(page.url(), `${server.address}#live`);
  await close(page);
});
