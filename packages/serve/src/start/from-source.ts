/** Starts a Tesseract from its source, in a process of its own. */
import { randomBytes } from "node:crypto";
import { mkdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { TesseractError, type TesseractTypes, type Untyped } from "@tesseract-ts/core";
import { connectTo, type Directories } from "./connect.js";
import type { ServerLaunch } from "./launch.js";
import { nodeLaunch } from "./node-source.js";
import { pythonLaunch } from "./python-source.js";
import { aborted } from "./start-failure.js";
import { startServer } from "./start-server.js";
import type { StartedTesseract, StartOptions } from "./started.js";

export interface FromSourceOptions extends StartOptions {
  /**
   * Of a Tesseract in TypeScript: the module whose default export is the list of its server's transports. If left out,
   * `host()`, and `cudaIpc()` where a `gpuTransport` of "cuda_ipc" is asked for or offered.
   */
  readonly serverTransports?: string | URL;
  /**
   * Of a Tesseract in Python: the interpreter that runs it, with `tesseract-core[runtime]` and all that the Tesseract needs
   * installed. If left out, an environment is built beside the file from its `tesseract_config.yaml`, and used again.
   */
  readonly pythonExecutable?: string;
}

const nodeExtensions = new Set([".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"]);

/**
 * Starts a Tesseract from a file, in a process of its own, and connects to it: `.ts`, `.mts`, `.js` and `.mjs` in Node, `.py` in
 * Python. The process ends with the result, and with this process.
 *
 * @throws TesseractError LOAD_FAILED if there is no such file, or it defines no Tesseract; START_FAILED, START_TIMED_OUT,
 *   PORT_TAKEN, ENVIRONMENT_FAILED, ABORTED, INVALID_ARGUMENT, TRANSPORT_MISSING; and as `fromUrl` does
 *
 * @example
 * await using heat = await fromSource("./heat.ts");
 * const { temperature } = await heat.apply({ source: new Float64Array(100) });
 */
export async function fromSource<T extends TesseractTypes = Untyped>(
  source: string | URL,
  given: FromSourceOptions = {},
): Promise<StartedTesseract<T>> {
  const options = withGpuTransport(given);
  const path = source instanceof URL ? fileURLToPath(source) : resolve(source);
  if (options.signal?.aborted) throw aborted(`The Tesseract "${path}"`, options.signal);
  await requireFile(path);
  const { directories, folders } = await directoriesFor(options);
  const launch = await launchOf(path, options, directories);
  const server = await startServer({ ...launch, folders }, options);
  return connectTo<T>(server, options, directories);
}

/** As in the reference, `runtimeConfig` may name the GPU transport, and the option of its own wins. */
function withGpuTransport(options: FromSourceOptions): FromSourceOptions {
  const entries = Object.entries(options.runtimeConfig ?? {});
  const isIt = (name: string): boolean => name.replaceAll("_", "").toLowerCase() === "gputransport";
  const named = entries.find(([name]) => isIt(name))?.[1];
  if (named === undefined) return options;
  const runtimeConfig = Object.fromEntries(entries.filter(([name]) => !isIt(name)));
  const { gpuTransport, offerGpuTransport } = options;
  return gpuTransport === undefined && offerGpuTransport === undefined
    ? { ...options, runtimeConfig, gpuTransport: String(named) }
    : { ...options, runtimeConfig };
}

async function launchOf(path: string, options: FromSourceOptions, directories: Directories): Promise<ServerLaunch> {
  return extname(path) === ".py" ? pythonLaunch(path, options, directories) : nodeLaunch(path, options, directories);
}

async function requireFile(path: string): Promise<void> {
  const loadFailed = (reason: string, hint: string): TesseractError =>
    new TesseractError("LOAD_FAILED", `The Tesseract "${path}" can't be loaded: ${reason}`, { hint });
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw loadFailed("there is no such file", `It was looked for from ${process.cwd()}.`);
  if (!found.isFile()) {
    throw loadFailed("it is no file", `Name the file, such as "${join(path, "tesseract_api.py")}".`);
  }
  const extension = extname(path);
  if (extension === ".py" || nodeExtensions.has(extension)) return;
  throw loadFailed(
    `"${basename(path)}" is neither TypeScript nor Python by its name`,
    "A Tesseract is a .ts, .mts, .js, .mjs or .py file.",
  );
}

/** Those that are given are there in the end; those that aren't are made by the guard, which removes them. */
async function directoriesFor(
  options: StartOptions,
): Promise<{ readonly directories: Directories; readonly folders: readonly string[] }> {
  const own = join(tmpdir(), `tesseract-${randomBytes(8).toString("hex")}`);
  const inputPath = options.inputPath === undefined ? join(own, "input") : resolve(options.inputPath);
  const outputPath = options.outputPath === undefined ? join(own, "output") : resolve(options.outputPath);
  const made = [inputPath, outputPath].filter((path) => path.startsWith(own));
  for (const given of [options.inputPath, options.outputPath]) {
    if (given !== undefined) await mkdir(resolve(given), { recursive: true });
  }
  return { directories: { inputPath, outputPath }, folders: made.length === 0 ? [] : [own, ...made] };
}
