/** How a Tesseract in Python is started: by the reference runtime, in the environment that it needs. */
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { TesseractError } from "@tesseract-ts/core";
import type { Directories } from "./connect.js";
import { environmentWith } from "./environment.js";
import { findExecutable } from "./executables.js";
import type { Explanation, FailedStart, ServerLaunch } from "./launch.js";
import { freePort } from "./ports.js";
import { pythonFor } from "./python-environment.js";
import { importVariables, runtimeOf } from "./python-runtime.js";
import type { StartOptions } from "./started.js";
import { readTesseractConfig, type TesseractConfig } from "./tesseract-config.js";

/** The server ends with the pipe that it has there. */
const PARENT_PIPE_FD = 3;
/** The first runtime that watches a pipe. */
const FIRST_WITH_PIPE = [1, 14] as const;

/** @throws TesseractError ENVIRONMENT_FAILED, INVALID_ARGUMENT, ABORTED */
export async function pythonLaunch(
  path: string,
  options: StartOptions & { readonly pythonExecutable?: string },
  { inputPath, outputPath }: Directories,
): Promise<ServerLaunch> {
  const { pythonExecutable, gpuTransport, offerGpuTransport, host = "127.0.0.1" } = options;
  const python = pythonExecutable === undefined ? await pythonFor(path, options) : await givenPython(pythonExecutable);
  const version = await requireRuntime(python, options.env);
  const { workers, ...runtimeConfig } = options.runtimeConfig ?? {};
  const declared = await declaredBy(path, pythonExecutable !== undefined);
  const debug = Object.entries(runtimeConfig).some(([name, value]) => name.toLowerCase() === "debug" && isOn(value));
  const hasDebugPort = Object.keys(runtimeConfig).some((name) => upperSnake(name) === "DEBUGPY_PORT");
  const [command, args] = await runtimeCommand(python);
  return {
    what: `The Tesseract "${path}"`,
    command: async (port) => ({
      command,
      args: [
        ...args,
        "serve",
        ...["--host", host, "--port", `${port}`, "--num-workers", `${workers ?? 1}`],
        ...(hasPipe(version) ? ["--parent-pipe-fd", `${PARENT_PIPE_FD}`] : []),
      ],
      env: environmentWith(
        {
          ...declared?.env,
          // Without it, what is printed comes in pieces of some kilobytes.
          PYTHONUNBUFFERED: "1",
          ...options.env,
          ...inBothSpellings({
            ...(declared === undefined
              ? {}
              : { NAME: declared.name, VERSION: declared.version, DESCRIPTION: declared.description }),
            // The debugger of each process needs a port of its own.
            ...(debug && !hasDebugPort ? { DEBUGPY_PORT: await freePort() } : {}),
            ...Object.fromEntries(Object.entries(runtimeConfig).map(([name, value]) => [upperSnake(name), value])),
            API_PATH: path,
            INPUT_PATH: inputPath,
            OUTPUT_PATH: outputPath,
            GPU_TRANSPORT: gpuTransport ?? offerGpuTransport ?? "none",
          }),
        },
        importVariables,
      ),
    }),
    explain: (failure) => explain(failure, path, python),
  };
}

async function givenPython(given: string): Promise<string> {
  const found = await findExecutable(given);
  if (found !== undefined) return found;
  throw new TesseractError("ENVIRONMENT_FAILED", `There is no interpreter "${given}"`, {
    hint: "Pass the path of a Python as `pythonExecutable`, such as .venv/bin/python.",
  });
}

/** @returns its version, if it can be known */
async function requireRuntime(python: string, env: StartOptions["env"]): Promise<string | undefined> {
  const runtime = await runtimeOf(python, env);
  switch (runtime.kind) {
    case "found":
      return runtime.version;
    case "none":
      throw new TesseractError("ENVIRONMENT_FAILED", `The interpreter ${python} has no Tesseract runtime`, {
        hint: `Install it there: ${python} -m pip install "tesseract-core[runtime]". Or leave \`pythonExecutable\` out, to have an environment built.`,
      });
    case "no interpreter":
      throw new TesseractError(
        "ENVIRONMENT_FAILED",
        `${python} can't be run as a Python interpreter: ${runtime.reason}`,
        {
          hint: "Pass the path of a Python as `pythonExecutable`, such as .venv/bin/python.",
        },
      );
  }
}

/** What an image would have been made with. An interpreter that is given needs no configuration. */
async function declaredBy(path: string, isOptional: boolean): Promise<TesseractConfig | undefined> {
  try {
    return await readTesseractConfig(dirname(path));
  } catch (error) {
    if (isOptional) return undefined;
    throw error;
  }
}

/** Rather the script beside the interpreter: with `-m`, the working directory would come first on the import path. */
async function runtimeCommand(python: string): Promise<[command: string, args: readonly string[]]> {
  const script = join(dirname(python), process.platform === "win32" ? "tesseract-runtime.exe" : "tesseract-runtime");
  const found = await stat(script).catch(() => undefined);
  return found?.isFile() === true ? [script, []] : [python, ["-m", "tesseract_core.runtime"]];
}

function hasPipe(version: string | undefined): boolean {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version ?? "") ?? [];
  if (major === undefined) return true;
  return Number(major) > FIRST_WITH_PIPE[0] || Number(minor) >= FIRST_WITH_PIPE[1];
}

/** Each under both of its names: the longer one wins, and may be set in this process. */
function inBothSpellings(settings: Readonly<Record<string, string | number | boolean>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).flatMap(([name, value]) => {
      const text = typeof value === "boolean" ? (value ? "1" : "0") : String(value);
      return [
        [`TESSERACT_${name}`, text],
        [`TESSERACT_RUNTIME_${name}`, text],
      ];
    }),
  );
}

/** `outputFormat`, `output_format` and `OUTPUT_FORMAT` are one. */
const upperSnake = (name: string): string => name.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2").toUpperCase();

const isOn = (value: string | number | boolean): boolean =>
  ["1", "true", "yes", "on"].includes(String(value).toLowerCase());

function explain({ end, log }: FailedStart, path: string, python: string): Explanation | undefined {
  if (end === undefined) return undefined;
  const text = log.join("\n");
  const missing = /No module named '?([\w.]+)'?/.exec(text)?.[1];
  // Python's last word on an exception says what it was; the runtime's own, that the module can't be loaded, says less.
  const exception = [...log]
    .reverse()
    .find((line) => /^\s*(│\s*)?(\w+\.)*\w*(Error|Exception|Interrupt|Exit)\b(?!: Could not load module)/.test(line));
  const hint =
    missing === undefined
      ? "Mostly its module raised an exception when it was imported: the error's `log` has it."
      : `"${missing}" isn't installed for ${python}: name it in tesseract_requirements.txt, or install it there.`;
  if (exception === undefined) return { hint };
  return {
    code: "LOAD_FAILED",
    message: `The Tesseract "${path}" can't be loaded: ${exception.replaceAll("│", "").trim()}`,
    hint,
  };
}
