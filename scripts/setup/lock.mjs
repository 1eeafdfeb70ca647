// One setup at a time: a file that names the process that is at it, and that this process keeps fresh.

import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statSync, utimesSync, writeSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { interrupted } from "./child.mjs";
import { say } from "./progress.mjs";

const REFRESH_MS = 2_000;
const STALE_MS = 30_000;
const POLL_MS = 200;

/** Does `work` while no other process does some under the same path. */
export async function withLock(path, work) {
  mkdirSync(dirname(path), { recursive: true });
  let told = false;
  while (!take(path)) {
    if (removeIfStale(path)) continue;
    if (!told) say("  … another setup is running; waiting for it");
    told = true;
    await sleep(POLL_MS, undefined, { signal: interrupted });
  }
  const release = () => rmSync(path, { force: true });
  const refresh = setInterval(() => utimesSync(path, new Date(), new Date()), REFRESH_MS).unref();
  process.once("exit", release);
  try {
    return await work();
  } finally {
    clearInterval(refresh);
    process.off("exit", release);
    release();
  }
}

/** Makes the file, unless there is one. */
function take(path) {
  let file;
  try {
    file = openSync(path, "wx");
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
  writeSync(file, JSON.stringify({ pid: process.pid, host: hostname() }));
  closeSync(file);
  return true;
}

/** Removes the file if its process is gone. Two that see so may not both do it: the second would remove a new one. */
function removeIfStale(path) {
  if (!isStale(path)) return false;
  const guard = `${path}.stale`;
  if (!take(guard)) {
    if (age(guard) > STALE_MS) rmSync(guard, { force: true });
    return false;
  }
  try {
    if (isStale(path)) rmSync(path, { force: true });
  } finally {
    rmSync(guard, { force: true });
  }
  return true;
}

function isStale(path) {
  const milliseconds = age(path);
  if (milliseconds > STALE_MS) return true;
  try {
    const { pid, host } = JSON.parse(readFileSync(path, "utf8"));
    return host === hostname() && !isRunning(pid);
  } catch {
    return false; // gone, or not written yet
  }
}

const age = (path) => Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}
