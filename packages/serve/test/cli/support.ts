// Runs the command line in this process, with a terminal that a test can look at.

import { array, defineTesseract, derivatives, differentiable } from "@tesseract-ts/inprocess";
import { z } from "zod";
import { run } from "../../src/cli/program.js";
import type { Output, Terminal } from "../../src/cli/terminal/terminal.js";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface CliOptions {
  readonly directory?: string;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly isTerminal?: boolean;
  readonly signal?: AbortSignal;
  /** Told what is written to standard output. */
  readonly onOut?: (text: string) => void;
}

export async function cli(args: readonly string[], options: CliOptions = {}): Promise<Ran> {
  const { directory = process.cwd(), input = "", env = {}, isTerminal = false } = options;
  const written = { out: "", err: "" };
  const output = (name: keyof typeof written): Output => ({
    write: (text) => {
      written[name] += text;
      if (name === "out") options.onOut?.(text);
    },
    isTerminal,
    columns: 100,
  });
  const terminal: Terminal = {
    out: output("out"),
    err: output("err"),
    input: (async function* () {
      yield Buffer.from(input);
    })(),
    env,
    directory,
    signal: options.signal ?? new AbortController().signal,
  };
  return { code: await run(args, terminal), ...written };
}

/** y = factor * x², with its derivatives; `slope` makes the written one wrong. */
export const squares = (slope = 2) =>
  defineTesseract({
    name: "squares",
    inputs: z.object({ x: differentiable(array("float64", [null])), factor: z.number().default(1) }),
    outputs: z.object({ y: differentiable(array("float64", [null])), count: z.int() }),
    apply: ({ x, factor }) => ({ y: x.data.map((value) => factor * value ** 2), count: x.data.length }),
    vectorJacobianProduct: ({ inputs: { x, factor }, cotangents: { y } }) => ({
      x: x.data.map((value, index) => slope * factor * value * (y?.data[index] ?? 0)),
    }),
    jacobian: derivatives.finiteDifferences(),
    jacobianVectorProduct: derivatives.finiteDifferences(),
  });
