/** Serves the Tesseract of a file, in a process of its own, for the program that started it. */
import { writeSync } from "node:fs";
import { TesseractError } from "@tesseract-ts/core";
import { loadTesseract } from "@tesseract-ts/inprocess";
import { type ServedTesseract, serve } from "../serve.js";
import { transportsFor } from "./gpu-transports.js";
import type { ServerReport } from "./launch.js";
import type { FileToServe } from "./node-source.js";

/** The end of this pipe is the end of the one who started this process. */
const PARENT_PIPE_FD = 3;
const REPORT_FD = 4;
/** Milliseconds that the process has to end by itself, once it is closed. */
const END_MS = 1_000;

function report(message: ServerReport): void {
  writeSync(REPORT_FD, `${JSON.stringify(message)}\n`);
}

const { path, transports, offerGpuTransport, config } = JSON.parse(process.argv[2] ?? "{}") as FileToServe;

let served: ServedTesseract | undefined;
let isAsked = false;

function end(): void {
  isAsked = true;
  // Before it listens, there is nothing to close.
  if (served === undefined) process.exit(0);
  void served.close();
}
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, end);

/** What is offered is allowed only where it can't be in the way of anything. */
async function allowedGpuTransport(): Promise<string | undefined> {
  if (offerGpuTransport === undefined) return config.gpuTransport;
  const { gpuArrays, runIn } = await loadTesseract(path);
  return gpuArrays && runIn !== "worker" ? offerGpuTransport : "none";
}

try {
  const gpuTransport = (await allowedGpuTransport()) ?? "none";
  served = await serve(path, {
    ...config,
    gpuTransport,
    transports: transports ?? (await transportsFor(gpuTransport, {}, path)),
    parentPipeFd: PARENT_PIPE_FD,
  });
  report({ kind: "listening", port: served.port });
  await served.closed;
  // What keeps device memory gives it back when a process ends by itself; what the Tesseract leaves running mustn't hold it up.
  setTimeout(() => process.exit(0), END_MS).unref();
} catch (error) {
  const own =
    error instanceof TesseractError ? error : new TesseractError("START_FAILED", String(error), { cause: error });
  const code = own.code === "CONNECTION_FAILED" ? "PORT_TAKEN" : own.code;
  const hint = own.hint === undefined ? {} : { hint: own.hint };
  if (!isAsked) report({ kind: "failed", code, message: own.message, ...hint });
  // Node prints what nobody catches with its place in the file, which the error itself doesn't always have.
  setImmediate(() => {
    throw own.cause ?? own;
  });
}
