/**
 * Tests on simulated GPUs. A process has one driver, and the simulator reports leaks when a process ends, so each test's
 * body runs in a process of its own: the test file, imported there by `child.ts`, gives it its bodies instead of declaring
 * tests. What the simulator saw is checked afterwards: no leak, no hazard.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { SimulatedCuda, SimulatedCudaOptions, Trace } from "@tesseract-ts/cuda-simulator";
import { node, SLOWDOWN } from "./other-node.js";
import { isSanitized } from "./sanitizers.js";

export interface SimulatedTestOptions extends SimulatedCudaOptions {
  /** More environment variables of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Looks at what the simulator saw, in the process of the test itself. */
  readonly check?: (trace: Trace, cuda: SimulatedCuda) => void | Promise<void>;
  /** Something is left over that can't be given back. */
  readonly mayLeak?: boolean;
  /** How long the process may take, in milliseconds. */
  readonly timeout?: number;
}

type Body = () => Promise<void>;

/** What `child.ts` can run: the bodies of the tests and the roles of the file that it has imported. */
export const bodies = new Map<string, Body>();

/** Undefined in the process of a body. */
const runner =
  process.env.SIMULATED_TEST === undefined
    ? {
        ...(await import("vitest")),
        ...(await import("@tesseract-ts/cuda-simulator")),
        ...(await import("./bundles.js")),
        ...(await import("./sanitizers.js")),
      }
    : undefined;

/** A test whose body runs in a process of its own on a simulated machine: two GPUs of 64 MiB, if `options` is empty. */
export function onSimulator(name: string, options: SimulatedTestOptions, body: Body): void {
  if (runner === undefined) {
    bodies.set(name, body);
    return;
  }
  const { test, expect, simulatedCuda, bundleOf, sanitizerVariables } = runner;
  const { env = {}, check, mayLeak = false, timeout = 30_000, ...machine } = options;
  const limit = timeout * SLOWDOWN * (isSanitized ? 4 : 1);
  test(name, { timeout: limit + 5_000 }, async ({ task }) => {
    await using cuda = await simulatedCuda({ devices: 2, memory: "64MiB", delay: "0ms..2ms", ...machine });
    const child = bundleOf(fileURLToPath(new URL("./child.ts", import.meta.url)));
    const args = argumentsFor(child, bundleOf(task.file.filepath), name);
    const variables = { SIMULATED_TEST: "1", ...sanitizerVariables(), ...env };
    const result = await cuda.run(node, args, { env: variables, timeout: limit });
    expect(result, `${result.stdout}\n${result.stderr}`).toMatchObject({ exitCode: 0, signal: null });
    const { trace } = cuda;
    expect(trace.hazards).toEqual([]);
    if (!mayLeak) expect(trace.leaks).toEqual([]);
    await check?.(trace, cuda);
  });
}

/** A test that needs no device, in a file that has others that do. */
export function plainTest(name: string, body: () => void | Promise<void>): void {
  runner?.test(name, body);
}

/** What another process or thread of the file's tests does. */
export function role(name: string, body: Body): void {
  bodies.set(name, body);
}

/** A role in another process on the same machine, with a channel for messages. */
export function startRole(name: string, env: Readonly<Record<string, string>> = {}): ChildProcess {
  const [, child = "", file = ""] = process.argv;
  return spawn(node, argumentsFor(child, file, name), {
    env: { ...process.env, ...env },
    stdio: ["ignore", 2, 2, "ipc"],
    serialization: "advanced",
  });
}

/** A role in another thread of this process. It gets `data` as its `workerData`. */
export function startWorker(name: string, data?: unknown): Worker {
  const [, child = "", file = ""] = process.argv;
  return new Worker(child, { argv: [file, name], workerData: data });
}

const argumentsFor = (child: string, file: string, name: string): string[] => [
  "--expose-gc",
  "--enable-source-maps",
  child,
  file,
  name,
];
