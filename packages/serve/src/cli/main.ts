#!/usr/bin/env node
/** The command `tesseract-ts`. */
import { run } from "./program.js";
import { processTerminal } from "./terminal/terminal.js";

/** The first asks for an orderly end; a second ends at once what doesn't heed it. */
const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    if (interrupted.signal.aborted) process.exit(signal === "SIGINT" ? 130 : 143);
    interrupted.abort(signal === "SIGINT" ? "SIGINT" : "SIGTERM");
  });
}

// `tesseract-ts openapi … | head` closes the pipe early, which is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  interrupted.abort("EPIPE");
  process.exitCode = 0;
});

const code = await run(process.argv.slice(2), processTerminal(interrupted.signal));
process.exitCode = interrupted.signal.reason === "EPIPE" ? 0 : code;
// Standard input may still be open, and has nothing more to say.
process.stdin.destroy();
