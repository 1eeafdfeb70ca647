/** What goes wrong, as a line, a hint and an exit code. */
import { type ErrorCode, TesseractError } from "@tesseract-ts/core";
import { traceback } from "../http/traceback.js";
import { oneLine, printable, styleFor } from "./terminal/style.js";
import type { Terminal } from "./terminal/terminal.js";

export const EXIT = { ok: 0, failed: 1, usage: 2, unreachable: 3, interrupted: 130, terminated: 143 } as const;

/** A command line that says nothing that can be done. */
export class UsageError extends Error {
  constructor(
    message: string,
    readonly hint: string = "tesseract-ts --help tells what there is.",
  ) {
    super(message);
  }
}

/** The Tesseract can't be loaded, started or reached. */
const unreachable: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "INVALID_URL",
  "CONNECTION_FAILED",
  "CONNECTION_LOST",
  "LOAD_FAILED",
  "START_FAILED",
  "START_TIMED_OUT",
  "PORT_TAKEN",
  "PROCESS_ENDED",
  "ENVIRONMENT_FAILED",
  "ENGINE_UNAVAILABLE",
  "ENGINE_FAILED",
  "IMAGE_NOT_FOUND",
  "IMAGE_INVALID",
]);

/** Lines of a log that are shown. */
const MOST_LINES = 20;
/** Places of a refused request that are shown. */
const MOST_ISSUES = 10;

/** What options are called here, where a hint names those of a function. */
const optionNames: readonly (readonly [RegExp, string])[] = [
  [/`port: 0`/g, "--port 0"],
  [/\{ startTimeout: [\d_]+ \}/g, "--start-timeout 120"],
  [/`pythonExecutable`/g, "--python"],
  [/gpuTransport "([^"]+)"/g, "--gpu-transport $1"],
  [/gpuTransport: "([^"]+)"/g, "--gpu-transport $1"],
  [/\{ basePath: "([^"]*)" \}/g, "--base-path $1"],
  [/\{ headers: \{ authorization: … \} \}/g, "--header 'authorization: …'"],
];

const inOptionNames = (hint: string): string =>
  optionNames.reduce((text, [pattern, name]) => text.replaceAll(pattern, name), hint);

export interface Failure {
  readonly exit: number;
  /** As `--json` gives it. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Without colours. */
  readonly message: string;
  readonly hint: string | undefined;
  readonly more: readonly string[];
}

export function failureOf(error: unknown): Failure {
  if (error instanceof UsageError) {
    const { message, hint } = error;
    return { exit: EXIT.usage, data: { code: "USAGE", message, hint }, message, hint, more: [] };
  }
  if (error instanceof Error && "syscall" in error) {
    const { message } = error;
    return { exit: EXIT.failed, data: { code: "SYSTEM", message }, message, hint: undefined, more: [] };
  }
  if (!(error instanceof TesseractError)) {
    const message = `Something unexpected happened: ${error instanceof Error ? error.message : String(error)}`;
    const hint = "--debug shows where. It may be a mistake of this program, which its authors would like to know.";
    return { exit: EXIT.failed, data: { code: "UNEXPECTED", message, hint }, message, hint, more: [] };
  }
  const { code, message, issues, log = [], status } = error;
  const hint = error.hint === undefined ? placeHint(error) : inOptionNames(error.hint);
  const shownLog = code === "LOAD_FAILED" ? [] : log.filter((line) => !FRAME.test(line) && line.trim() !== "");
  const places = issues.map(({ path, message: reason }) => `${path.join(".") || "the request"}: ${reason}`);
  const shown = places.slice(0, MOST_ISSUES);
  return {
    exit: code === "INVALID_ARGUMENT" ? EXIT.usage : unreachable.has(code) ? EXIT.unreachable : EXIT.failed,
    data: {
      code,
      message,
      hint,
      status,
      issues: issues.length === 0 ? undefined : issues,
      log: log.length === 0 ? undefined : log,
    },
    // The places are in lines of their own.
    message: places.length === 0 ? message : (message.split("\n")[0] ?? message),
    hint,
    more: [
      ...shown.map((place) => `  ${oneLine(place)}`),
      ...(places.length > shown.length ? [`  … and ${places.length - shown.length} more`] : []),
      ...(shownLog.length === 0
        ? []
        : ["The end of its log:", ...shownLog.slice(-MOST_LINES).map((line) => `  ${printable(line)}`)]),
    ],
  };
}

/** A line of a stack trace: where, if it is in a file. */
const FRAME = /^\s+at (?:.*\()?(?:file:\/\/)?(\/[^()]*:\d+:\d+)?/;
/** Of packages, and of what loads a module. */
const FOREIGN = /node_modules|\/serve\/(?:src|dist)\/|\/inprocess\/(?:src|dist)\//;

/** Of a module that throws when it is loaded, all that was printed is its stack trace; of which one line matters. */
function placeHint({ code, log = [] }: TesseractError): string | undefined {
  if (code !== "LOAD_FAILED" || log.length === 0) return undefined;
  const places = log.flatMap((line) => FRAME.exec(line)?.[1] ?? []);
  const own = places.find((place) => !FOREIGN.test(place));
  return own === undefined ? "--debug shows all that it printed." : `It comes from ${own}; --debug shows more.`;
}

export function report(error: unknown, terminal: Terminal, { debug, json }: { debug: boolean; json: boolean }): number {
  const { exit, data, message, hint, more } = failureOf(error);
  const style = styleFor(terminal.err, terminal);
  const lines = [
    `${style("red", "tesseract-ts:")} ${oneLine(message)}`,
    ...more,
    ...(hint === undefined ? [] : [style("dim", `Hint: ${oneLine(hint)}`)]),
    ...(debug
      ? [printable(traceback(error)), ...(error instanceof TesseractError ? (error.log ?? []) : []).map(printable)]
      : []),
  ];
  terminal.err.write(`${lines.join("\n")}\n`);
  if (json) terminal.out.write(`${JSON.stringify({ error: data })}\n`);
  return exit;
}
