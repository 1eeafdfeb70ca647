// Results of programs as plain numbers, and how far they are from what they should be.

import { numpy as np } from "@jax-js/jax";
import type { HostArray } from "@tesseract-ts/core";
import { expect } from "vitest";
import type { Nested } from "./golden.js";

/** Nested lists of the arrays of a tree, which are consumed. */
export async function plain(tree: unknown): Promise<Nested> {
  if (tree instanceof np.Array) return (await tree.jsAsync()) as Nested;
  if (Array.isArray(tree)) return Promise.all(tree.map(plain));
  if (typeof tree === "object" && tree !== null && !("data" in tree)) {
    const entries = await Promise.all(
      Object.entries(tree).map(async ([key, each]) => [key, await plain(each)] as const),
    );
    return Object.fromEntries(entries);
  }
  return (typeof tree === "number" ? tree : Array.from((tree as HostArray).data as Float64Array)) as Nested;
}

/** @param tolerance relative to the expected value where that is more than 1, else absolute */
export function expectClose(actual: Nested, expected: Nested, tolerance: number, path: string): void {
  if (typeof expected === "number") {
    const difference = Math.abs(Number(actual) - expected);
    expect(difference, `${path}: ${JSON.stringify(actual)} is not ${expected}`).toBeLessThanOrEqual(
      tolerance * Math.max(1, Math.abs(expected)),
    );
    return;
  }
  if (expected === null || actual === null || typeof actual === "number") {
    expect(actual, path).toEqual(expected);
    return;
  }
  expect(Object.keys(actual).sort(), path).toEqual(Object.keys(expected).sort());
  for (const [key, each] of Object.entries(expected)) {
    expectClose((actual as Readonly<Record<string, Nested>>)[key] ?? null, each, tolerance, `${path}.${key}`);
  }
}
