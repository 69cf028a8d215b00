// Inspect: files of the command, dropped as a person drops them; damaged, strange and empty ones; two of them.

import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { built, close, command, drop, lines, openPage, ready, report, text, written } from "./browser.mjs";

const keys = lines("key", 20000);
const name = (file) => file.slice(file.lastIndexOf("/") + 1);
const give = async (page, ...files) => drop(page, ...files.map((file) => ({ name: name(file), content: fs.readFileSync(file) })));
const fact = (page, title) => page.locator("#inspected .facts div", { has: page.locator(`dt:text-is("${title}")`) }).locator("dd").innerText();
/** A line of a report as the command prints it. */
const line = (...words) => command(...words, "--json").out.trim();

test("a dropped set is verified, told and drawn as the command tells it", async () => {
  const page = await openPage({ view: "inspect" });
  const file = built("a.set", keys, "-n", "20000", "-p", "1%", "--kind", "blocked");
  await give(page, file);
  await page.waitForSelector(".histogram svg");
  const info = report("info", "a.set");
  assert.equal(await text(page, "#inspected h2 .badge"), "blocked");
  assert.match(await text(page, "#inspected .status"), /^Verified: every checksum/);
  assert.equal((await fact(page, "keys")).split("\n")[0], info.keys.toLocaleString("en-US"));
  assert.equal((await fact(page, "keys, by the bits")).split("\n")[0], Math.round(info.keys_estimated).toLocaleString("en-US"));
  assert.equal((await fact(page, "false positives now")).split("\n")[0], `${Number((info.rate_now * 100).toPrecision(3))} %`);
  assert.match(await text(page, "#inspected .pairs"), new RegExp(`fill\\s+${(info.fill * 100).toPrecision(3)} % of the bits`));
  await page.click("#inspected details summary");
  const printed = await page.$$eval("#inspected details code", (all) => all.map((code) => code.textContent));
  assert.deepEqual(printed, [line("verify", "a.set"), line("info", "a.set")]);
  // The picture is of these lines: as many as the set has, with as many ones as it has.
  assert.match(await text(page, ".histogram + .note"), new RegExp(`^${(info.bytes / 64).toLocaleString("en-US")} lines`));
  const bars = await page.$$eval(".histogram rect title", (all) => all.map((bar) => bar.textContent.match(/([\d,]+) lines have (\d+)/).slice(1).map((digits) => Number(digits.replaceAll(",", "")))));
  assert.equal(bars.reduce((sum, [units]) => sum + units, 0), info.bytes / 64);
  const ones = bars.reduce((sum, [units, each]) => sum + units * each, 0);
  assert.ok(Math.abs(ones / (info.bytes * 8) - info.fill) < 1e-9, `${ones} ones`);
  await close(page);
});

