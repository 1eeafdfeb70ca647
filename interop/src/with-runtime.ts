// Tests that need a runtime: skipped with a reason where it isn't installed, failing there in CI.

import { afterAll, beforeAll, describe, test } from "vitest";
import { missingRuntime, type RuntimeVersion } from "./python.js";
import { type Runtime, type RuntimeOptions, startRuntime } from "./runtime.js";

/** Long enough for a server to start on a slow machine, in milliseconds: for `beforeAll` and tests that start one. */
export const START_TIMEOUT = 90_000;

/** Whether this runtime is installed. In CI a missing one is an error. */
export function hasRuntime(version: RuntimeVersion): boolean {
  const missing = missingRuntime(version);
  if (missing !== undefined && process.env.CI) throw new Error(missing);
  return missing === undefined;
}

/** A `describe` whose tests run only with this runtime; without it, one test tells why. */
export function describeWithRuntime(version: RuntimeVersion, name: string, tests: () => void): void {
  describe(name, () => {
    const missing = missingRuntime(version);
    if (missing === undefined) return tests();
    test(`needs the runtime ${version}`, (context) => {
      if (process.env.CI) throw new Error(missing);
      context.skip(missing);
    });
  });
}

/**
 * Runtimes for all tests of a file or a `describe`, started together before the first and stopped after the last. One whose version
 * isn't installed isn't started, so each is only to be used within its `describeWithRuntime`.
 *
 * ```ts
 * const { vectors } = sharedRuntimes({ vectors: { fixture: "vectors" } });
 * describeWithRuntime("1.15", "vectors", () => {
 *   test("…", () => fetch(`${vectors().url}/health`));
 * });
 * ```
 */
export function sharedRuntimes<Name extends string>(
  options: Readonly<Record<Name, RuntimeOptions>>,
): Readonly<Record<Name, () => Runtime>> {
  const runtimes = new Map<string, Runtime>();
  const entries = Object.entries<RuntimeOptions>(options);
  beforeAll(async () => {
    const starts = entries.map(async ([name, each]) => {
      if (hasRuntime(each.version ?? "1.15")) runtimes.set(name, await startRuntime(each));
    });
    // All of them, so that none is left behind if one doesn't start.
    const failed = (await Promise.allSettled(starts)).find((start) => start.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }, START_TIMEOUT);
  afterAll(async () => {
    await Promise.all([...runtimes.values()].map((runtime) => runtime.stop()));
  });
  const runtimeOf = (name: string) => (): Runtime => {
    const runtime = runtimes.get(name);
    if (runtime === undefined) throw new Error(`The runtime "${name}" didn't start.`);
    return runtime;
  };
  return Object.fromEntries(entries.map(([name]) => [name, runtimeOf(name)])) as Record<Name, () => Runtime>;
}
