/** The command `tesseract-ts`: finds what is asked for, runs it, and says what went wrong. */
import type { Call, Command } from "./command.js";
import { bench } from "./commands/bench.js";
import { build } from "./commands/build.js";
import { call } from "./commands/call.js";
import { check } from "./commands/check.js";
import { doctor } from "./commands/doctor.js";
import { init } from "./commands/init.js";
import { openapi } from "./commands/openapi.js";
import { serveFile } from "./commands/serve.js";
import { test } from "./commands/test.js";
import { types } from "./commands/types.js";
import { EXIT, report, UsageError } from "./failure.js";
import { helpOf, overview } from "./help.js";
import { nearest, parse } from "./parse.js";
import { isInterrupted } from "./target.js";
import { Progress } from "./terminal/progress.js";
import { styleFor } from "./terminal/style.js";
import type { Terminal } from "./terminal/terminal.js";
import { version } from "./version.js";

export const commands: readonly Command[] = [init, serveFile, call, openapi, types, check, test, bench, doctor, build];

/**
 * Runs a command line, without the program's name.
 *
 * @returns the exit code; if `terminal.signal` was aborted, the code that its reason gives
 */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = args;
  const said = { debug: rest.includes("--debug"), json: rest.includes("--json") };
  try {
    return await dispatch(name, rest, terminal);
  } catch (error) {
    if (isInterrupted(error, terminal))
      return terminal.signal.reason === "SIGTERM" ? EXIT.terminated : EXIT.interrupted;
    return report(error, terminal, said);
  }
}

async function dispatch(name: string | undefined, rest: readonly string[], terminal: Terminal): Promise<number> {
  const style = styleFor(terminal.out, terminal);
  if (name === "-h" || name === "--help" || (name === "help" && rest[0] === undefined)) {
    terminal.out.write(overview(commands, style));
    return EXIT.ok;
  }
  if (name === "-V" || name === "--version") {
    terminal.out.write(`${version()}\n`);
    return EXIT.ok;
  }
  if (name === undefined) {
    terminal.err.write(overview(commands, styleFor(terminal.err, terminal)));
    return EXIT.usage;
  }
  const asked = commandOf(name === "help" ? (rest[0] ?? "") : name);
  const parsed = parse(asked, name === "help" ? ["--help"] : rest);
  const { options } = parsed;
  if (options.help === true) {
    terminal.out.write(helpOf(asked, style));
    return EXIT.ok;
  }
  const progress = new Progress(terminal, options.quiet === true);
  try {
    terminal.signal.throwIfAborted();
    return await asked.run({
      ...parsed,
      options: options as Call<Record<string, never>>["options"],
      terminal,
      progress,
      json: options.json === true,
    });
  } finally {
    progress.end();
  }
}

function commandOf(name: string): Command {
  const found = commands.find((each) => each.name === name);
  if (found !== undefined) return found;
  const kind = name.startsWith("-") ? "option" : "command";
  const near = nearest(
    name,
    commands.map((each) => each.name),
  );
  throw new UsageError(`There is no ${kind} "${name}"`, near === undefined ? undefined : `Did you mean "${near}"?`);
}
