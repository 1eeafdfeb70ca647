/** A suite of named cases, for whatever runs tests. */

/** One promise that is checked. */
export interface ConformanceCase {
  /** Stable, such as `lease-ends`. */
  readonly id: string;
  /** The promise, as a sentence. */
  readonly name: string;
  /** Rejects with a {@link ConformanceError} where the promise isn't kept. */
  run(): Promise<void>;
}

export interface ConformanceSuite {
  /** What is tested: `the transport "shm"`. */
  readonly name: string;
  /** They share what the suite keeps, so they run one after the other, in this order. */
  readonly cases: readonly ConformanceCase[];
}

/** The part of a test runner that the suite needs; Vitest, Jest, Mocha (with `test: it`) and `node:test` have it. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown;
  test(name: string, body: () => Promise<void>): unknown;
}

/**
 * Declares a suite's cases as tests.
 *
 * @example
 * import { describe, test } from "node:test"; // or from "vitest"
 * describeConformance(transportConformance({ name: "shm", create: () => ({ sender: sharedMemory() }) }), { describe, test });
 */
export function describeConformance({ name, cases }: ConformanceSuite, { describe, test }: TestRunner): void {
  describe(name, () => {
    for (const each of cases) test(each.name, () => each.run());
  });
}

export type ConformanceResult =
  | { readonly id: string; readonly name: string; readonly ok: true }
  | { readonly id: string; readonly name: string; readonly ok: false; readonly error: unknown };

/** Runs a suite without a test runner, and says what came of each case. It doesn't reject. */
export async function runConformance({ cases }: ConformanceSuite): Promise<readonly ConformanceResult[]> {
  const results: ConformanceResult[] = [];
  for (const { id, name, run } of cases) {
    try {
      await run();
      results.push({ id, name, ok: true });
    } catch (error) {
      results.push({ id, name, ok: false, error });
    }
  }
  return results;
}
