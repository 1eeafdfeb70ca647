// Stands between this program and a process that it started: ends that process, and removes what was made for it, when this
// program ends in whatever way. Plain JavaScript, so that it starts fast everywhere.
//
//   0  orders, a line of JSON each; their end is the end of whoever gave them
//   1, 2  the process's output, which this file never writes to
//   3  what happens, a line of JSON each
//   4  handed on to a process that reports

import { spawn } from "node:child_process";
import { mkdirSync, writeSync } from "node:fs";
import { rm } from "node:fs/promises";

/** Milliseconds that a process has to end when nobody is left to wait for it. */
const ORPHAN_LIMIT_MS = 2_000;
/** Milliseconds after its limit at which a process is killed all the same that a command should have ended. */
const LAST_RESORT_MS = 30_000;
/** Milliseconds that a cleanup command may take. */
const CLEANUP_LIMIT_MS = 60_000;

/** @type {import("./guard-messages.js").Run | undefined} */
let running;
/** @type {import("node:child_process").ChildProcess | undefined} */
let child;
/** @type {readonly string[]} */
let folders = [];
/** @type {readonly import("./start-server.js").Command[]} */
let cleanup = [];
/** @type {NodeJS.Timeout | undefined} */
let killing;
let killAt = Number.POSITIVE_INFINITY;
/**
 * Commands that are ending the process.
 *
 * @type {{ readonly child: import("node:child_process").ChildProcess, readonly gone: Promise<unknown> }[]}
 */
const enders = [];

/** @param {import("./guard-messages.js").FromGuard} message */
function say(message) {
  try {
    writeSync(3, `${JSON.stringify(message)}\n`);
  } catch {
    // Nobody is left to hear it, which the end of the orders tells as well.
  }
}

/** @param {import("./guard-messages.js").ToGuard} order */
function obey(order) {
  switch (order.kind) {
    case "own":
      own(order);
      break;
    case "run":
      run(order);
      break;
    case "stop":
      stop(order.limit);
      break;
    case "keep":
      folders = [];
      break;
  }
}

/** @param {import("./guard-messages.js").Own} order */
function own(order) {
  cleanup = order.cleanup;
  try {
    for (const folder of order.folders) {
      mkdirSync(folder, { mode: 0o700 });
      folders = [...folders, folder];
    }
    say({ kind: "owned" });
  } catch (error) {
    say({ kind: "failed", message: String(error) });
  }
}

/** @param {import("./guard-messages.js").Run} order */
function run(order) {
  const { command, args, env, cwd } = order;
  killAt = Number.POSITIVE_INFINITY;
  running = order;
  child = spawn(command, args, {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...env },
    // A pipe that ends with this process, for those who watch it.
    stdio: ["ignore", "inherit", "inherit", "pipe", order.reports ? 4 : "ignore"],
    // A process group of its own, to be ended as one.
    detached: true,
  });
  const { pid } = child;
  child.once("error", (error) => {
    if (pid !== undefined) return;
    ended();
    say({ kind: "failed", message: error.message });
  });
  if (pid === undefined) return;
  say({ kind: "started", pid });
  child.once("exit", (code, signal) => {
    // Its group may outlive it.
    signalGroup(pid, "SIGKILL");
    ended();
    say({ kind: "exited", code, signal });
  });
}

/** @type {(() => void) | undefined} */
let whenEnded;

function ended() {
  clearTimeout(killing);
  child = undefined;
  running = undefined;
  for (const ender of enders) {
    ender.child.stdin?.end();
    setTimeout(() => ender.child.kill("SIGKILL"), CLEANUP_LIMIT_MS).unref();
  }
  whenEnded?.();
}

/**
 * Asks the process to end, and kills it when the limit has passed. A shorter limit than an earlier one counts.
 *
 * @param {number} limit milliseconds
 */
function stop(limit) {
  const pid = child?.pid;
  if (pid === undefined) return;
  const end = running?.end;
  if (killAt === Number.POSITIVE_INFINITY && end === undefined) signalGroup(pid, "SIGTERM");
  const at = performance.now() + limit;
  if (at >= killAt) return;
  killAt = at;
  if (end !== undefined) runEnder(end, limit);
  clearTimeout(killing);
  killing = setTimeout(() => signalGroup(pid, "SIGKILL"), limit + (end === undefined ? 0 : LAST_RESORT_MS));
}

/**
 * @param {import("./start-server.js").Command} end
 * @param {number} limit milliseconds
 */
function runEnder({ command, args, env }, limit) {
  const ender = spawn(command, [...args, String(limit)], { env: { ...env }, stdio: ["pipe", "ignore", "ignore"] });
  // One that can't be run, or has failed, leaves it to the last resort.
  const gone = new Promise((resolve) => {
    for (const event of ["error", "exit"]) ender.once(event, resolve);
  });
  ender.stdin?.on("error", () => {});
  enders.push({ child: ender, gone });
}

/**
 * @param {number} pid
 * @param {NodeJS.Signals} signal
 */
function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody is left in it. Where there are no groups, this is what there is.
    child?.kill(signal);
  }
}

/** @param {import("./start-server.js").Command} command */
const clean = ({ command, args, env }) =>
  new Promise((resolve) => {
    const cleaner = spawn(command, args, { env: { ...env }, stdio: "ignore", timeout: CLEANUP_LIMIT_MS });
    cleaner.once("error", (error) => {
      say({ kind: "left", message: `${command}: ${error.message}` });
      resolve(undefined);
    });
    cleaner.once("exit", (code, signal) => {
      if (code !== 0) say({ kind: "left", message: `${[command, ...args].join(" ")} ended with ${signal ?? code}` });
      resolve(undefined);
    });
  });

let ending = false;

async function end() {
  if (ending) return;
  ending = true;
  if (running !== undefined) {
    const gone = new Promise((resolve) => {
      whenEnded = () => resolve(undefined);
    });
    stop(ORPHAN_LIMIT_MS);
    await gone;
  }
  for (const { gone } of enders) await gone;
  for (const command of cleanup) await clean(command);
  for (const folder of [...folders].reverse()) {
    try {
      await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    } catch (error) {
      say({ kind: "left", message: `${folder}: ${String(error)}` });
    }
  }
  process.exit(0);
}

let rest = "";
process.stdin.setEncoding("utf8").on("data", (text) => {
  const lines = (rest + text).split("\n");
  // What has no end of line yet may never get one.
  rest = lines.pop() ?? "";
  for (const line of lines) if (!ending) obey(JSON.parse(line));
});
process.stdin.on("end", () => void end());
process.stdin.on("error", () => void end());
for (const signal of /** @type {const} */ (["SIGTERM", "SIGINT", "SIGHUP"])) process.on(signal, () => void end());
