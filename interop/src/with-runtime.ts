// Tests that need a runtime: skipped with a reason where it isn't installed, failing there in CI.

import { describe, test } from "vitest";
import { missingRuntime, type RuntimeVersion } from "./python.js";

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
