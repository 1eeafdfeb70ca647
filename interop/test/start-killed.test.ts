// Whoever starts Tesseracts may be killed at any moment, and nothing of them is left.
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MARK, processesMarked } from "../../packages/serve/test/start/left-behind.js";
import { findPython } from "../src/python.js";
import { hasRuntime } from "../src/with-runtime.js";

const at = (name: string): string => fileURLToPath(new URL(`../src/${name}`, import.meta.url));
const MOMENTS = Number(process.env.TESSERACT_TS_KILLED_MOMENTS ?? 20);
const AT_ONCE = 4;
const LIMIT_MS = 600_000;

let temporary: string;
beforeAll(() => {
  temporary = mkdtempSync(join(tmpdir(), "start-killed-"));
});
afterAll(() => rmSync(temporary, { recursive: true, force: true }));

interface Life {
  readonly parent: ChildProcess;
  readonly mark: string;
  readonly folder: string;
  /** Resolves when the program has said so. */
  until(word: string): Promise<void>;
}

/** A program that starts a Tesseract, calls it, stops it, and begins again. */
function live(source: string, python: string | undefined): Life {
  const mark = randomBytes(8).toString("hex");
  const folder = mkdtempSync(join(temporary, "life-"));
  const parent = spawn(process.execPath, [at("start-parent.mjs"), source, ...(python === undefined ? [] : [python])], {
    env: { ...process.env, [MARK]: mark, TMPDIR: folder },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  parent.stdout?.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const until = async (word: string): Promise<void> => {
    while (!said.includes(word)) {
      if (parent.exitCode !== null) throw new Error(`It ended before it was "${word}": ${said}`);
      await sleep(5);
    }
  };
  return { parent, mark, folder, until };
}

/** @returns milliseconds until nothing was left */
async function killAndWait({ parent, mark, folder }: Life): Promise<number> {
  const exited = once(parent, "exit");
  parent.kill("SIGKILL");
  await exited;
  const began = performance.now();
  const left = (): unknown => ({ processes: processesMarked(mark), files: readdirSync(folder).filter(isOurs) });
  await expect.poll(left, { timeout: 120_000, interval: 20 }).toEqual({ processes: [], files: [] });
  return performance.now() - began;
}

/** tsx keeps what it compiled for all programs of a user, there. */
const isOurs = (name: string): boolean => !name.startsWith("tsx-") && name !== "node-compile-cache";

async function killAtRandom(source: string, python: string | undefined, moments: number): Promise<readonly number[]> {
  const times: number[] = [];
  const left = Array.from({ length: moments }, (_, index) => index);
  const lane = async (): Promise<void> => {
    while (left.pop() !== undefined) {
      const life = live(source, python);
      // As long as a start, a few calls and a stop take here, which the program tells.
      const moment = Math.random();
      if (moment < 0.6) await Promise.race([life.until("started"), sleep(moment * 5_000)]);
      else await life.until(moment < 0.8 ? "called" : "stopping");
      await sleep(Math.random() * 100);
      times.push(await killAndWait(life));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return times;
}

const shared = (): readonly string[] => readdirSync("/dev/shm").sort();

test("one that starts JavaScript, at twenty random moments", { timeout: LIMIT_MS }, async () => {
  const before = shared();
  const times = await killAtRandom(at("start-tesseracts/plain.mjs"), undefined, MOMENTS);
  expect(times).toHaveLength(MOMENTS);
  const left = (): unknown => shared().filter((name) => name.includes("tesseract") && !before.includes(name));
  // Tests that run meanwhile have something there for a while.
  await expect.poll(left, { timeout: 120_000 }).toEqual([]);
  if (process.env.TESSERACT_TS_KILLED_MOMENTS !== undefined) console.log("JavaScript", times.map(Math.round).join(" "));
});

test("one that starts Python, at some", { timeout: LIMIT_MS }, async (context) => {
  if (!hasRuntime("1.15")) context.skip("No Tesseract runtime 1.15");
  const moments = Math.ceil(MOMENTS / 5);
  const times = await killAtRandom(at("../../examples/heat/tesseract_api.py"), findPython(), moments);
  expect(times).toHaveLength(moments);
  if (process.env.TESSERACT_TS_KILLED_MOMENTS !== undefined) console.log("Python", times.map(Math.round).join(" "));
});

test("one whose Tesseract is busy and doesn't heed anything", { timeout: LIMIT_MS }, async () => {
  const life = live(at("start-tesseracts/busy.mjs"), undefined);
  await life.until("calling");
  // What is looked for is there: the program, a guard, and the Tesseract.
  expect(processesMarked(life.mark)).toHaveLength(3);
  expect(readdirSync(life.folder).filter(isOurs)).toEqual([expect.stringMatching(/^tesseract-/)]);
  await killAndWait(life);
});
