/** `tesseract-ts serve`: serves a Tesseract until it is told to stop. */
import { extname } from "node:path";
import { type Compression, TesseractError } from "@tesseract-ts/core";
import type { ServeOptions } from "../../serve.js";
import { fromSource } from "../../start/from-source.js";
import { transportsFor } from "../../start/gpu-transports.js";
import type { StartedTesseract } from "../../start/started.js";
import { command, type Options, type Values } from "../command.js";
import { EXIT, UsageError } from "../failure.js";
import { kindOf } from "../target.js";
import type { Progress } from "../terminal/progress.js";
import { printable, styleFor } from "../terminal/style.js";
import type { Terminal } from "../terminal/terminal.js";

const options = {
  port: {
    kind: "number",
    value: "PORT",
    short: "p",
    whole: true,
    least: 0,
    help: "where to listen (8000); 0 for any free port",
  },
  host: {
    kind: "text",
    value: "ADDRESS",
    help: "the address to listen on (127.0.0.1: this machine only); 0.0.0.0 for all",
  },
  workers: { kind: "number", value: "N", whole: true, least: 1, help: "processes that answer (1)" },
  "gpu-transport": {
    kind: "text",
    value: "NAME",
    help: "how GPU arrays may cross: cuda_ipc, or a transport of --transports",
  },
  transports: { kind: "text", value: "MODULE", help: "a module whose default export is the list of transports" },
  format: {
    kind: "text",
    value: "FORMAT",
    help: "for requests that ask for none: json (as left out), json+base64, json+binref",
  },
  compression: { kind: "text", value: "NAME", choices: ["none", "lz4"], help: "for requests that ask for none" },
  "input-path": { kind: "text", value: "DIR", help: "the directory of binref inputs" },
  "output-path": { kind: "text", value: "DIR", help: "where runs have their folders" },
  threads: {
    kind: "number",
    value: "N",
    whole: true,
    least: 1,
    help: 'for endpoints of runIn: "worker" (one a processor)',
  },
  "time-limit": { kind: "number", value: "SECONDS", least: 0, scale: 1000, help: "how long a call may take; then 504" },
  "max-calls": {
    kind: "number",
    value: "N",
    whole: true,
    least: 1,
    help: "calls at once; one more is answered with 503 (256)",
  },
  "max-request": {
    kind: "number",
    value: "MB",
    least: 0,
    scale: 1e6,
    help: "the largest request that is read; more is 413",
  },
  "max-arrays": {
    kind: "number",
    value: "MB",
    least: 0,
    scale: 1e6,
    help: "the most that a request's arrays may take up; more is 413",
  },
  "shutdown-limit": {
    kind: "number",
    value: "SECONDS",
    least: 0,
    scale: 1000,
    help: "how long calls may still run at the end (30)",
  },
  cors: { kind: "list", value: "ORIGIN", help: "a web page that may call, such as https://example.org, or *" },
  "allowed-host": { kind: "list", value: "NAME", help: "a further name that requests may call this machine by" },
  "debug-mode": { kind: "flag", help: "tracebacks in answers, the endpoint test, a check that inputs aren't changed" },
  metrics: { kind: "flag", help: "Prometheus metrics at /metrics; needs the package prom-client" },
  tracing: { kind: "flag", help: "OpenTelemetry spans; needs the package @opentelemetry/api" },
  log: { kind: "flag", help: "a line of JSON on standard output for each call" },
  python: { kind: "text", value: "PATH", help: "of a .py file: the interpreter that has its packages" },
} as const satisfies Options;

type Given = Values<typeof options>;

/** What a Tesseract in Python, which the reference runtime serves, can be told. */
const ofPython: ReadonlySet<keyof Given> = new Set([
  "port",
  "host",
  "workers",
  "gpu-transport",
  "format",
  "compression",
  "input-path",
  "output-path",
  "debug-mode",
  "python",
]);

export const serveFile = command({
  name: "serve",
  summary: "Serve a Tesseract over HTTP, until Ctrl-C.",
  arguments: [
    { name: "FILE", help: "the file whose default export it is (.ts, .mts, .js, .mjs), or a tesseract_api.py" },
  ],
  options,
  about: [
    "Python's Tesseract.from_url, tesseract-jax and fromUrl can call it. /docs shows its endpoints in a browser. On Ctrl-C, calls that run may end within --shutdown-limit; a second Ctrl-C ends at once.",
  ],
  examples: [
    { command: "tesseract-ts serve tesseract.ts", what: "at http://127.0.0.1:8000" },
    {
      command: "tesseract-ts serve tesseract.ts --port 0 --json",
      what: "at any free port, which a script reads as JSON",
    },
    {
      command: "tesseract-ts serve heat-gpu.ts --gpu-transport cuda_ipc",
      what: "with arrays that stay on the GPU",
    },
  ],
  async run({ options: given, given: [file = ""], terminal, progress, json }) {
    const { kind, name } = kindOf(file, terminal.directory);
    if (kind === "url")
      throw new UsageError(`"${file}" is being served already`, "serve takes the file that defines a Tesseract.");
    const path = kind === "file" ? name : kindOf(`./${file}`, terminal.directory).name;
    if ((given.port ?? 0) > 65_535) throw new UsageError(`${given.port} is no port`, "Ports go up to 65535.");
    const running =
      extname(path) === ".py" ? await servePython(path, given, terminal, progress) : await serveHere(path, given);
    progress.end();
    try {
      announce(running.url, file, given, terminal, json);
      const reason = await Promise.race([running.ended, interruption(terminal)]);
      if (reason === "interrupted" && !json) progress.line("Stopping; calls that run may end.");
    } finally {
      await running.close();
    }
    // To be stopped is how serving ends; shells know by the code what stopped it.
    if (terminal.signal.aborted) return terminal.signal.reason === "SIGTERM" ? EXIT.terminated : EXIT.interrupted;
    return EXIT.failed;
  },
});

