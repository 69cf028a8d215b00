// How it looks: every view in both themes and on a phone, without a finding of axe-core and without a sideways scroll;
// the keyboard; the size of the page; its first paint.

import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { accessibility, built, close, lines, openPage, pageFile, planned, scrollsSideways } from "./browser.mjs";

const most = 400_000;

/** Puts something into a view, so that it is not looked at empty. */
const filled = {
  plan: async (page) => {
    await page.click("#more summary");
    await planned(page);
  },
  inspect: async (page) => {
    await page.setInputFiles("#set-file", built("look.set", lines("key", 5000), "-n", "5000", "-p", "1%", "--kind", "blocked"));
    await page.waitForSelector(".histogram svg");
    await page.fill("#ask-keys", "key1\nkey2\nno key");
    await page.click("#inspected button.main");
    await page.waitForSelector("#answers table");
    await page.setInputFiles("#set-file", built("other.set", lines("key", 5000), "-n", "5000", "-p", "1%", "--kind", "classic"));
    await page.waitForSelector("#compared table");
    await page.click("#inspected details summary");
  },
  how: async (page) => {
    await page.click("text=Try to remove one");
    await page.waitForSelector(".cell.gone");
    await page.click("text=Find a false positive");
    await page.waitForSelector("#h-lessons li");
    await page.click("text=Add three times the keys");
    await page.waitForSelector("#h-lessons svg path.line");
  },
  cluster: async (page) => {
    await page.click("button.node >> nth=1");
  },
};

for (const [view, fill] of Object.entries(filled))
  test(`${view}: nothing against it, light, dark and on a phone`, async () => {
    const page = await openPage({ view });
    await fill(page);
    for (const [width, theme] of [[1200, "light"], [1200, "dark"], [360, "dark"]]) {
      await page.setViewportSize({ width, height: 740 });
      await page.emulateMedia({ colorScheme: theme });
      await page.waitForSelector(`html[data-theme=${theme}]`);
      assert.deepEqual(await accessibility(page), [], `${width} ${theme}`);
      assert.equal(await scrollsSideways(page), false, `${width} ${theme}`);
    }
    await close(page);
  });

test("the theme can be changed, and stays", async () => {
  const page = await openPage();
  await page.click("#theme");
  assert.equal(await page.getAttribute("html", "data-theme"), "dark");
  await page.reload();
  await planned(page);
  assert.equal(await page.getAttribute("html", "data-theme"), "dark");
  await close(page);
});

test("the keyboard comes to everything, in the order of the page", async () => {
  const page = await openPage();
  const reached = [];
  for (let i = 0; i < 60; ++i) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const node = document.activeElement;
      const box = node.getBoundingClientRect();
      const style = getComputedStyle(node);
      const ring = node.matches("input[type=radio]") ? getComputedStyle(node.nextElementSibling) : node.matches("input[type=file]") ? getComputedStyle(node.nextElementSibling) : style;
      return { name: node.id || node.dataset.view || node.dataset.kind || node.name || node.className.baseVal || node.className, top: box.top + scrollY, seen: box.width > 0 && box.height > 0, ring: ring.outlineStyle !== "none" };
    });
    assert.ok(at.seen, at.name);
    assert.ok(at.ring, `no focus ring on ${at.name}`);
    reached.push(at.name);
    if (at.name === "copy") break;
  }
  const order = ["skip", "brand", "plan", "inspect", "how", "cluster", "theme", "find", "keys", "keys-slider", "rate", "rate-slider", "memory", "chart", "blocked", "bench-file", "copy"];
  const places = order.map((name) => reached.indexOf(name));
  assert.ok(places.every((place, i) => place >= 0 && (i === 0 || place > places[i - 1])), `${reached.join(" ")}`);
  await page.keyboard.press("Home");
  await close(page);
});

test("the page is small, and paints at once", async (context) => {
  const bytes = fs.statSync(pageFile).size;
  assert.ok(bytes <= most, `${bytes} bytes`);
  const page = await openPage();
  const times = await page.evaluate(() => Object.fromEntries(performance.getEntriesByType("paint").map(({ name, startTime }) => [name, Math.round(startTime)])));
  assert.ok("first-contentful-paint" in times);
  context.diagnostic(`${bytes} bytes; first paint after ${times["first-contentful-paint"]} ms`);
  await close(page);
});
