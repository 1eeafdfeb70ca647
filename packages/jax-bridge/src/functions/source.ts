/** What stands behind a function that was transformed: how its program is built. */
import type { BuildOptions, Program } from "../program/program.js";
import { programOf } from "../program/program.js";
import type { Signature } from "../program/traced-function.js";
import type { ProgramFunction } from "./types.js";

export interface ProgramSource {
  readonly name: string;
  /** @throws Suspension while a Tesseract is asked for the shapes of its outputs */
  build(signature: Signature, options: BuildOptions): Program;
}

const sources = new WeakMap<object, ProgramSource>();

export const setSource = (of: object, source: ProgramSource): void => {
  sources.set(of, source);
};

export function sourceOf(of: ProgramFunction): ProgramSource {
  return sources.get(of) ?? { name: of.name || "f", build: (signature, options) => programOf(of, signature, options) };
}
