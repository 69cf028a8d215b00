// A command that serves: bloomery serve, or dedup --serve, on a free port.

import { spawn } from "node:child_process";
import readline from "node:readline";
import { scratch } from "./browser.mjs";

/** Starts it: { child, address, allowed, ended, end }. after(work): what to call when all is over. */
export async function serving(after, ...words) {
  const child = spawn(process.env.BLOOMERY, words, { cwd: scratch, stdio: ["pipe", "ignore", "pipe"] });
  after(() => child.kill("SIGKILL"));
  const ended = new Promise((done) => child.on("exit", done));
  const address = await new Promise((found, failed) => {
    readline.createInterface({ input: child.stderr }).on("line", (line) => {
      const told = line.match(/serving on (http:\S+)/);
      if (told) found(`${new URL(told[1]).origin}/`);
    });
    child.on("exit", (code) => failed(new Error(`${words.join(" ")} ended with ${code}`)));
  });
  const end = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  return { child, address, allowed: new RegExp(`^(${address.replaceAll(".", "\\.")}|blob:|data:)`), ended, end };
}
