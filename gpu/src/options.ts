/** The command line. */
import { parseArgs } from "node:util";

export const HELP = `npm run test:gpu -- [OPTIONS]     checks and measures GPU arrays on this machine's CUDA driver

  --simulated        on the CUDA simulator: its figures say nothing about a GPU
  --driver LIBRARY   the driver (libcuda.so.1, or $TESSERACT_CUDA_DRIVER)
  --runtime LIBRARY  libcudart for the rules of the runtime interface; without one it is looked for
  --python PROGRAM   a Python with tesseract-core[runtime] ($TESSERACT_PYTHON, .venv, python3)
  --most SIZE        the largest array to measure (4GiB)
  --minutes N        how long the whole may take (6)
  --rules TEXT       only the rules that have this in them
  --rules-program F  the program of the rules; looked for if left out
  --no-rules         leaves out the rules
  --no-measurements  checks only
  --json FILE        writes the results as JSON
  --markdown FILE    writes the table
  --help

Prints the table, and what it is at on stderr. Exits with 0 if nothing failed, 1 if something did, 2 if nothing could be checked.
`;

export interface Options {
  readonly simulated: boolean;
  readonly driver: string | undefined;
  readonly runtime: string | undefined;
  readonly python: string | undefined;
  readonly most: number;
  readonly minutes: number;
  /** Undefined for none. */
  readonly rules: string | undefined;
  readonly rulesProgram: string | undefined;
  readonly measurements: boolean;
  readonly json: string | undefined;
  readonly markdown: string | undefined;
}

/** Its message is all that is shown. */
export class UsageError extends Error {}

/**
 * @returns undefined if help is wanted
 * @throws UsageError
 */
export function readOptions(args: readonly string[]): Options | undefined {
  const values = parse(args);
  if (values.help === true) return undefined;
  if (values.simulated === true && values.driver !== undefined) {
    throw new UsageError("--simulated has a driver of its own; leave out --driver.");
  }
  const minutes = Number(values.minutes ?? 6);
  if (!(minutes > 0 && minutes <= 1_440))
    throw new UsageError(`--minutes is ${values.minutes}, not a number of minutes.`);
  return {
    simulated: values.simulated ?? false,
    driver: values.simulated === true ? undefined : (values.driver ?? (process.env.TESSERACT_CUDA_DRIVER || undefined)),
    runtime: values.runtime,
    python: values.python ?? (process.env.TESSERACT_PYTHON || undefined),
    most: bytesIn(values.most ?? "4GiB"),
    minutes,
    rules: values["no-rules"] === true ? undefined : (values.rules ?? ""),
    rulesProgram: values["rules-program"],
    measurements: values["no-measurements"] !== true,
    json: values.json,
    markdown: values.markdown,
  };
}

function parse(args: readonly string[]) {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  try {
    return parseArgs({
      args: [...args],
      options: {
        simulated: flag,
        driver: text,
        runtime: text,
        python: text,
        most: text,
        minutes: text,
        rules: text,
        "rules-program": text,
        "no-rules": flag,
        "no-measurements": flag,
        json: text,
        markdown: text,
        help: { ...flag, short: "h" },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

const UNITS = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 } as const;

function bytesIn(text: string): number {
  const [, digits, unit = "B"] = /^(\d+)(B|KiB|MiB|GiB)?$/.exec(text) ?? [];
  if (digits === undefined) throw new UsageError(`--most is ${text}, not a size such as 64MiB.`);
  return Number(digits) * UNITS[unit as keyof typeof UNITS];
}

/** `4 KiB` */
export function sizeText(bytes: number): string {
  const [unit, factor] =
    (Object.entries(UNITS) as [string, number][]).reverse().find(([, size]) => bytes >= size) ?? (["B", 1] as const);
  const amount = bytes / factor;
  return `${Number.isInteger(amount) ? amount : amount.toFixed(1)} ${unit}`;
}
