// The engine of the committed page says what the command says, digit for digit and word for word.
//
//    BLOOMERY=the command [SEED=n] [PLANS=n] node tests/web/engine_test.mjs

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";

import { Core } from "../../web/engine/core.js";
import { bytesOf } from "../../web/engine/unpack.js";

const command = process.env.BLOOMERY;
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
const plans = Number(process.env.PLANS ?? 10_000);
const root = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../..");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "bloomery-engine-"));
const inFolder = { cwd: folder, encoding: "utf8" };

let module;
before(async () => {
  console.log(`SEED=${seed}`);
  const page = fs.readFileSync(path.join(root, "docs/planner/index.html"), "utf8");
  const [, packed] = /"(\d{5,7} [!-~]{1000,}?)"/.exec(page);
  module = await WebAssembly.compile(gunzipSync(bytesOf(packed)));
});
after(() => fs.rmSync(folder, { recursive: true }));

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function chance(from) {
  let state = from >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
const random = chance(seed);
const between = (low, high) => Math.exp(Math.log(low) + random() * Math.log(high / low));
const pick = (list) => list[Math.floor(random() * list.length)];

/** Lines of two kinds: {ok line} or {error sentence}, as the command has said it. */
function said({ code, stdout, stderr }) {
  return code === 0 ? stdout : stderr;
}
function wanted(reply) {
  return reply.error === undefined ? `${reply.json}\n` : `bloomery: error: ${reply.error}\n`;
}

const runs = promisify(execFile);
async function run(...words) {
  try {
    return { code: 0, ...(await runs(command, words, inFolder)) };
  } catch (failed) {
    return { code: failed.code, stdout: failed.stdout, stderr: failed.stderr };
  }
}

/** Asks both, a few at a time. */
async function compared(cases, verb, wordsOf) {
  const core = await Core.make(module);
  const waiting = [...cases];
  const ask = async () => {
    for (let values = waiting.pop(); values; values = waiting.pop()) {
      const words = ["plan", "--json", ...wordsOf(values)];
      assert.equal(wanted(core.ask(verb, values)), said(await run(...words)), words.join(" "));
    }
  };
  await Promise.all(Array.from({ length: os.availableParallelism() }, ask));
}

const flags = (values) => Object.entries(values).flatMap(([name, value]) => [`--${name}`, value]);

const unitless = (number) => String(Math.floor(number));
const keysText = () => pick([unitless(between(1, 1e13)), `${between(1, 999).toFixed(1)}${pick(["k", "M", "G", "T"])}`, `${pick([1, 2, 5])}e${Math.floor(between(1, 13))}`]);
const rateText = () => pick([between(1e-13, 0.6).toPrecision(1 + Math.floor(random() * 15)), `${between(1e-6, 60).toPrecision(3)}%`, `1/${unitless(between(2, 1e9))}`]);
const memoryText = () => pick([unitless(between(64, 1e13)), `${between(1, 999).toFixed(2)}${pick(["K", "M", "GiB", "T"])}`]);

function randomPlan() {
  const values = {};
  const without = Math.floor(random() * 4);
  if (without !== 0) values.keys = keysText();
  if (without !== 1) values.rate = rateText();
  if (without !== 2) values.memory = memoryText();
  if (random() < 0.3) values.range = `${unitless(between(1, 1e6))}..${unitless(between(10, 1e15))}`;
  if (random() < 0.2) values.allow = keysText();
  return values;
}

test("plans", () => compared(Array.from({ length: plans }, randomPlan), "plan", flags));

test("plans of a cluster", () => {
  const cases = Array.from({ length: Math.ceil(plans / 25) }, () => {
    const values = { keys: keysText(), rate: rateText() };
    if (random() < 0.5) values.memory = memoryText();
    if (random() < 0.5) values.nodes = unitless(between(1, 2000));
    if (random() < 0.5) values.replicas = pick(["0", "1", "2", "6"]);
    if (random() < 0.5) values.network = pick(["1G", "2.5G", "25G", "x"]);
    return values;
  });
  return compared(cases, "planNodes", ({ nodes, ...values }) => [nodes ? `--nodes=${nodes}` : "--nodes", ...flags(values)]);
});

test("lines that are shown can be run", async () => {
  const core = await Core.make(module);
  const want = { keys: "10k", rate: "1%", range: "0..99999", allow: "1000" };
  fs.writeFileSync(path.join(folder, "keys.txt"), "a\nb\n");
  fs.writeFileSync(path.join(folder, "blocked.txt"), "a\nb\n");
  fs.writeFileSync(path.join(folder, "allowed.txt"), "c\nd\n");
  fs.writeFileSync(path.join(folder, "numbers.txt"), "1\n2\n");
  for (const { kind, input } of core.ask("about").ok.kinds) {
    const { ok } = core.ask("lines", { ...want, kind });
    fs.writeFileSync(path.join(folder, "asked.txt"), input === "integers" ? "1\n" : "a\n");
    for (const line of [ok.plan, ok.command, ok.check]) {
      const ran = spawnSync(command, line.split(" ").slice(1), inFolder);
      assert.equal(ran.status, 0, `${line}: ${ran.stderr}`);
    }
  }
});

// -- files ------------------------------------------------------------------------------------------

/** The engine with these files lent to it, as a browser lends them. */
function lending(...names) {
  const open = names.map((name) => fs.openSync(path.join(folder, name)));
  return Core.make(module, {
    read: (number, offset, length) => {
      const bytes = new Uint8Array(length);
      return bytes.subarray(0, fs.readSync(open[number], bytes, 0, length, offset));
    },
  });
}

const lent = (name) => ({ name, bytes: fs.statSync(path.join(folder, name)).size });

async function inspectLike(name) {
  const verify = JSON.parse((await run("verify", "--json", name)).stdout);
  for (const pieces of [undefined, "yes"]) {
    const reply = (await lending(name)).ask("inspect", { ...lent(name), pieces });
    const whole = pieces === undefined;
    if (!verify.ok) {
      // What parts are not fit for each other shows only when they are put together.
      if (whole || reply.error !== undefined) assert.equal(reply.error, verify.files[0].error, name);
      continue;
    }
    assert.equal(reply.error, undefined, name);
    assert.equal(reply.ok.in_pieces, !whole);
    assert.equal(`${reply.ok.json.verify}\n`, (await run("verify", "--json", name)).stdout);
    if (whole) assert.equal(`${reply.ok.json.info}\n`, (await run("info", "--json", name)).stdout);
    else assert.equal(reply.ok.info.keys, JSON.parse((await run("info", "--json", name)).stdout).keys);
  }
  return verify.ok;
}

function build(name, ...words) {
  const ran = spawnSync(command, ["build", "-f", "-o", name, ...words], inFolder);
  assert.equal(ran.status, 0, ran.stderr);
  return name;
}

async function makeSets() {
  const lines = (count, line) => `${Array.from({ length: count }, (_, i) => line(i)).join("\n")}\n`;
  const count = 3000 + Math.floor(random() * 3000);
  fs.writeFileSync(path.join(folder, "keys.txt"), lines(count, (i) => `key ${i}`));
  fs.writeFileSync(path.join(folder, "numbers.txt"), lines(count, (i) => String(i * 3)));
  fs.writeFileSync(path.join(folder, "allowed.txt"), lines(500, (i) => `allowed ${i}`));
  const core = await Core.make(module);
  const sets = [];
  for (const { kind, input, two_lists } of core.ask("about").ok.kinds) {
    const words = ["--kind", kind];
    if (two_lists) words.push("--allow", "allowed.txt");
    words.push(input === "integers" ? "numbers.txt" : "keys.txt");
    sets.push({ kind, input, name: build(`${kind}.set`, ...words) });
  }
  return sets;
}

test("sets of every kind: verify, info and check", async () => {
  for (const { input, name, kind } of await makeSets()) {
    assert.ok(await inspectLike(name), name);
    const asked = Array.from({ length: 200 }, (_, i) => (input === "integers" ? String(i * 50) : `key ${i * 50}`));
    fs.writeFileSync(path.join(folder, "asked.txt"), `${asked.join("\n")}\n`);
    const printed = new Set((await run("check", name, "asked.txt")).stdout.split("\n"));
    const reply = (await lending(name)).ask("ask", { ...lent(name), key: asked });
    assert.deepEqual(reply.ok.map(({ key, there }) => [key, there]), asked.map((key) => [key, printed.has(key)]), kind);
    const picture = (await lending(name)).ask("picture", { ...lent(name), rows: 16, columns: 32 });
    assert.equal(picture.ok.histogram.reduce((sum, one) => sum + one), picture.ok.units, kind);
    assert.equal(picture.ok.heat.length, 16 * 32);
  }
});

test("hardened and empty sets, other seeds, and the golden files", async () => {
  fs.writeFileSync(path.join(folder, "none.txt"), "");
  fs.writeFileSync(path.join(folder, "secret"), "000102030405060708090a0b0c0d0e0f");
  assert.ok(await inspectLike(build("hardened.set", "--hardened", "keys.txt")));
  assert.ok(await inspectLike(build("seeded.set", "--seed", "77", "keys.txt")));
  assert.ok(await inspectLike(build("empty.set", "-n", "100", "none.txt")));
  build("elsewhere.set", "--key-file", "secret", "keys.txt");
  const core = await lending("elsewhere.set");
  assert.equal(core.ask("inspect", lent("elsewhere.set")).ok.info.secret_key, "in a key file");
  assert.match(core.ask("ask", { ...lent("elsewhere.set"), key: ["a"] }).error, /secret key is kept elsewhere/);
  const golden = path.join(root, "tests/golden");
  for (const name of fs.readdirSync(golden)) {
    if (!fs.statSync(path.join(golden, name)).isFile()) continue;
    fs.copyFileSync(path.join(golden, name), path.join(folder, name));
    await inspectLike(name);
  }
});

test("damage is told in the words of the command", async () => {
  const good = fs.readFileSync(path.join(folder, build("good.set", "-n", "5000", "-p", "1%", "keys.txt")));
  const places = [0, 3, 8, 16, 100, 4095, 4096, 8192, 8200, good.length - 1, ...Array.from({ length: 40 }, () => Math.floor(random() * good.length))];
  for (const at of places) {
    const bytes = Buffer.from(good);
    bytes[at] ^= 1 << Math.floor(random() * 8);
    fs.writeFileSync(path.join(folder, "damaged.set"), bytes);
    assert.ok(!(await inspectLike("damaged.set")), `byte ${at}`);
  }
  for (const length of [0, 1, 4, 20, 4096, 8192, 12288, good.length - 1, Math.floor(random() * good.length)]) {
    fs.writeFileSync(path.join(folder, "cut.set"), good.subarray(0, length));
    assert.ok(!(await inspectLike("cut.set")), `cut after ${length}`);
  }
  fs.writeFileSync(path.join(folder, "longer.set"), Buffer.concat([good, Buffer.from("x")]));
  assert.ok(!(await inspectLike("longer.set")));
  spawnSync("gzip", ["-kf", "good.set"], inFolder);
  for (const name of ["keys.txt", "good.set.gz"]) assert.ok(!(await inspectLike(name)), name);
});

test("two files are compared as merge compares them", async () => {
  build("one.set", "-n", "9000", "keys.txt");
  build("same.set", "-n", "9000", "allowed.txt");
  build("larger.set", "-n", "90000", "keys.txt");
  for (const other of ["same.set", "larger.set", "cuckoo.set", "seeded.set", "bitmap.set"]) {
    const { name, bytes } = lent(other);
    const reply = (await lending("one.set", other)).ask("compare", { ...lent("one.set"), other_name: name, other_bytes: bytes });
    const merged = await run("merge", "union", "-f", "-o", "both.set", "one.set", other);
    assert.equal(reply.ok.mergeable, merged.code === 0, other);
    if (!reply.ok.mergeable) assert.equal(`bloomery: error: ${reply.ok.why}\n`, merged.stderr);
    assert.equal(reply.ok.points.every(({ same }) => same), reply.ok.mergeable, other);
  }
});

// -- play -------------------------------------------------------------------------------------------

test("what is played with keeps the laws of a filter", async () => {
  const core = await Core.make(module);
  for (const facts of core.ask("about").ok.kinds.filter(({ playable }) => playable)) {
    const { kind, input, removes } = facts;
    const want = input === "integers" ? { kind, keys: 40, range: "0..127" } : { kind, keys: 40, rate: 0.1 };
    const made = core.ask("play.make", want).ok;
    assert.equal(made.ones, 0);
    const key = input === "integers" ? "37" : "apple";
    const added = core.ask("play.add", { key }).ok;
    assert.ok(added.there && !added.there_before && added.cells.some(({ before, after }) => before !== after), kind);
    assert.ok(added.cells.every(({ cell, after }) => added.state.values[cell] === after));
    const filled = core.ask("play.fill", { count: 39 }).ok;
    if (!facts.forgets) assert.equal(filled.state.keys, filled.refused ? filled.state.keys : 40);
    assert.ok(core.ask("play.ask", { key }).ok.there, kind);
    const found = core.ask("play.findFalse", { tries: 100000 }).ok;
    if (found) assert.ok(found.false_positive && found.there && !found.added && found.explained_by.length > 0, kind);
    const removed = core.ask("play.remove", { key });
    assert.equal(removed.error === undefined, removes, kind);
    if (kind === "counting" || kind === "bitmap") assert.ok(!removed.ok.added);
  }
});
