// A worker of the engine: answers what the page posts, one after the other. From `files` the engine
// reads.
//
//    page -> worker   {wasm}  once;  {id, verb, values, files?}
//    worker -> page   {id, reply};  {id, progress: [done, all]};  {id, failed: sentence}

import { Core } from "./core.js";

let wasm;
let core;
let files = [];
let current = 0;

const reader = new FileReaderSync();
const outside = {
  read: (number, offset, length) => new Uint8Array(reader.readAsArrayBuffer(files[number].slice(offset, offset + length))),
  progress: (done, all) => postMessage({ id: current, progress: [done, all] }),
};

async function answer({ id, verb, values, files: lent }) {
  current = id;
  if (lent) files = lent;
  try {
    core ??= await Core.make(wasm, outside);
    postMessage({ id, reply: core.ask(verb, values) });
  } catch (error) {
    core = undefined; // its memory may be in any state
    postMessage({ id, failed: String(error?.message ?? error) });
  }
}

let last = Promise.resolve();
onmessage = ({ data }) => {
  if (data.wasm) wasm = data.wasm;
  else last = last.then(() => answer(data));
};
