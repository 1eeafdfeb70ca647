/** A command as it is declared: its arguments and options, from which both the parser and the help are made. */
import type { Progress } from "./terminal/progress.js";
import type { Terminal } from "./terminal/terminal.js";

interface OptionHelp {
  readonly help: string;
  /** The name of its value in the help. */
  readonly value?: string;
  readonly short?: string;
}

export type Option = OptionHelp &
  (
    | { readonly kind: "flag" }
    | { readonly kind: "text"; readonly value: string; readonly choices?: readonly string[] }
    /** It may be given several times. */
    | { readonly kind: "list"; readonly value: string }
    | {
        readonly kind: "number";
        readonly value: string;
        readonly whole?: boolean;
        readonly least?: number;
        /** What the number is multiplied by: 1000 for seconds that become milliseconds. */
        readonly scale?: number;
      }
  );

export type Options = { readonly [name: string]: Option };

/** What was given for each option. */
export type Values<O extends Options> = {
  readonly [K in keyof O]: O[K]["kind"] extends "flag"
    ? boolean
    : O[K]["kind"] extends "list"
      ? readonly string[]
      : O[K]["kind"] extends "number"
        ? number | undefined
        : string | undefined;
};

export interface Argument {
  readonly name: string;
  readonly help: string;
  readonly optional?: boolean;
}

/** What a command gets to do its work with. */
export interface Call<O extends Options> {
  readonly options: Values<O>;
  /** As many as the command has arguments; those that weren't given are undefined. */
  readonly given: readonly (string | undefined)[];
  readonly terminal: Terminal;
  readonly progress: Progress;
  /** Whether the result is to be JSON. */
  readonly json: boolean;
}

export interface Command<O extends Options = Options> {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  readonly arguments: readonly Argument[];
  readonly options: O;
  /** What else there is to know, in paragraphs. */
  readonly about?: readonly string[];
  readonly examples: readonly { readonly command: string; readonly what: string }[];
  /** @returns the exit code */
  run(call: Call<O>): Promise<number>;
}

/** Keeps the types of a command's options for its `run`, and forgets them for those who list commands. */
export const command = <const O extends Options>(declared: Command<O>): Command =>
  // The parser gives `run` exactly what `options` declares.
  declared as unknown as Command;

/** Every command has these. */
export const commonOptions = {
  json: { kind: "flag", help: "only JSON on standard output" },
  quiet: { kind: "flag", short: "q", help: "no progress" },
  debug: { kind: "flag", help: "where an error comes from" },
  help: { kind: "flag", short: "h", help: "this page" },
} as const satisfies Options;
