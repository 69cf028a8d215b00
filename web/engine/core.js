// One instance of the engine: texts in, a reply out. Knows neither page nor worker, so that tests run
// it in node.
//
//    const core = await Core.make(bytes, { read: (file, offset, length) => Uint8Array })
//    core.ask("plan", { keys: "10M", rate: "1%" })      { ok: {...}, json: "..." } or { error: "..." }
//
// `read` lends it the bytes of its files (0, and 1 where two are compared), `progress` hears how far it is.
// An exception of ask is the end of this instance: no memory, or a bug.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** wire.hpp: each text with its length before it. Arrays are sent as several values of one name. */
function packed(verb, values) {
  const texts = [encoder.encode(verb)];
  for (const [name, given] of Object.entries(values))
    for (const value of Array.isArray(given) ? given : [given]) {
      if (value === undefined || value === null) continue;
      texts.push(encoder.encode(name), encoder.encode(String(value)));
    }
  const bytes = new Uint8Array(texts.reduce((sum, text) => sum + 4 + text.length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const text of texts) {
    view.setUint32(at, text.length, true);
    bytes.set(text, at + 4);
    at += 4 + text.length;
  }
  return bytes;
}

// What the C library asks of its host. There are no files, no arguments and no environment.
const success = 0;
const badDescriptor = 8;

function wasi(memory) {
  const view = () => new DataView(memory().buffer);
  const none = (count, bytes) => {
    view().setUint32(count, 0, true);
    view().setUint32(bytes, 0, true);
    return success;
  };
  return {
    environ_sizes_get: none,
    environ_get: () => success,
    clock_time_get: (clock, precision, into) => {
      view().setBigUint64(into, BigInt(Math.round(performance.now() * 1e6)), true);
      return success;
    },
    random_get: (into, length) => {
      for (let at = 0; at < length; at += 65536)
        crypto.getRandomValues(new Uint8Array(memory().buffer, into + at, Math.min(65536, length - at)));
      return success;
    },
    fd_write: () => badDescriptor,
    fd_close: () => badDescriptor,
    fd_seek: () => badDescriptor,
    proc_exit: (code) => { throw new Error(`the engine ended with ${code}`); },
  };
}

function importsOf(module, memory, outside) {
  const known = {
    wasi_snapshot_preview1: wasi(memory),
    engine: {
      // 0: done. The file may have gone, or been changed, since it was chosen.
      read: (number, offset, into, length) => {
        try {
          const bytes = outside.read(number, offset, length);
          if (bytes.length !== length) return 1;
          new Uint8Array(memory().buffer, into, length).set(bytes);
          return 0;
        } catch {
          return 1;
        }
      },
      progress: (done, all) => outside.progress?.(done, all),
    },
  };
  const imports = {};
  for (const { module: room, name } of WebAssembly.Module.imports(module)) {
    imports[room] ??= {};
    imports[room][name] = known[room]?.[name] ?? (() => { throw new Error(`the engine may not call ${name}`); });
  }
  return imports;
}

export class Core {
  static async make(bytes, outside = {}) {
    const core = new Core();
    const module = bytes instanceof WebAssembly.Module ? bytes : await WebAssembly.compile(bytes);
    const instance = await WebAssembly.instantiate(module, importsOf(module, () => core.exports.memory, outside));
    core.exports = instance.exports;
    core.exports._initialize();
    return core;
  }

  ask(verb, values = {}) {
    const { exports } = this;
    const request = packed(verb, values);
    const room = exports.room(request.length);
    new Uint8Array(exports.memory.buffer, room, request.length).set(request);
    exports.run(request.length);
    const text = decoder.decode(new Uint8Array(exports.memory.buffer, exports.reply(), exports.reply_bytes()));
    const cut = text.indexOf("\n");
    const said = text.slice(cut + 1);
    return text.slice(0, cut) === "ok" ? { ok: JSON.parse(said), json: said } : { error: said };
  }
}
