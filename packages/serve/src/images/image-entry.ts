/** What a container of an image of ours begins with: it takes the arguments and variables of the reference's runtime. */
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { TesseractError } from "@tesseract-ts/core";
import { loadTesseract } from "@tesseract-ts/inprocess";
import { serve } from "../serve.js";
import type { ServerSettings } from "../settings.js";
import { transportsFor } from "../start/gpu-transports.js";
import { settings as known } from "../start/node-source.js";

const HELP = `serve [--host 127.0.0.1] [--port 8000] [--num-workers 1]   serves the Tesseract
check                                                      loads it, and prints what it is called, as JSON
health                                                     ends with 0 if it is being served in this container`;

const setting = (name: string): string | undefined =>
  process.env[`TESSERACT_RUNTIME_${name}`] ?? process.env[`TESSERACT_${name}`];

/** The settings that variables hold, such as `TESSERACT_MAX_CONCURRENT_CALLS`. */
function settingsOfEnvironment(): Readonly<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const [name, kind] of Object.entries(known)) {
    const text = setting(name.replace(/[A-Z]/g, "_$&").toUpperCase());
    if (text === undefined || text === "") continue;
    if (kind === "string") found[name] = text;
    else found[name] = kind === "number" ? Number(text) : /^(1|true|yes|on)$/i.test(text);
  }
  return found;
}

async function main(args: readonly string[]): Promise<void> {
  const path = setting("API_PATH");
  if (path === undefined)
    throw new TesseractError("INVALID_ARGUMENT", "TESSERACT_API_PATH doesn't say which file to serve");
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      host: { type: "string", default: "127.0.0.1" },
      port: { type: "string", default: "8000" },
      "num-workers": { type: "string", default: "1" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const [command = "help"] = values.help ? [] : positionals;
  switch (command) {
    case "serve":
      return serveUntilTold(path, values.host, Number(values.port), Number(values["num-workers"]));
    case "check": {
      const { name, version, description } = await loadTesseract(path);
      console.log(JSON.stringify({ name, version, description }));
      return;
    }
    case "health":
      return checkHealth();
    case "help":
      console.log(HELP);
      return;
    default:
      throw new TesseractError("INVALID_ARGUMENT", `There is no command "${command}"`, { hint: HELP });
  }
}

async function serveUntilTold(path: string, host: string, port: number, workers: number): Promise<void> {
  const gpuTransport = setting("GPU_TRANSPORT") ?? "none";
  const inputPath = setting("INPUT_PATH");
  const outputPath = setting("OUTPUT_PATH");
  const shared: ServerSettings = {
    ...settingsOfEnvironment(),
    host,
    port,
    gpuTransport,
    ...(inputPath === undefined ? {} : { inputPath }),
    ...(outputPath === undefined ? {} : { outputPath }),
  };
  // Worker processes take transports by a module; without one they have those of the host's memory.
  const transports = workers > 1 ? {} : { transports: await transportsFor(gpuTransport, {}, path) };
  const served = await serve(path, { ...shared, workers, ...transports });
  console.log(`Serving ${setting("NAME") ?? path} at ${served.url}`);
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => void served.close());
  await served.closed;
}

/** The server is the container's first process, or the child of a small one whose arguments have those of the server in them. */
async function checkHealth(): Promise<void> {
  const first = (await readFile("/proc/1/cmdline", "utf8")).split("\0");
  const port = first[first.indexOf("--port") + 1] ?? "8000";
  const answer = await fetch(`http://127.0.0.1:${/^\d+$/.test(port) ? port : "8000"}/health`);
  process.exitCode = answer.ok ? 0 : 1;
}

try {
  await main(process.argv.slice(2));
  // What a Tesseract leaves open doesn't keep the container.
  process.exit();
} catch (error) {
  console.error(error);
  process.exit(1);
}
