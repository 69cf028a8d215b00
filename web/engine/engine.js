// The engine as the page sees it (engine.d.ts): workers, and what is posted to them.
//
// scripts/web puts the text of worker.js and the compressed wasm behind the two names with `#`.

import wasmText from "#wasm";
import workerText from "#worker";
import { bytesOf } from "./unpack.js";

async function unpacked(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function aborted() {
  return new DOMException("cancelled", "AbortError");
}

/** One worker, made when it is first asked, and made again after it was ended. */
class Service {
  constructor(wasm, place) {
    this.wasm = wasm;
    this.place = place;
    this.waiting = new Map();
    this.count = 0;
  }

  start() {
    const worker = new Worker(this.place);
    worker.onmessage = ({ data: { id, reply, failed, progress } }) => {
      const waits = this.waiting.get(id);
      if (!waits) return;
      if (progress) return waits.progress?.(...progress);
      this.waiting.delete(id);
      if (failed) waits.refuse(new Error(failed));
      else waits.take(reply);
    };
    worker.onerror = (event) => this.end(new Error(event.message || "the browser does not start a worker"));
    worker.postMessage({ wasm: this.wasm });
    return worker;
  }

  ask(verb, values, { files, progress, signal } = {}) {
    if (signal?.aborted) return Promise.reject(aborted());
    this.worker ??= this.start();
    const id = ++this.count;
    return new Promise((take, refuse) => {
      this.waiting.set(id, { take, refuse, progress });
      signal?.addEventListener("abort", () => { if (this.waiting.has(id)) this.end(aborted()); }, { once: true });
      this.worker.postMessage({ id, verb, values, files });
    });
  }

  end(why = aborted()) {
    this.worker?.terminate();
    this.worker = undefined;
    const all = [...this.waiting.values()];
    this.waiting.clear();
    for (const { refuse } of all) refuse(why);
  }
}

class OpenFile {
  constructor(engine, file) {
    this.file = file;
    this.name = file.name;
    this.bytes = file.size;
    this.service = engine.then(({ wasm, place }) => new Service(wasm, place));
  }

  async job(verb, values, watching = {}) {
    const service = await this.service;
    return service.ask(verb, { name: this.name, bytes: this.bytes, ...values }, { ...watching, files: [this.file] });
  }

  /** Whole, if the browser gives the memory; else in pieces. */
  async inspect(watching) {
    try {
      return await this.job("inspect", {}, watching);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      return this.job("inspect", { pieces: "yes" }, watching);
    }
  }

  picture({ rows, columns }, watching) {
    return this.job("picture", { rows, columns }, watching);
  }

  ask(keys, watching) {
    return this.job("ask", { key: keys }, watching);
  }

  async close() {
    (await this.service).end();
  }
}

class Engine {
  constructor() {
    const place = URL.createObjectURL(new Blob([workerText], { type: "text/javascript" }));
    this.ready = unpacked(wasmText).then((wasm) => ({ wasm, place }));
    this.services = this.ready.then(({ wasm }) => ({ plans: new Service(wasm, place), play: new Service(wasm, place) }));
    this.play = new Play(this);
  }

  async ask(verb, values, watching) {
    return (await this.services).plans.ask(verb, values, watching);
  }

  about() { return this.ask("about", {}); }
  plan(want) { return this.ask("plan", want); }
  planNodes(want) { return this.ask("planNodes", want); }
  lines(want) { return this.ask("lines", want); }
  growth({ factors, ...want }) { return this.ask("growth", { ...want, factors: factors.join(",") }); }
  curves(want) { return this.ask("curves", want); }
  open(file) { return new OpenFile(this.ready, file); }

  /** In a worker of its own, which gives both their memory back. */
  async compare(one, other) {
    const { wasm, place } = await this.ready;
    const service = new Service(wasm, place);
    const values = { name: one.name, bytes: one.size, other_name: other.name, other_bytes: other.size };
    try {
      return await service.ask("compare", values, { files: [one, other] });
    } catch {
      return { error: `${one.name} and ${other.name} are too large to be compared here; 'bloomery merge union' says whether they can be merged` };
    } finally {
      service.end();
    }
  }

  async close() {
    const { plans, play } = await this.services;
    plans.end();
    play.end();
  }
}

/** A filter to play with; its worker keeps it. */
class Play {
  constructor(engine) {
    this.engine = engine;
  }

  async run(verb, values = {}) {
    return (await this.engine.services).play.ask(`play.${verb}`, values);
  }

  make({ kind, keys, rate, range }) {
    return this.run("make", { kind, keys, rate, range: range?.join("..") });
  }

  add(key) { return this.run("add", { key }); }
  ask(key) { return this.run("ask", { key }); }
  remove(key) { return this.run("remove", { key }); }
  fill(count) { return this.run("fill", { count }); }
  findFalse(tries = 100000) { return this.run("findFalse", { tries }); }
  state() { return this.run("state"); }
}

export function startEngine() {
  return new Engine();
}