interface Running {
  readonly url: string;
  /** Rejects if it ends as it shouldn't. */
  readonly ended: Promise<unknown>;
  close(): Promise<void>;
}

async function serveHere(path: string, given: Given): Promise<Running> {
  // Loaded where it is needed, since all commands would wait for it.
  const { serve } = await import("../../serve.js");
  const transports = given.transports ?? (await transportsFor(given["gpu-transport"], {}, path));
  const workers = given.workers ?? 1;
  const cors = given.cors.includes("*") ? "*" : given.cors;
  const served = await serve(path, {
    ...defined({
      host: given.host,
      port: given.port,
      workers,
      gpuTransport: given["gpu-transport"],
      outputFormat: given.format,
      compression: given.compression as Compression | undefined,
      inputPath: given["input-path"],
      outputPath: given["output-path"],
      threads: given.threads,
      timeLimit: given["time-limit"],
      maxConcurrentCalls: given["max-calls"],
      maxRequestBytes: given["max-request"],
      maxArrayBytes: given["max-arrays"],
      shutdownLimit: given["shutdown-limit"],
    }),
    // Worker processes load theirs from a module; without one they have the default ones.
    ...(workers > 1 && given.transports === undefined && !needsPlugin(given)
      ? {}
      : { transports: workers > 1 ? moduleOf(given) : transports }),
    cors,
    allowedHosts: given["allowed-host"],
    debug: given["debug-mode"],
    metrics: given.metrics,
    tracing: given.tracing,
    log: given.log,
  } satisfies ServeOptions);
  return { url: served.url, ended: served.closed, close: () => served.close() };
}

const needsPlugin = (given: Given): boolean => (given["gpu-transport"] ?? "none") !== "none";

/** The module that worker processes load their transports from. */
function moduleOf(given: Given): string {
  if (given.transports !== undefined) return given.transports;
  const code =
    'import { cudaIpc } from "@tesseract-ts/transport-cuda-ipc"; import { host } from "@tesseract-ts/transport-host"; export default [cudaIpc(), host()];';
  throw new UsageError(
    "Several workers load their transports from a module",
    `Write one, and give it as --transports: ${code}`,
  );
}

async function servePython(path: string, given: Given, terminal: Terminal, progress: Progress): Promise<Running> {
  for (const [name, value] of Object.entries(given)) {
    if (!(name in options) || ofPython.has(name as keyof Given)) continue;
    const isGiven = Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
    if (isGiven)
      throw new UsageError(
        `--${name} is for Tesseracts in TypeScript; the reference runtime, which serves "${path}", has no such setting`,
      );
  }
  const dim = styleFor(terminal.err, terminal);
  const started: StartedTesseract = await fromSource(path, {
    signal: terminal.signal,
    port: given.port ?? 8000,
    ...defined({
      host: given.host,
      gpuTransport: given["gpu-transport"],
      pythonExecutable: given.python,
      inputPath: given["input-path"],
      outputPath: given["output-path"],
    }),
    runtimeConfig: defined({
      debug: given["debug-mode"] || undefined,
      outputFormat: given.format,
      compression: given.compression === "none" ? undefined : given.compression,
      workers: given.workers,
    }),
    onProgress: ({ message }) => progress.count(message),
    onLog: (line) => progress.line(dim("dim", printable(line))),
  });
  const ended = started.ended.then((end) => {
    if (terminal.signal.aborted) return;
    const how =
      end.kind === "exited" ? `with exit code ${end.code}` : end.kind === "killed" ? `by ${end.signal}` : "unnoticed";
    throw new TesseractError("PROCESS_ENDED", `The process that serves "${path}" ended ${how}`, { log: started.log });
  });
  return { url: started.url, ended, close: () => started.close() };
}

function announce(url: string, file: string, given: Given, terminal: Terminal, json: boolean): void {
  if (json) {
    terminal.out.write(`${JSON.stringify({ url, pid: process.pid })}\n`);
    return;
  }
  const style = styleFor(terminal.out, terminal);
  const gpu = needsPlugin(given) ? `, ${given["gpu-transport"]} allowed` : "";
  terminal.out.write(`Serving ${file} at ${style("cyan", url)}${gpu}\n`);
  terminal.err.write(
    `${styleFor(terminal.err, terminal)("dim", `${url}/docs shows what it does. Ctrl-C stops it.`)}\n`,
  );
}

const interruption = ({ signal }: Terminal): Promise<"interrupted"> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve("interrupted");
    signal.addEventListener("abort", () => resolve("interrupted"), { once: true });
  });

type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

/** Without the members that are undefined. */
const defined = <T extends object>(members: T): Defined<T> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<T>;
