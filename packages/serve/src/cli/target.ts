/** Opens a TARGET: a URL is connected to, a file or an image is started, and stopped again at the end. */
import { existsSync, statSync } from "node:fs";
import { extname, join, resolve } from "node:path";
import { fromUrl, type Tesseract, TesseractError, type Transport } from "@tesseract-ts/core";
import { host } from "@tesseract-ts/transport-host";
import { fromImage } from "../containers/from-image.js";
import { fromSource } from "../start/from-source.js";
import { transportsFor } from "../start/gpu-transports.js";
import type { RuntimeConfig, StartOptions } from "../start/started.js";
import type { Options, Values } from "./command.js";
import { UsageError } from "./failure.js";
import type { Progress } from "./terminal/progress.js";
import { printable, styleFor } from "./terminal/style.js";
import type { Terminal } from "./terminal/terminal.js";

/** Options of every command that takes a TARGET. */
export const targetOptions = {
  timeout: {
    kind: "number",
    value: "SECONDS",
    least: 0,
    scale: 1000,
    help: "how long a call may take; no limit if left out",
  },
  "start-timeout": {
    kind: "number",
    value: "SECONDS",
    least: 0,
    scale: 1000,
    help: "how long a file or an image may take to answer (30)",
  },
  "gpu-transport": { kind: "text", value: "NAME", help: "how GPU arrays cross, such as cuda_ipc" },
  format: {
    kind: "text",
    value: "FORMAT",
    choices: ["json", "json+base64", "json+binref"],
    help: "how arrays are encoded: json, json+base64 or json+binref",
  },
  compression: { kind: "text", value: "NAME", choices: ["none", "lz4"], help: "none or lz4" },
  header: {
    kind: "list",
    value: "'NAME: VALUE'",
    help: "of a URL: sent with each request; may be given several times",
  },
  "base-path": { kind: "text", value: "PATH", help: "of a URL: where a proxy serves the Tesseract, such as /heat" },
  python: { kind: "text", value: "PATH", help: "of a .py file: the interpreter that has its packages" },
  env: { kind: "list", value: "NAME=VALUE", help: "of a file or an image: a variable of its environment" },
  gpus: { kind: "list", value: "GPU", help: "of an image: all, or the number or UUID of one" },
  volume: { kind: "list", value: "HERE:THERE[:rw]", help: "of an image: a folder or file that it sees" },
  network: { kind: "text", value: "NAME", help: "of an image: the network that it is in, or host" },
  verbose: { kind: "flag", short: "v", help: "of a file or an image: all that it prints, on standard error" },
} as const satisfies Options;

export type TargetOptions = Values<typeof targetOptions>;

export type TargetKind = "url" | "file" | "image";

export interface OpenTarget extends AsyncDisposable {
  readonly kind: TargetKind;
  readonly tesseract: Tesseract;
}

export interface OpenOptions {
  readonly terminal: Terminal;
  readonly progress: Progress;
  /** Of one that is started: settings of its runtime. */
  readonly runtimeConfig?: RuntimeConfig;
  /** Of one that is started: it allows this GPU transport if it can. */
  readonly offerGpuTransport?: string;
  /** Of one that is started: where its `binref` inputs are. */
  readonly inputPath?: string;
  /** What endpoints log is shown, as it is part of what was asked for; otherwise only if all is. */
  readonly showsRunLog?: boolean;
  /** Tried before the others, and left out if it can't be used. */
  readonly device?: Transport;
}

const extensions = new Set([".ts", ".mts", ".cts", ".js", ".mjs", ".cjs", ".py"]);
/** What a folder is taken for. */
const mainFiles = ["tesseract.ts", "tesseract.mts", "tesseract.js", "tesseract.mjs", "tesseract_api.py"];

/** @returns the kind of a target, and the path of a file */
export function kindOf(target: string, directory: string): { readonly kind: TargetKind; readonly name: string } {
  // `localhost:8000` looks like an image, and is none; `fromUrl` says what is missing.
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(target) || /^(localhost|\d+(\.\d+){3}|\[[0-9a-f:]+\]):\d+(\/|$)/i.test(target)) {
    return { kind: "url", name: target };
  }
  const path = resolve(directory, target);
  if (existsSync(path) && statSync(path).isDirectory()) {
    const file = mainFiles.map((name) => join(path, name)).find((candidate) => existsSync(candidate));
    if (file !== undefined) return { kind: "file", name: file };
    throw new UsageError(
      `The folder "${target}" has no Tesseract in it`,
      `Name its file; ${mainFiles.join(", ")} would have been found.`,
    );
  }
  const isPath = existsSync(path) || extensions.has(extname(target)) || /^(\.{0,2}\/|~)/.test(target);
  return isPath ? { kind: "file", name: path } : { kind: "image", name: target };
}

/** @throws TesseractError as `fromUrl`, `fromSource` and `fromImage` do; UsageError */
export async function openTarget(target: string, options: TargetOptions, open: OpenOptions): Promise<OpenTarget> {
  const { kind, name } = kindOf(target, open.terminal.directory);
  refuseForeignOptions(kind, options);
  const { progress } = open;
  try {
    const tesseract = kind === "url" ? await connect(name, options, open) : await start(kind, name, options, open);
    const { signal } = open.terminal;
    // A call that is on its way then fails with CLOSED.
    const close = (): void => void tesseract.close();
    signal.addEventListener("abort", close);
    progress.end();
    return {
      kind,
      tesseract,
      async [Symbol.asyncDispose]() {
        signal.removeEventListener("abort", close);
        if (kind !== "url") progress.count("Stopping the Tesseract");
        await tesseract.close();
        progress.end();
      },
    };
  } catch (error) {
    progress.end();
    throw error;
  }
}

