// Plan: fields, sliders, the address, kinds, pictures, lines to copy; every number is the command's.

import assert from "node:assert/strict";
import { test } from "node:test";
import { close, command, drop, lines, openPage, planned, refusal, report, text, written } from "./browser.mjs";

/** The bytes of every kind that the table shows. */
const table = (page) => page.$$eval("#kinds tbody tr", (rows) => rows.map((row) => [row.querySelector("[data-kind]").dataset.kind, Number(row.querySelector("[data-bytes]").dataset.bytes)]));

async function sameAsCommand(page, ...flags) {
  await planned(page);
  const told = report("plan", ...flags);
  assert.deepEqual(await table(page), told.kinds.map(({ kind, bytes }) => [kind, bytes]));
  assert.equal(await text(page, "#answer .kind strong"), told.chosen);
  return told;
}

const choose = (page, name, value) => page.check(`input[name=${name}][value=${value}]`, { force: true });
const plot = (page) => page.locator("#chart .chart-host:not([hidden]) svg");

test("typed plans show the numbers of the command", async () => {
  const page = await openPage();
  await sameAsCommand(page, "-n", "10M", "-p", "1%");
  assert.equal(await page.inputValue("#memory"), "11.86 MiB");
  assert.equal(await text(page, "#rate-note"), "1 in 100 absent keys is taken for a member");
  await page.fill("#keys", "2.5G");
  await page.fill("#rate", "1/1000000");
  await sameAsCommand(page, "-n", "2.5G", "-p", "1/1000000");
  assert.match(await text(page, "#keys-note"), /2\.5 billion/);
  await choose(page, "find", "rate");
  await page.fill("#memory", "3G");
  await sameAsCommand(page, "-n", "2.5G", "-m", "3G");
  await choose(page, "find", "keys");
  await page.fill("#rate", "0.1%");
  const most = await sameAsCommand(page, "-p", "0.1%", "-m", "3G");
  const row = most.kinds.find(({ kind }) => kind === most.chosen);
  assert.equal(await page.inputValue("#keys"), row.keys.toLocaleString("en-US"));
  await choose(page, "find", "fit");
  await page.fill("#keys", "10M");
  await page.fill("#rate", "1%");
  await page.fill("#memory", "13M");
  const fits = await sameAsCommand(page, "-n", "10M", "-p", "1%", "-m", "13M");
  assert.equal(await text(page, "#left-out summary"), `${fits.left_out.length} kinds do not fit`);
  await page.click("#more summary");
  await page.fill("#memory", "1G");
  await page.fill("#range", "0..99999999");
  await page.fill("#allow", "1M");
  await sameAsCommand(page, "-n", "10M", "-p", "1%", "-m", "1G", "--range", "0..99999999", "--allow", "1M");
  await close(page);
});

test("a slider moves the plan, and the keyboard moves a slider", async () => {
  const page = await openPage();
  const slider = page.locator("#keys-slider");
  await slider.focus();
  for (let i = 0; i < 3; ++i) await slider.press("ArrowRight");
  await planned(page);
  const keys = await page.inputValue("#keys");
  assert.notEqual(keys, "10M");
  await sameAsCommand(page, "-n", keys, "-p", "1%");
  const box = await page.locator("#rate-slider").boundingBox();
  await page.mouse.move(box.x + box.width * 0.8, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + box.height / 2, { steps: 60 });
  await page.mouse.up();
  const rate = await page.inputValue("#rate");
  assert.notEqual(rate, "1%");
  await sameAsCommand(page, "-n", keys, "-p", rate);
  assert.match(await page.getAttribute("#rate-slider", "aria-valuetext"), /[%⁻]/);
  await close(page);
});

test("the address has the whole plan, and going back brings the one before", async () => {
  const page = await openPage();
  await choose(page, "find", "rate");
  await page.fill("#keys", "123456789");
  await page.fill("#memory", "256M");
  await page.click("#more summary");
  await page.check("#needs input[value=merge]");
  await choose(page, "chart", "over");
  await page.click("[data-kind=classic]");
  await planned(page);
  const address = await page.evaluate(() => location.hash);
  const shown = await table(page);
  const other = await openPage({ values: address.slice(address.indexOf("?") + 1) });
  assert.deepEqual(await table(other), shown);
  assert.equal(await other.inputValue("#keys"), "123456789");
  assert.equal(await other.isChecked("#needs input[value=merge]"), true);
  assert.equal(await other.isChecked("input[name=chart][value=over]"), true);
  assert.equal(await other.getAttribute("[data-kind=classic]", "aria-pressed"), "true");
  await close(other);
  await page.goBack();
  await page.waitForSelector("[data-kind=classic][aria-pressed=false]");
  await page.goForward();
  await page.waitForSelector("[data-kind=classic][aria-pressed=true]");
  // A link right after a key was pressed loses nothing.
  await page.fill("#keys", "77M");
  await page.click("nav a[data-view=how]");
  await page.waitForSelector("#view-how:not([hidden])");
  await page.goBack();
  await page.waitForSelector("#view-plan:not([hidden])");
  assert.equal(await page.inputValue("#keys"), "77M");
  await planned(page);
  await close(page);
});

