// Takes the pictures of docs/images from docs/planner/index.html.
//
//    BLOOMERY=the command node tests/web/pictures.mjs
//
// pngquant, if it is there, makes them a third as long.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { built, command, lines, openPage, source, start, stop, written } from "./page/browser.mjs";
import { serving } from "./page/serving.mjs";

const folder = path.join(source, "docs/images");

/** What is done in a view before its picture is taken. */
const made = {
  inspect: async (page) => {
    await page.setInputFiles("#set-file", built("visited.set", lines("https://example.org/page/", 180000), "-n", "200000", "-p", "1%", "--kind", "blocked"));
    await page.waitForSelector(".histogram svg");
    await page.fill("#ask-keys", "https://example.org/page/7\nhttps://example.org/page/8\nhttps://elsewhere.example/");
    await page.click("#inspected button.main");
    await page.waitForSelector("#answers table");
  },
  how: async (page) => {
    for (const key of ["apple", "pear", "plum"]) {
      await page.fill("#h-key", key);
      await page.click("#h-form button.main");
      await page.locator("#h-chips button", { hasText: key }).waitFor();
    }
    await page.click("text=Find a false positive");
    await page.waitForSelector("#h-lessons li");
  },
  cluster: async (page) => {
    await page.click("button.node >> nth=2");
  },
};

async function picture(name, { view = "plan", height = 1000, ...wish }) {
  const page = await openPage({ view, height, ...wish });
  await made[view]?.(page);
  await taken(page, name);
  await page.context().close();
}

async function taken(page, name) {
  await page.evaluate(() => { document.activeElement?.blur(); scrollTo(0, 0); });
  await page.waitForTimeout(500);
  const file = path.join(folder, `planner-${name}.png`);
  await page.screenshot({ path: file });
  spawnSync("pngquant", ["--force", "--ext", ".png", "--speed", "1", "--strip", "64", file]);
  process.stdout.write(`${file} ${fs.statSync(file).size}\n`);
}

/** Two sets that are served, while one of them grows. */
async function live() {
  built("visited.set", lines("https://example.org/page/", 180000), "-n", "200000", "-p", "1%");
  built("seen.live", ["first"], "-n", "400000", "-p", "0.1%", "--live");
  const server = await serving((work) => process.on("exit", work), "serve", "--listen", "127.0.0.1:0", "--every", "250ms", "seen.live", "visited.set");
  const page = await openPage({ view: "live", address: server.address, allowed: server.allowed, height: 920 });
  for (let round = 0; round < 24; ++round) {
    written("more.txt", lines(`key ${round} `, 15000 + 5000 * (round % 4)).map((line) => `${line}\n`).join(""));
    command("add", "seen.live", "more.txt");
    await page.waitForTimeout(250);
  }
  await taken(page, "live");
  await page.context().close();
  await server.end();
}

fs.mkdirSync(folder, { recursive: true });
await start();
try {
  await picture("plan", { height: 1060 });
  await picture("dark", { theme: "dark", height: 1060, values: "keys=1G&rate=0.001%25&chart=keys" });
  await picture("inspect", { view: "inspect", height: 1480 });
  await picture("how", { view: "how", height: 1220, values: "kind=blocked&keys=64&rate=0.1" });
  await picture("cluster", { view: "cluster", height: 1180, values: "keys=1T&nodes=12&memory=256G" });
  await picture("phone", { width: 390, height: 844 });
  await live();
} finally {
  await stop();
}
