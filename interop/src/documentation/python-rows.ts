// The tables of "Coming from Python": what stands on the left and on the right, and the right as a program to be compiled.

import { codeOf, readPage, rowsOf } from "./pages.js";

export interface Row {
  readonly python: readonly string[];
  readonly typescript: readonly string[];
}

const text = await readPage("docs/from-python.md");

/** The rows of a section's tables. */
export function pairs(title: string): readonly Row[] {
  const section = text.split(/^## /m).find((part) => part.startsWith(title)) ?? "";
  return rowsOf(section).map(([python = "", typescript = ""]) => ({
    python: codeOf(python),
    typescript: codeOf(typescript),
  }));
}

/** Members of a definition aren't expressions. */
export const isMember = ({ typescript: [code = ""] }: Row): boolean => /^\w+: /.test(code);

const ofCalls = ["Getting", "Calling", "Arrays", "Writing", "tesseract-jax"];
export const calls = ofCalls.flatMap(pairs).filter((row) => !isMember(row));
export const members = pairs("Writing").filter(isMember);

/** What the page says of the names in its tables, as declarations. */
const preamble = `
import { numpy as np } from "@jax-js/jax";
import { fromUrl, hostArray, toNestedList, type HostArray, type Tesseract, type TestSpec } from "@tesseract-ts/core";
import { array, defineTesseract, derivatives, differentiable, fromTesseractApi } from "@tesseract-ts/inprocess";
import { applyTesseract, grad, jacfwd, jacrev, jit, jvp, linearize, makeProgram, saveIntermediates, sow, stopGradient,
  valueAndGrad, vjp, vmap } from "@tesseract-ts/jax-bridge";
import { fromImage, fromSource, type StartedTesseract } from "@tesseract-ts/serve";
import { host } from "@tesseract-ts/transport-host";
import { z } from "zod";

declare const tess: Tesseract;
declare const started: StartedTesseract;
declare const url: string;
declare const spec: TestSpec;
declare const inputs: Record<string, HostArray>;
declare const y: HostArray;
declare const x: np.Array;
declare const f: (x: np.Array) => np.Array;
`;

const definition = (member: string): string => {
  const name = /^\w+/.exec(member)?.[0] ?? "";
  const schema = 'z.object({ x: differentiable(array("float64", [null])) })';
  const written: Record<string, string> = {
    inputs: `inputs: ${schema}`,
    outputs: `outputs: ${schema}`,
    apply: "apply: ({ x }) => ({ x })",
    [name]: member.replace("z.object({ … })", schema).replace("=> …", "=> { throw new Error(); }"),
  };
  return `defineTesseract({ name: "row", ${Object.values(written).join(", ")} });`;
};

/** One line for each row. */
export const rowsProgram = (): string =>
  [
    preamble,
    ...calls.flatMap(({ typescript }) => typescript).map((code) => `async () => { ${code}; };`),
    ...members.flatMap(({ typescript }) => typescript).map(definition),
    "",
  ].join("\n");
