// How it works: the small filter, step by step, and the three doubts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { close, openPage, text } from "./browser.mjs";

const add = async (page, key) => {
  await page.fill("#h-key", key);
  await page.click("#h-form button.main");
  await page.locator("#h-chips button", { hasText: key }).waitFor();
};
const press = (page, button) => page.click(`#h-form button:text-is("${button}")`);
const kindsOf = (page) => page.$$eval("#h-kind option", (all) => all.map((option) => option.value));

test("a key sets its cells and is there; others are not", async () => {
  const page = await openPage({ view: "how" });
  assert.equal(await page.locator("#h-cells .cell.set").count(), 0);
  await add(page, "apple");
  const fresh = await page.locator("#h-cells .cell.fresh").count();
  assert.ok(fresh > 1);
  assert.equal(await page.locator("#h-cells .cell.set").count(), fresh);
  assert.match(await text(page, "#h-flow li:nth-child(5)"), new RegExp(`surely new; ${fresh} cells changed`));
  await page.fill("#h-key", "apple");
  await press(page, "Ask");
  await page.waitForFunction(() => document.querySelector("#h-flow li:last-child").textContent.includes("maybe there"));
  assert.equal(await page.locator("#h-cells .cell.fresh").count(), 0);
  assert.equal(await page.locator("#h-cells .cell.looked").count(), fresh);
  await page.fill("#h-key", "a stranger");
  await press(page, "Ask");
  await page.waitForFunction(() => document.querySelector("#h-flow li:last-child").textContent.includes("surely not there"));
  await press(page, "Remove");
  await page.waitForSelector("#h-verdict.wrong");
  await close(page);
});

test("steps can be walked, forth and back", async () => {
  const page = await openPage({ view: "how" });
  await add(page, "pear");
  await page.click("#h-next");
  assert.equal(await text(page, "#h-steps"), "step 1 of 5");
  assert.equal(await page.locator("#h-cells .cell.set").count(), 0);
  for (const step of [2, 3, 4]) {
    await page.click("#h-next");
    assert.equal(await text(page, "#h-steps"), `step ${step} of 5`);
    assert.equal(await page.locator("#h-flow li.now b").innerText(), ["Hash", "Line", "Cells"][step - 2]);
  }
  assert.ok((await page.locator("#h-cells .cell.looked").count()) > 1);
  await page.click("#h-back");
  assert.equal(await text(page, "#h-steps"), "step 3 of 5");
  await page.click("#h-next");
  await page.click("#h-next");
  assert.ok((await page.locator("#h-cells .cell.fresh").count()) > 1);
  await close(page);
});

test("every kind can be played with", async () => {
  const page = await openPage({ view: "how" });
  const kinds = await kindsOf(page);
  assert.ok(kinds.length > 5, kinds.join(" "));
  for (const kind of kinds) {
    await page.selectOption("#h-kind", kind);
    await page.locator("#h-what", { hasText: `${kind}:` }).waitFor();
    await page.waitForFunction(() => document.querySelectorAll("#h-cells .cell").length > 0 && document.querySelectorAll("#h-chips li").length === 0);
    const built = (await text(page, "#h-verdict")).includes("all its keys at once");
    if (built) {
      await page.click("text=Find a false positive");
      await page.waitForFunction(() => document.querySelectorAll("#h-chips li").length > 0);
    } else {
      const key = await page.inputValue("#h-key");
      await press(page, "Add");
      await page.locator("#h-chips button", { hasText: key }).waitFor();
      await page.click("#h-chips button");
      await page.waitForFunction(() => /there/.test(document.querySelector("#h-flow li:last-child").textContent));
      assert.doesNotMatch(await text(page, "#h-flow li:last-child"), /not there/, kind);
    }
    assert.ok((await page.locator("#h-cells .cell.set").count()) > 0, kind);
    assert.doesNotMatch(await text(page, "#view-how"), /NaN|undefined|null|\[object/, kind);
  }
  await close(page);
});

test("a false positive is found, and explained by the keys that own its cells", async () => {
  const page = await openPage({ view: "how", values: "kind=blocked&keys=32&rate=0.3" });
  await page.click("text=Find a false positive");
  const told = page.locator("#h-lessons .card").first();
  await told.locator("text=was never added").waitFor();
  assert.match(await text(page, "#h-flow li:last-child"), /maybe there/);
  const owners = await told.locator("li").count();
  assert.ok(owners > 0);
  const looked = await page.locator("#h-cells .cell.looked").count();
  assert.equal(await page.locator("#h-cells .cell.looked.set").count(), looked);
  await close(page);
});

test("removing would make others forgotten; too many keys make more maybes, no denials", async () => {
  const page = await openPage({ view: "how" });
  await page.click("text=Try to remove one");
  const second = page.locator("#h-lessons .card").nth(1);
  await second.locator("text=would be denied").waitFor();
  assert.ok((await page.locator("#h-cells .cell.gone").count()) > 0);
  await page.click("text=Add three times the keys");
  const third = page.locator("#h-lessons .card").nth(2);
  await third.locator("svg path.line").first().waitFor();
  assert.match(await third.innerText(), /No added key is denied/);
  assert.match(await text(page, "#h-facts"), /overfull/);
  await page.selectOption("#h-kind", "counting");
  await page.locator("#h-what", { hasText: "counting:" }).waitFor();
  assert.equal(await page.locator("#h-lessons svg").count(), 0);
  await page.click("text=Try to remove one");
  await second.locator("text=This kind").waitFor();
  await close(page);
});