test("an address from a stranger is text, and nothing else", async () => {
  const markup = "<img src=x onerror=alert(1)>";
  const values = new URLSearchParams({ keys: markup, rate: "1%", kind: "__proto__", needs: `merge,constructor,${markup}`, find: "toString", chart: "valueOf", range: markup, more: "x" });
  const page = await openPage({ values: values.toString() });
  assert.equal(await page.inputValue("#keys"), markup);
  assert.ok((await text(page, "#keys-note")).includes(markup));
  assert.equal(await page.locator("main img").count(), 0);
  assert.equal(await page.getAttribute("#keys", "aria-invalid"), "true");
  assert.match(await text(page, "#lines"), /nothing to copy/);
  await page.fill("#keys", "1M");
  await page.fill("#range", "");
  await planned(page);
  assert.deepEqual(await table(page), report("plan", "-n", "1M", "-p", "1%").kinds.map(({ kind, bytes }) => [kind, bytes]));
  await close(page);
  const long = await openPage({ values: `keys=${"9".repeat(100000)}&rate=%E0%A4%A&memory=%00` });
  assert.equal((await long.inputValue("#keys")).length, 100);
  await close(long);
});

test("what cannot be planned is told beside its field, in the words of the command", async () => {
  const page = await openPage();
  for (const [field, good, bad, flags] of [["keys", "10M", "ten", ["-n", "ten", "-p", "1%"]], ["rate", "1%", "150%", ["-n", "10M", "-p", "150%"]]]) {
    await page.fill(`#${field}`, bad);
    await planned(page);
    assert.equal(await text(page, `#${field}-note`), refusal("plan", ...flags));
    assert.equal(await page.getAttribute(`#${field}`, "aria-invalid"), "true");
    assert.equal(await page.inputValue("#memory"), "");
    await page.fill(`#${field}`, good);
  }
  await sameAsCommand(page, "-n", "10M", "-p", "1%");
  assert.equal(await page.getAttribute("#rate", "aria-invalid"), null);
  await choose(page, "find", "fit");
  await page.fill("#memory", "10");
  await planned(page);
  assert.equal(await text(page, "#plan-error"), refusal("plan", "-n", "10M", "-p", "1%", "-m", "10"));
  await close(page);
});

test("ticked needs change the recommended kind; a kind that cannot says so", async () => {
  const page = await openPage({ values: "needs=remove" });
  assert.notEqual(await text(page, "#answer .kind strong"), "blocked");
  assert.equal(await page.locator("#kinds tr.chosen .badge").count(), 1);
  await page.click("[data-kind=blocked]");
  await planned(page);
  assert.match(await text(page, "#answer"), /cannot remove keys/);
  await page.check("#needs input[value=forget]");
  await planned(page);
  assert.match(await text(page, "#answer"), /No single kind does all/);
  await close(page);
});

test("the pictures show every kind, to the pointer and to the keyboard", async () => {
  const page = await openPage();
  const kinds = (await table(page)).map(([kind]) => kind);
  for (const chart of ["rate", "keys", "over"]) {
    await choose(page, "chart", chart);
    await planned(page);
    await plot(page).locator("path.line").first().waitFor();
    const drawn = await plot(page).locator("path.line").evaluateAll((all) => all.map((line) => line.dataset.line));
    if (chart !== "over") assert.deepEqual(drawn.sort(), [...kinds].sort());
    await plot(page).focus();
    await plot(page).press("Home");
    const tip = page.locator("#chart .chart-host:not([hidden]) .tip");
    assert.ok((await tip.locator(".row").count()) > 5);
    const first = await tip.innerText();
    await plot(page).press("End");
    assert.notEqual(await tip.innerText(), first);
    await plot(page).press("Escape");
    assert.equal(await tip.isVisible(), false);
  }
  await choose(page, "chart", "rate");
  await planned(page);
  await plot(page).click({ position: { x: 600, y: 150 } });
  await planned(page);
  const asked = await page.inputValue("#rate");
  assert.notEqual(asked, "1%");
  await sameAsCommand(page, "-n", "10M", "-p", asked);
  await close(page);
});

test("the copied lines do what they say", async () => {
  const page = await openPage({ values: "keys=1000&rate=0.1%25" });
  for (const name of ["keys.txt", "asked.txt"]) written(name, lines("key", 1000).map((line) => `${line}\n`).join(""));
  const copied = async (title) => {
    const part = page.locator(".snippet", { has: page.locator("h3", { hasText: title }) });
    await part.locator("button").click();
    await part.locator("button", { hasText: "Copied" }).waitFor();
    const line = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(line, await part.locator("code").innerText());
    return line;
  };
  for (const title of ["Terminal: make it", "Terminal: ask it", "Terminal: this plan"]) {
    const words = (await copied(title)).split(/\s+/);
    assert.equal(words.shift(), "bloomery");
    const { code, err } = command(...words);
    assert.equal(code, 0, `${words.join(" ")}: ${err}`);
  }
  assert.match(await copied("C++"), /#include <bloomery\//);
  assert.match(await copied("Python"), /import bloomery/);
  await close(page);
});

test("a bench of this machine takes the place of the one that comes with the page", async () => {
  const page = await openPage();
  const bench = { cpu: "An abacus", keys: 1e6, rate_asked: 0.01, kinds: [{ kind: "blocked", timings: [{ operation: "add_all", ns: 1234.4 }, { operation: "ask_all_hit", ns: 77.7 }] }] };
  await drop(page, { name: "bench.json", content: JSON.stringify(bench) });
  await page.waitForFunction(() => document.getElementById("bench-note").textContent.includes("An abacus"));
  assert.match(await text(page, "#kinds tr.chosen"), /1,230 \/ 77\.7/);
  assert.match(await text(page, "#kinds tr:has([data-kind=classic])"), /not measured/);
  await drop(page, { name: "other.json", content: "[1, 2" });
  await page.waitForSelector("#bench-note.wrong");
  assert.match(await text(page, "#bench-note"), /bloomery bench --json/);
  await close(page);
});