async function connect(
  url: string,
  options: TargetOptions,
  { terminal, progress, device }: OpenOptions,
): Promise<Tesseract> {
  const transports = device === undefined ? await transportsFor(options["gpu-transport"], {}) : [device, ...host()];
  progress.count(`Connecting to ${url}`);
  const basePath = options["base-path"];
  return fromUrl(url, {
    ...connection(options, terminal, progress),
    transports,
    headers: Object.fromEntries(options.header.map(headerOf)),
    ...(basePath === undefined ? {} : { basePath }),
  });
}

async function start(
  kind: "file" | "image",
  name: string,
  options: TargetOptions,
  open: OpenOptions,
): Promise<Tesseract> {
  const { terminal, progress, runtimeConfig, offerGpuTransport, inputPath, showsRunLog = false } = open;
  const dim = styleFor(terminal.err, terminal);
  const startTimeout = options["start-timeout"];
  const common: StartOptions = {
    ...connection(options, terminal, progress),
    ...(startTimeout === undefined ? {} : { startTimeout }),
    ...(options.env.length === 0 ? {} : { env: Object.fromEntries(options.env.map(variableOf)) }),
    ...(runtimeConfig === undefined ? {} : { runtimeConfig }),
    ...(offerGpuTransport === undefined || options["gpu-transport"] !== undefined ? {} : { offerGpuTransport }),
    ...(inputPath === undefined ? {} : { inputPath }),
    onProgress: ({ message }) => progress.count(message),
    onLog: (line, runId) => {
      if ((runId !== undefined && showsRunLog) || options.verbose) progress.line(dim("dim", `| ${printable(line)}`));
    },
  };
  if (kind === "image") {
    const { gpus, volume, network } = options;
    return fromImage(name, {
      ...common,
      ...(gpus.length === 0 ? {} : { gpus }),
      ...(volume.length === 0 ? {} : { volumes: volume }),
      ...(network === undefined ? {} : { network }),
    });
  }
  const python = options.python;
  return fromSource(name, { ...common, ...(python === undefined ? {} : { pythonExecutable: python }) });
}

function connection(
  options: TargetOptions,
  terminal: Terminal,
  progress: Progress,
): Pick<StartOptions, "timeout" | "outputFormat" | "compression" | "gpuTransport" | "onWarning"> & {
  signal: AbortSignal;
} {
  const { timeout, format, compression } = options;
  const gpuTransport = options["gpu-transport"];
  return {
    signal: terminal.signal,
    ...(timeout === undefined ? {} : { timeout }),
    ...(format === undefined ? {} : { outputFormat: format }),
    ...(compression === undefined ? {} : { compression: compression as "none" | "lz4" }),
    ...(gpuTransport === undefined ? {} : { gpuTransport }),
    onWarning: ({ message, hint }) => {
      progress.line(styleFor(terminal.err, terminal)("yellow", hint === undefined ? message : `${message} ${hint}`));
    },
  };
}

/** Options that would do nothing are refused rather than passed over. */
function refuseForeignOptions(kind: TargetKind, options: TargetOptions): void {
  const only: Partial<Record<keyof TargetOptions, readonly TargetKind[]>> = {
    header: ["url"],
    "base-path": ["url"],
    python: ["file"],
    env: ["file", "image"],
    gpus: ["image"],
    volume: ["image"],
    network: ["image"],
    "start-timeout": ["file", "image"],
  };
  for (const [name, kinds] of Object.entries(only)) {
    const value = options[name as keyof TargetOptions];
    const isGiven = Array.isArray(value) ? value.length > 0 : value !== undefined;
    if (!isGiven || kinds.includes(kind)) continue;
    throw new UsageError(
      `--${name} is for ${kinds.map((each) => names[each]).join(" and ")}, and the target is ${names[kind]}`,
    );
  }
}

const names: Readonly<Record<TargetKind, string>> = { url: "a URL", file: "a file", image: "an image" };

function headerOf(given: string): [string, string] {
  const at = given.indexOf(":");
  // It isn't repeated: it may be a secret.
  if (at <= 0) throw new UsageError("A --header has no colon", "Such as --header 'authorization: Bearer …'.");
  return [given.slice(0, at).trim(), given.slice(at + 1).trim()];
}

export function variableOf(given: string): [string, string] {
  const at = given.indexOf("=");
  if (at <= 0) throw new UsageError(`--env ${given.slice(0, 20)} has no "="`, "Such as --env LEVEL=3.");
  return [given.slice(0, at), given.slice(at + 1)];
}

/** The error of a call that Ctrl-C ended. */
export const isInterrupted = (error: unknown, { signal }: Terminal): boolean =>
  signal.aborted &&
  (error === signal.reason || (error instanceof TesseractError && ["ABORTED", "CLOSED"].includes(error.code)));
