// Debian's chromium, a page in it that is watched, and the command to hold it against.
//
// A watched page may say nothing on its console and may ask the network for nothing: `close` fails
// if it did.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const source = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const installed = path.join(source, "build/web_tests/package.json");
if (!fs.existsSync(installed)) throw new Error("what drives the browser is missing; scripts/setup test installs it");
const require = createRequire(installed);
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const pageFile = path.join(source, "docs/planner/index.html");
export const pageAddress = pathToFileURL(pageFile).href;
export const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "bloomery-page-"));

let browser;

export async function start() {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
}

export async function stop() {
  await browser?.close();
  fs.rmSync(scratch, { recursive: true, force: true });
}

/** Runs the command in the scratch folder: { code, out, err }. */
export function command(...words) {
  const ran = spawnSync(process.env.BLOOMERY, words, { cwd: scratch, encoding: "utf8" });
  assert.equal(ran.error, undefined);
  return { code: ran.status, out: ran.stdout, err: ran.stderr };
}

/** What the command prints with --json, parsed. */
export function report(...words) {
  const { code, out, err } = command(...words, "--json");
  assert.equal(code, 0, err);
  return JSON.parse(out);
}

/** The sentence with which the command refuses. */
export function refusal(...words) {
  const { code, err } = command(...words);
  assert.equal(code, 2);
  return err.trim().replace(/^bloomery: error: /, "");
}

/** Writes a file into the scratch folder and gives its path. */
export function written(name, content) {
  const file = path.join(scratch, name);
  fs.writeFileSync(file, content);
  return file;
}

/** A set file of the command, of some lines. */
export function built(name, keys, ...flags) {
  written(`${name}.txt`, keys.map((key) => `${key}\n`).join(""));
  const { code, err } = command("build", "-o", name, ...flags, "-f", `${name}.txt`);
  assert.equal(code, 0, err);
  return path.join(scratch, name);
}

export const lines = (prefix, count) => Array.from({ length: count }, (_, i) => `${prefix}${i + 1}`);

/** Opens the page from its file, and waits until its view is ready. */
export async function openPage({ view = "plan", values = "", width = 1200, height = 900, theme = "light", address = pageAddress, allowed = /^(file|blob|data):/ } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  page.setDefaultTimeout(10000);
  page.findings = [];
  page.on("console", (said) => { if (["error", "warning"].includes(said.type())) page.findings.push(`console: ${said.text()}`); });
  page.on("pageerror", (error) => page.findings.push(`error: ${error.stack}`));
  page.on("dialog", (dialog) => { page.findings.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (!allowed.test(request.url())) page.findings.push(`request: ${request.url()}`); });
  await page.goto(`${address}#${view}${values ? `?${values}` : ""}`);
  await ready(page, view);
  return page;
}

export async function ready(page, view) {
  await page.waitForFunction((name) => document.body.dataset.ready === name, view);
  if (view === "plan") await planned(page);
}

/** Until the plan is whole: table, lines and picture. */
export const planned = (page) => page.waitForSelector("#view-plan[aria-busy=false]");

export async function close(page) {
  assert.equal(await page.locator("#trouble").isVisible(), false, await page.textContent("#trouble"));
  await page.context().close();
  assert.deepEqual(page.findings, []);
}

export const text = async (page, selector) => (await page.locator(selector).innerText()).trim();

/** Drops files on the page: { name, content } with content a Buffer or a string. */
export async function drop(page, ...files) {
  const packed = files.map(({ name, content }) => ({ name, content: Buffer.from(content).toString("base64") }));
  await page.evaluate((all) => {
    const data = new DataTransfer();
    for (const { name, content } of all) data.items.add(new File([Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0))], name));
    const place = document.querySelector("main");
    for (const name of ["dragover", "drop"]) place.dispatchEvent(new DragEvent(name, { bubbles: true, cancelable: true, dataTransfer: data }));
  }, packed);
}

/** Everything that axe-core has against what is shown now. */
export async function accessibility(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run());
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target.join(" ")).join(", ")}`);
}

export const scrollsSideways = (page) => page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
