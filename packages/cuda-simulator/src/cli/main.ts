#!/usr/bin/env node
/** The command `cuda-simulator`. */
import { CudaSimulatorError, type ErrorCode } from "../errors.js";
import { buildNative } from "../native/build.js";
import { packageVersion } from "../native/package-root.js";
import { HELP, parseCommandLine } from "./command-line.js";
import { report } from "./report.js";
import { run } from "./run.js";
import { status } from "./status.js";

/** Exit statuses as shells have them: 2 for what was asked wrongly, 127 for a program that can't be started. */
const EXITS: Partial<Record<ErrorCode, number>> = { USAGE: 2, INVALID_OPTION: 2, SPAWN_FAILED: 127 };

async function main(args: readonly string[]): Promise<number> {
  const asked = parseCommandLine(args);
  switch (asked.command) {
    case "run":
      return run(asked);
    case "report":
      await report(asked, process.stdout);
      return 0;
    case "status":
      return status(asked, process.stdout);
    case "build": {
      const { tests, rules } = asked;
      const built = await buildNative({ tests, rules, onOutput: (text) => process.stderr.write(text) });
      process.stdout.write(`${built}\n`);
      return 0;
    }
    case "version":
      process.stdout.write(`${packageVersion()}\n`);
      return 0;
    case "help":
      process.stdout.write(HELP);
      return 0;
  }
}

// `report … | head` closes the pipe early, which is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof CudaSimulatorError)) throw error;
  process.stderr.write(`cuda-simulator: ${error.message}\n${error.hint === undefined ? "" : `${error.hint}\n`}`);
  process.exitCode = EXITS[error.code] ?? 1;
}
