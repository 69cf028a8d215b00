// Large set files in the browser: one of 1 GB is read in pieces, cancelled on the way, read whole,
// asked, damaged; one that is larger than what is read whole is verified in pieces all the same.
//
//    BLOOMERY=the command node tests/web/page_big_test.mjs

import assert from "node:assert/strict";
import fs from "node:fs";
import { after, before, test } from "node:test";
import { built, close, command, lines, openPage, ready, report, start, stop, text } from "./page/browser.mjs";

before(start);
after(stop);

test("a file of 1 GB is verified in pieces, can be cancelled and asked, and its damage is found", async (context) => {
  const file = built("big.set", lines("key", 1000), "-n", "860M", "-p", "1%", "--kind", "blocked");
  assert.ok(fs.statSync(file).size > 1e9);
  const page = await openPage({ view: "inspect" });
  page.setDefaultTimeout(300000);
  await page.setInputFiles("#set-file", file);
  await page.waitForFunction(() => document.getElementById("job-bar").value > 0.1);
  await page.click("#job-cancel");
  await page.locator("#inspected", { hasText: "Cancelled" }).waitFor();
  const begun = performance.now();
  await page.setInputFiles("#set-file", file);
  await page.waitForSelector("#inspected .status");
  context.diagnostic(`${fs.statSync(file).size} bytes in ${Math.round(performance.now() - begun)} ms`);
  assert.match(await text(page, "#inspected .facts div:first-child dd"), new RegExp(`^${report("info", "big.set").keys.toLocaleString("en-US")}`));
  await page.fill("#ask-keys", "key7");
  await page.click("#inspected button.main");
  await page.waitForFunction(() => document.getElementById("answers").childElementCount > 0);
  assert.match(await text(page, "#answers"), /key7\s+maybe there/);
  const open = fs.openSync(file, "r+");
  fs.writeSync(open, "x", 700_000_000);
  fs.closeSync(open);
  await page.reload();
  await ready(page, "inspect");
  await page.setInputFiles("#set-file", file);
  await page.waitForSelector("#inspected .sentence");
  assert.equal(await text(page, "#inspected .sentence"), JSON.parse(command("verify", "big.set", "--json").out).files[0].error);
  await close(page);
});

test("a file of more than 2 GB is verified in pieces, and its damage is found", async (context) => {
  const file = built("huge.set", lines("key", 1000), "-n", "2G", "-p", "1%", "--kind", "blocked");
  assert.ok(fs.statSync(file).size > 2 ** 31);
  const page = await openPage({ view: "inspect" });
  page.setDefaultTimeout(300000);
  const begun = performance.now();
  await page.setInputFiles("#set-file", file);
  await page.waitForSelector("#inspected .status");
  context.diagnostic(`${fs.statSync(file).size} bytes in ${Math.round(performance.now() - begun)} ms`);
  assert.match(await text(page, "#inspected"), /larger than the browser lends this page at once/);
  assert.match(await text(page, "#inspected"), /Verified/);
  const open = fs.openSync(file, "r+");
  fs.writeSync(open, "x", 2 ** 31 + 5);
  fs.closeSync(open);
  await page.reload();
  await ready(page, "inspect");
  await page.setInputFiles("#set-file", file);
  await page.waitForSelector("#inspected .sentence");
  assert.equal(await text(page, "#inspected .sentence"), JSON.parse(command("verify", "huge.set", "--json").out).files[0].error);
  await close(page);
});
