// What JAX with tesseract-jax gave for the programs, made by `golden/make_jax_golden.py`: no Python needed to read it.

import { readFileSync } from "node:fs";

export type Nested = number | null | readonly Nested[] | { readonly [key: string]: Nested };

export interface GoldenProgram {
  readonly value?: Nested;
  readonly error?: string;
  readonly message?: string;
  /** The endpoints that were asked, in order. */
  readonly requests: readonly string[];
}

interface Golden {
  readonly versions: Readonly<Record<string, string>>;
  readonly programs: Readonly<Record<string, GoldenProgram>>;
}

const golden: Golden = JSON.parse(
  readFileSync(new URL("../../golden/jax/tesseract-jax-0.5.json", import.meta.url), "utf8"),
);

export const goldenPrograms = golden.programs;
export const goldenVersions = golden.versions;
