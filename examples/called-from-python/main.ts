// Serves a Tesseract written in TypeScript, and runs a Python program that calls it.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { TesseractError } from "@tesseract-ts/core";

const HELP = `npm start -w examples/called-from-python [-- OPTIONS]

  --jax           with tesseract-jax: jax.grad through the Tesseract as well (.venv-jax instead of .venv)
  --python PATH   the Python to use, with tesseract-core in it
  --picture FILE  writes a picture of the results, an SVG`;

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => stop.abort(signal));

try {
  const { values } = parseArgs({
    options: {
      jax: { type: "boolean", default: false },
      python: { type: "string" },
      picture: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) console.log(HELP);
  else {
    const python = pythonOf(values.python, values.jax ? ".venv-jax" : ".venv");
    const { run } = await import("./run.js"); // with all that it needs, once it is known that there is a Python
    process.exitCode = await run(python, values.picture, stop.signal);
  }
} catch (error) {
  if (!stop.signal.aborted) {
    console.error(error instanceof TesseractError ? `${error.message}\n${error.hint ?? ""}` : String(error));
    process.exitCode = 1;
  }
}
if (stop.signal.aborted) process.kill(process.pid, stop.signal.reason); // what it started is gone: end the way we were asked to

function pythonOf(given: string | undefined, environment: string): string {
  const python = given ?? fileURLToPath(new URL(`../../${environment}/bin/python`, import.meta.url));
  if (existsSync(python)) return python;
  if (given !== undefined) throw new Error(`There is no ${given}: \`--python\` takes the path of a Python.`);
  throw new Error(
    `There is no Python environment ${environment}: \`npm start -w examples/called-from-python\` in the repository's root makes it, ` +
      "with `-- --jax` the one that has tesseract-jax. `--python PATH` takes another one.",
  );
}