test("its keys are there, and strangers are not unless the command says so too", async () => {
  const page = await openPage({ view: "inspect" });
  built("b.set", keys, "-n", "20000", "-p", "1%", "--kind", "classic");
  await page.setInputFiles("#set-file", written("b-copy.set", fs.readFileSync(built("b.set", keys, "-n", "20000", "-p", "1%", "--kind", "classic"))));
  await page.waitForSelector(".histogram svg");
  const asked = [...keys.slice(0, 40), ...lines("stranger", 400), "  spaces  ", "ключ", "<b>bold</b>"];
  written("asked.txt", asked.map((key) => `${key}\n`).join(""));
  const maybe = new Set(command("check", "b.set", "-f", "asked.txt").out.split("\n"));
  await page.fill("#ask-keys", asked.join("\n"));
  await page.click("#inspected button.main");
  await page.waitForSelector("#answers table");
  const answers = await page.$$eval("#answers tbody tr", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(answers, asked.map((key) => [key, maybe.has(key) ? "maybe there" : "surely not there"]));
  assert.ok(maybe.size > 40, "no false positive among 400 strangers at 1 %");
  await close(page);
});

test("an exact map of integers answers exactly, and wants integers", async () => {
  const page = await openPage({ view: "inspect" });
  await give(page, built("m.set", ["3", "77", "4095"], "--kind", "bitmap", "--range", "0..4095"));
  await page.waitForSelector("#inspected .badge");
  assert.match(await text(page, "#inspected"), /Its answers are exact/);
  await page.fill("#ask-keys", "77\n78");
  await page.click("#inspected button.main");
  await page.waitForSelector("#answers table");
  assert.deepEqual(await page.$$eval("#answers tbody td:nth-child(2)", (all) => all.map((cell) => cell.textContent)), ["there", "surely not there"]);
  await page.fill("#ask-keys", "seventy");
  await page.click("#inspected button.main");
  await page.waitForSelector("#answers .wrong");
  assert.match(await text(page, "#answers .wrong"), /seventy/);
  await close(page);
});

test("damaged, strange and empty files get the sentence of verify", async () => {
  const page = await openPage({ view: "inspect" });
  const good = fs.readFileSync(built("c.set", keys, "-n", "20000", "-p", "1%", "--kind", "blocked"));
  const damaged = Buffer.from(good);
  damaged[good.length >> 1] ^= 4;
  for (const [file, content] of [["damaged.set", damaged], ["cut.set", good.subarray(0, good.length - 100)], ["picture.png", Buffer.from("89504e470d0a1a0a0000000d49484452", "hex")], ["notes.txt", "dear diary\n".repeat(100)], ["empty.set", ""]]) {
    written(file, content);
    await drop(page, { name: file, content });
    await page.locator("#inspected h2", { hasText: file }).waitFor();
    const told = JSON.parse(command("verify", file, "--json").out).files[0].error;
    assert.equal(await text(page, "#inspected .sentence"), told, file);
    assert.equal(await page.locator("#inspected .status").count(), 0);
  }
  await give(page, written("fine.set", good));
  await page.waitForSelector("#inspected .status");
  await close(page);
});

test("sets that only the command can ask are verified and say so", async () => {
  const page = await openPage({ view: "inspect" });
  written("secret.key", "00112233445566778899aabbccddeeff");
  const some = ["https://example.org/"];
  for (const [file, said, ...flags] of [["secret.set", /secret key is kept elsewhere/, "--key-file", "secret.key"], ["urls.set", /normalizes its keys/, "--normalize", "url"]]) {
    await give(page, built(file, some, "-n", "1000", "-p", "1%", "--kind", "blocked", ...flags));
    await page.locator("#inspected h2", { hasText: file }).waitFor();
    assert.match(await text(page, "#inspected .status"), /^Verified/);
    await page.fill("#ask-keys", some[0]);
    await page.click("#inspected button.main");
    await page.waitForSelector("#answers .wrong");
    assert.match(await text(page, "#answers .wrong"), said);
    await page.reload();
    await ready(page, "inspect");
  }
  await give(page, built("carried.set", some, "-n", "1000", "-p", "1%", "--kind", "blocked", "--hardened"));
  await page.waitForSelector("#inspected .status");
  await page.fill("#ask-keys", some[0]);
  await page.click("#inspected button.main");
  await page.waitForSelector("#answers table");
  assert.match(await text(page, "#answers"), /maybe there/);
  await close(page);
});

test("two sets can be merged or not, for the reason that merge gives", async () => {
  const page = await openPage({ view: "inspect" });
  const shape = ["-n", "20000", "-p", "1%", "--kind", "blocked"];
  const one = built("one.set", keys, ...shape);
  const other = built("other.set", lines("other", 500), ...shape);
  await give(page, one);
  await page.waitForSelector("#inspected .badge");
  await give(page, other);
  await page.waitForSelector("#compared table");
  assert.equal(await text(page, "#compared strong"), "Yes.");
  assert.equal(command("merge", "union", "-o", "both.set", "one.set", "other.set").code, 0);
  assert.ok((await text(page, "#compared")).includes("bloomery merge union -o both.set one.set other.set"));
  const larger = built("larger.set", keys, "-n", "900000", "-p", "1%", "--kind", "blocked");
  await give(page, one, larger);
  await page.locator("#compared h2", { hasText: "larger.set" }).waitFor();
  assert.equal(await text(page, "#compared strong"), "No.");
  assert.ok((await page.locator("#compared td.wrong").count()) > 0);
  assert.equal(command("merge", "union", "-o", "none.set", "one.set", "larger.set").code, 2);
  await page.click("#compared >> text=Look inside larger.set instead");
  await page.locator("#inspected h2", { hasText: "larger.set" }).waitFor();
  assert.equal(await page.locator("#compared table").count(), 0);
  await close(page);
});

test("a file dropped on another view opens where it can be looked into", async () => {
  const page = await openPage({ view: "cluster" });
  await give(page, built("d.set", keys, "-n", "20000", "-p", "1%", "--kind", "cuckoo"));
  await page.waitForSelector("#view-inspect:not([hidden]) .status");
  assert.equal(await text(page, "#inspected .badge"), "cuckoo");
  await close(page);
});
