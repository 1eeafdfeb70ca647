/** Reads a command line. Node's own parser is enough for it, and nothing has to be installed. */
import { parseArgs } from "node:util";
import { type Command, commonOptions, type Options } from "./command.js";
import { UsageError } from "./failure.js";

export interface Parsed {
  readonly options: Readonly<Record<string, boolean | string | number | readonly string[] | undefined>>;
  readonly given: readonly (string | undefined)[];
}

/** @throws UsageError */
export function parse(command: Command, args: readonly string[]): Parsed {
  const declared: Options = { ...command.options, ...commonOptions };
  const hint = `tesseract-ts ${command.name} --help shows how it is called.`;
  const { values, positionals } = read(declared, args, hint);
  const options = Object.fromEntries(
    Object.entries(declared).map(([name, option]) => [name, givenFor(name, option, values[name], hint)]),
  );
  // `--help` needs nothing else.
  if (options.help === true) return { options, given: [] };
  const needed = command.arguments.filter(({ optional }) => optional !== true);
  const missing = needed[positionals.length];
  if (missing !== undefined) throw new UsageError(`${command.name} needs ${missing.name}`, hint);
  const surplus = positionals[command.arguments.length];
  if (surplus !== undefined) {
    throw new UsageError(
      `${command.name} takes no more than ${command.arguments.length || "no"} argument${command.arguments.length === 1 ? "" : "s"}, and was given "${surplus}" too`,
      `If that belongs together with what is before it, put quotes around both. ${hint}`,
    );
  }
  return { options, given: command.arguments.map((_, index) => positionals[index]) };
}

function read(declared: Options, args: readonly string[], hint: string): ReturnType<typeof parseArgs> {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: Object.fromEntries(
        Object.entries(declared).map(([name, { kind, short }]) => [
          name,
          {
            type: kind === "flag" ? ("boolean" as const) : ("string" as const),
            multiple: kind === "list",
            ...(short === undefined ? {} : { short }),
          },
        ]),
      ),
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const unknown = /Unknown option '(-[^']*)'/.exec(message)?.[1];
    if (unknown !== undefined) {
      const near = nearest(unknown.replace(/^-+/, ""), Object.keys(declared));
      throw new UsageError(
        `There is no option ${unknown}`,
        near === undefined ? hint : `Did you mean --${near}? ${hint}`,
      );
    }
    // Node goes on about positional arguments, which isn't what was meant.
    throw new UsageError(message.split(/[.\n] ?/)[0] ?? message, hint);
  }
}

type Given = ReturnType<typeof parseArgs>["values"][string];

function givenFor(name: string, option: Options[string], given: Given, hint: string): Parsed["options"][string] {
  switch (option.kind) {
    case "flag":
      return given === true;
    case "list":
      return Array.isArray(given) ? given.map(String) : [];
    case "text": {
      if (typeof given !== "string") return undefined;
      if (option.choices !== undefined && !option.choices.includes(given)) {
        throw new UsageError(`--${name} is "${given}"; it can be ${option.choices.join(", ")}`, hint);
      }
      return given;
    }
    case "number": {
      if (typeof given !== "string") return undefined;
      const value = given.trim() === "" ? Number.NaN : Number(given);
      const kind = option.whole === true ? "a whole number" : "a number";
      if (!Number.isFinite(value) || (option.whole === true && !Number.isSafeInteger(value))) {
        throw new UsageError(`--${name} is "${given}"; it must be ${kind}`, hint);
      }
      if (option.least !== undefined && value < option.least) {
        throw new UsageError(`--${name} is ${given}; it must be at least ${option.least}`, hint);
      }
      return value * (option.scale ?? 1);
    }
  }
}

/** The one of `names` that was probably meant: at most two letters are off. */
export function nearest(given: string, names: readonly string[]): string | undefined {
  const ranked = names
    .map((name) => ({ name, distance: distance(given, name) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  return best !== undefined && best.distance <= Math.min(2, best.name.length - 1) ? best.name : undefined;
}

/** Levenshtein's. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
