/** What a server is told, with its defaults, in a form that worker processes can be told as well. */
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { type Compression, TesseractError } from "@tesseract-ts/core";

/** What `serve` takes that says how requests are answered. All of it can be sent to another process. */
export interface ServerSettings {
  /** The address to listen on. `127.0.0.1` if left out: only this machine. */
  readonly host?: string;
  /** 8000 if left out; 0 for any free one. */
  readonly port?: number;
  /** The directory that `binref` inputs are read from; the working directory if left out. */
  readonly inputPath?: string;
  /** The directory that the folders of runs are made in; the working directory if left out. */
  readonly outputPath?: string;
  /** For requests that ask for none. `json` if left out, as in the reference. */
  readonly outputFormat?: string;
  /** For requests that ask for none. */
  readonly compression?: Compression;
  /** How GPU arrays may cross, besides through the host: the name of one of `transports`, or `none`. */
  readonly gpuTransport?: string;
  /** Tracebacks in answers, the endpoint `test`, and a check that endpoints don't change their inputs. */
  readonly debug?: boolean;

  /** Threads for endpoints of `runIn: "worker"`; as many as there are processors if left out. */
  readonly threads?: number;
  /** Milliseconds that a call may take once it has been read; no limit if left out. */
  readonly timeLimit?: number;
  /** Calls that may be on their way at once; one more is answered with 503. 256 if left out. */
  readonly maxConcurrentCalls?: number;
  /** The largest body that is read. 1 GiB if left out. */
  readonly maxRequestBytes?: number;
  /** The most that the arrays of one request may take up. 4 GiB if left out. */
  readonly maxArrayBytes?: number;
  /** Milliseconds that a body may be late. 30,000 if left out. */
  readonly bodyTimeout?: number;
  /** Milliseconds that the head of a request may take. 20,000 if left out. */
  readonly headersTimeout?: number;
  /** GPU memory that answers may have exported at once. 16 GiB if left out. */
  readonly maxExportedBytes?: number;
  /** Milliseconds after which exports end that no client acknowledges. 300,000 if left out, as in the reference. */
  readonly exportTimeLimit?: number;
  /** Milliseconds that calls have to end when the server is closed. 30,000 if left out. */
  readonly shutdownLimit?: number;

  /** Names that a request's `Host` may have besides this machine's own, while the server listens on loopback. */
  readonly allowedHosts?: readonly string[];
  /** Web pages that may call the server, as origins such as `https://example.org`, or `*`. None if left out. */
  readonly cors?: "*" | readonly string[];
}

/** All of it, checked. */
export type Settings = Required<ServerSettings>;

const positive = [
  "threads",
  "maxConcurrentCalls",
  "maxRequestBytes",
  "maxArrayBytes",
  "bodyTimeout",
  "headersTimeout",
  "maxExportedBytes",
  "exportTimeLimit",
  "shutdownLimit",
  "timeLimit",
] as const;

/** @throws TesseractError INVALID_ARGUMENT */
export function settingsOf(given: ServerSettings): Settings {
  const settings: Settings = {
    host: given.host ?? "127.0.0.1",
    port: given.port ?? 8000,
    inputPath: resolve(given.inputPath ?? "."),
    outputPath: resolve(given.outputPath ?? "."),
    outputFormat: given.outputFormat ?? "json",
    compression: given.compression ?? "none",
    gpuTransport: given.gpuTransport ?? "none",
    debug: given.debug ?? false,
    threads: given.threads ?? availableParallelism(),
    timeLimit: given.timeLimit ?? Number.POSITIVE_INFINITY,
    maxConcurrentCalls: given.maxConcurrentCalls ?? 256,
    maxRequestBytes: given.maxRequestBytes ?? 2 ** 30,
    maxArrayBytes: given.maxArrayBytes ?? 2 ** 32,
    bodyTimeout: given.bodyTimeout ?? 30_000,
    headersTimeout: given.headersTimeout ?? 20_000,
    maxExportedBytes: given.maxExportedBytes ?? 2 ** 34,
    exportTimeLimit: given.exportTimeLimit ?? 300_000,
    shutdownLimit: given.shutdownLimit ?? 30_000,
    allowedHosts: given.allowedHosts ?? [],
    cors: given.cors ?? [],
  };
  for (const name of positive) {
    if (!(settings[name] > 0)) throw invalid(`${name} is ${settings[name]}, and must be more than 0`);
  }
  if (!Number.isInteger(settings.port) || settings.port < 0 || settings.port > 65535) {
    throw invalid(`${settings.port} is no port`);
  }
  if (!["none", "lz4"].includes(settings.compression)) throw invalid(`"${settings.compression}" is no compression`);
  return settings;
}

const invalid = (message: string): TesseractError => new TesseractError("INVALID_ARGUMENT", message);

/** Whether nobody but this machine can reach the address. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
