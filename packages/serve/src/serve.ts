/** Serves a Tesseract over HTTP. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { TesseractError } from "@tesseract-ts/core";
import { loadTesseract, type TesseractDefinition } from "@tesseract-ts/inprocess";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { createLogger, isLogger } from "./operators/logger.js";
import type { OperatorSettings } from "./operators/observer.js";
import { watchParent } from "./parent-pipe.js";
import { WorkerProcesses } from "./processes/worker-processes.js";
import { Server } from "./server.js";
import { type ServerSettings, settingsOf } from "./settings.js";
import { isModule, moduleUrl, type TransportsOption, transportsOf } from "./transports.js";

/** Connections that the kernel holds until they are accepted. */
export const BACKLOG = 2048;

export interface ServeOptions extends ServerSettings, Omit<OperatorSettings, "log"> {
  /**
   * How arrays may cross. `[host()]` if left out: every encoding through the host's memory. With several worker
   * processes it is a module, whose default export is the list.
   */
  readonly transports?: TransportsOption;
  /** Worker processes that answer; 1 if left out, which is this process. */
  readonly workers?: number;
  /** Structured logs on standard output, by pino; or a logger of yours. Without it, errors go to standard error. */
  readonly log?: OperatorSettings["log"] | FastifyBaseLogger;
  /** Adds routes, hooks and plugins of yours, such as authentication. Not with several worker processes. */
  readonly configure?: (app: FastifyInstance) => void | Promise<void>;
  /** The read end of a pipe that whoever started this process holds open: the server closes when it ends. */
  readonly parentPipeFd?: number;
}

/** A Tesseract that is being served, until it is closed. */
export interface ServedTesseract extends AsyncDisposable {
  /** For clients on this machine: `http://127.0.0.1:8000`. */
  readonly url: string;
  readonly port: number;
  /** Resolves when the server has ended, for whatever reason. */
  readonly closed: Promise<void>;
  /** No more calls are taken; those that run may end within `shutdownLimit`; exports are released. May be called again. */
  close(): Promise<void>;
}

/**
 * Serves a Tesseract over HTTP, as the reference runtime does: its clients can't tell.
 *
 * @param tesseract a definition, or the file whose default export it is. Threads (`runIn: "worker"`) and several worker
 *   processes need a file.
 * @throws TesseractError INVALID_ARGUMENT; LOAD_FAILED; TRANSPORT_MISSING; CONNECTION_FAILED if the
 *   address can't be listened on
 *
 * @example
 * await using served = await serve("./scale.ts", { port: 8000 });
 * await served.closed;
 */
export async function serve(
  tesseract: TesseractDefinition | string | URL,
  options: ServeOptions = {},
): Promise<ServedTesseract> {
  const settings = settingsOf(options);
  const { workers = 1, metrics, tracing } = options;
  if (!Number.isInteger(workers) || workers < 1) {
    throw new TesseractError("INVALID_ARGUMENT", `${workers} is no number of worker processes`);
  }
  const path = pathOf(tesseract);
  const operators = { metrics: metrics ?? false, tracing: tracing ?? false };
  const served =
    workers > 1
      ? await serveByProcesses(path, workers, options, { ...operators, log: plainLog(options.log) ?? false })
      : await serveHere(tesseract, path, options, operators);
  if (options.parentPipeFd !== undefined) {
    const stop = watchParent(options.parentPipeFd, () => void served.close());
    void served.closed.then(stop);
  }
  return served;

  async function serveHere(
    given: TesseractDefinition | string | URL,
    file: string | undefined,
    { transports, log, configure }: ServeOptions,
    operatorSettings: OperatorSettings,
  ): Promise<ServedTesseract> {
    const server = await Server.create({
      definition: file === undefined ? (given as TesseractDefinition) : await loadTesseract(file),
      path: file,
      settings,
      transports: await transportsOf(transports),
      operators: operatorSettings,
      ...(await createLogger(log)),
    });
    const { fastify } = server.app;
    try {
      await configure?.(fastify);
      await listen(fastify, settings.host, settings.port);
    } catch (error) {
      await server.close();
      throw error;
    }
    return servedAt(settings.host, (fastify.server.address() as AddressInfo).port, () => server.close());
  }

  async function serveByProcesses(
    file: string | undefined,
    count: number,
    { transports, configure }: ServeOptions,
    operatorSettings: OperatorSettings,
  ): Promise<ServedTesseract> {
    refuseObjects(file, transports, configure);
    const processes = await WorkerProcesses.open({
      path: file as string,
      transports: transports === undefined ? undefined : moduleUrl(transports as string | URL),
      count,
      settings,
      operators: operatorSettings,
    });
    return servedAt(settings.host, processes.port, () => processes.close());
  }
}

function servedAt(host: string, port: number, end: () => Promise<void>): ServedTesseract {
  let ended: (() => void) | undefined;
  let closing: Promise<void> | undefined;
  const closed = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const close = (): Promise<void> => {
    closing ??= end().finally(() => ended?.());
    return closing;
  };
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
  return { url: `http://${name}:${port}`, port, closed, close, [Symbol.asyncDispose]: close };
}

async function listen(app: FastifyInstance, host: string, port: number): Promise<void> {
  await app.ready();
  app.server.listen({ host, port, backlog: BACKLOG });
  try {
    await once(app.server, "listening");
  } catch (error) {
    throw cannotListen(host, port, error);
  }
}

export const cannotListen = (host: string, port: number, cause: unknown): TesseractError =>
  new TesseractError("CONNECTION_FAILED", `${host}:${port} can't be listened on: ${String(cause)}`, {
    cause,
    hint: "Is another server running there? `port: 0` takes any free port.",
  });

function pathOf(tesseract: TesseractDefinition | string | URL): string | undefined {
  if (typeof tesseract === "string") return resolve(tesseract);
  return tesseract instanceof URL ? fileURLToPath(tesseract) : undefined;
}

const plainLog = (log: ServeOptions["log"]): OperatorSettings["log"] =>
  log === undefined || typeof log === "boolean" || !isLogger(log) ? log : refuse("a logger", "Pass log: true.");

function refuseObjects(
  path: string | undefined,
  transports: TransportsOption | undefined,
  configure: ServeOptions["configure"],
): void {
  if (path === undefined) refuse("a definition", 'Serve it by its path: serve("./tesseract.ts", { workers: 4 }).');
  if (transports !== undefined && !isModule(transports)) {
    refuse("transports", 'Put them in a module, and pass its path: transports: "./transports.ts".');
  }
  if (configure !== undefined) refuse("configure", "Serve with one process, or put a proxy before it.");
}

function refuse(what: string, hint: string): never {
  throw new TesseractError("INVALID_ARGUMENT", `Worker processes can't be given ${what}, which only this process has`, {
    hint,
  });
}
