/** Makes a Tesseract of a server that was started. */
import {
  type Backend,
  backendFromUrl,
  type FromUrlOptions,
  Tesseract,
  TesseractError,
  type TesseractTypes,
} from "@tesseract-ts/core";
import { transportsFor } from "./gpu-transports.js";
import { aborted } from "./start-failure.js";
import type { RunningServer } from "./start-server.js";
import type { ProcessEnd, StartedTesseract, StartOptions } from "./started.js";
import { SupervisedBackend } from "./supervised-backend.js";

const LONGEST_INTERVAL_MS = 2 ** 31 - 1;

/** The server's, as this process sees them. */
export interface Directories {
  readonly inputPath: string;
  readonly outputPath: string;
}

/**
 * Connects to a server. The result owns it: the server is stopped with it, or if there is no result.
 *
 * @param wrap adds to the connection what is known of how the server was started
 *
 * @throws TesseractError as `fromUrl` does, and PROCESS_ENDED
 */
export async function connectTo<T extends TesseractTypes>(
  server: RunningServer,
  options: StartOptions,
  directories: Directories,
  wrap: (backend: Backend) => Backend = (backend) => backend,
): Promise<StartedTesseract<T>> {
  try {
    options.onProgress?.({ step: "connection", message: `Connecting to ${server.url}` });
    const transports =
      options.transports ?? (await transportsFor(options.gpuTransport ?? options.offerGpuTransport, directories));
    const backend = wrap(await backendFromUrl(server.url, { ...connectionOptions(options), transports }));
    return new Started<T>(backend, server, options, directories);
  } catch (error) {
    const { end, what } = server;
    await server.stop();
    if (options.signal?.aborted) throw aborted(what, options.signal);
    if (end === undefined) throw error;
    throw new TesseractError("PROCESS_ENDED", `${what} ended while it was being connected to`, {
      cause: error,
      log: server.endOfLog,
    });
  }
}

class Started<T extends TesseractTypes> extends Tesseract<T> implements StartedTesseract<T> {
  readonly url: string;
  readonly port: number;
  readonly inputPath: string;
  readonly outputPath: string;

  constructor(
    backend: Backend,
    private readonly server: RunningServer,
    { gpuTransport, outputFormat, compression, onLog }: StartOptions,
    { inputPath, outputPath }: Directories,
  ) {
    super(new SupervisedBackend({ backend, server, outputPath, onLog }), { gpuTransport, outputFormat, compression });
    this.url = server.url;
    this.port = server.port;
    this.inputPath = inputPath;
    this.outputPath = outputPath;
  }

  get ended(): Promise<ProcessEnd> {
    // Nothing of a started Tesseract keeps this process alive, but somebody who waits for its end.
    const waiting = setInterval(() => {}, LONGEST_INTERVAL_MS);
    return this.server.ended.finally(() => clearInterval(waiting));
  }

  get log(): readonly string[] {
    return this.server.log;
  }
}

function connectionOptions(options: StartOptions): Omit<FromUrlOptions, "transports"> {
  const { transports: _, offerGpuTransport, host, port, startTimeout, stopTimeout, env, ...rest } = options;
  const { inputPath, outputPath, runtimeConfig, onLog, onProgress, ...connection } = rest;
  return connection;
}
