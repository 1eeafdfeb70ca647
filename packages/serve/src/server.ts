/** One process's part of a server: everything but the listening. */
import type { Transports } from "@tesseract-ts/core";
import { TesseractError } from "@tesseract-ts/core";
import { createRunner, requireGpuArrays, type TesseractDefinition } from "@tesseract-ts/inprocess";
import type { FastifyBaseLogger } from "fastify";
import { type Endpoints, EventLoopEndpoints } from "./endpoints/endpoints.js";
import { ThreadPool } from "./endpoints/thread-pool.js";
import { Exchanges, noSiblings, type Siblings } from "./exchange/exchange.js";
import { HeldExports } from "./exchange/held-exports.js";
import { KnownCalls } from "./exchange/known-calls.js";
import { Peers } from "./exchange/peers.js";
import { App } from "./http/app.js";
import { type Offered, offerOf } from "./offer.js";
import { type CollectMetrics, createObserver, type OperatorSettings } from "./operators/observer.js";
import type { Settings } from "./settings.js";

/** Milliseconds that clients have to take the last bytes of their answers. */
const FLUSH_MS = 1_000;

export interface ServerParts {
  readonly definition: TesseractDefinition;
  /** The definition's file, where it has one. */
  readonly path: string | undefined;
  readonly settings: Settings;
  readonly transports: Transports;
  readonly operators: OperatorSettings;
  readonly logger: FastifyBaseLogger | undefined;
  /** For one of several worker processes. */
  readonly worker?: { readonly prefix: string; readonly siblings: Siblings; readonly collectMetrics: CollectMetrics };
}

export class Server {
  private constructor(
    readonly app: App,
    readonly exchanges: Exchanges,
    private readonly endpoints: Endpoints,
    private readonly settings: Settings,
  ) {}

  /** @throws TesseractError INVALID_ARGUMENT, TRANSPORT_MISSING, LOAD_FAILED */
  static async create(parts: ServerParts): Promise<Server> {
    const { definition, settings, operators, logger, worker } = parts;
    const { gpuTransport } = settings;
    if (gpuTransport !== "none") requireGpuArrays(definition, gpuTransport);
    const offered = await offerOf(parts.transports, settings);
    const runner = createRunner(definition, { development: settings.debug, transports: offered.transports });
    const prefix = worker?.prefix ?? "";
    const { exportTimeLimit: timeLimit, maxExportedBytes: maxBytes } = settings;
    const exports = new HeldExports({ prefix, timeLimit, maxBytes });
    const peers = new Peers(offered.transports, timeLimit);
    const exchanges = new Exchanges(exports, new KnownCalls(), peers, worker?.siblings ?? noSiblings, prefix);
    let app: App | undefined;
    const gauges = {
      exportedBytes: () => exports.bytes,
      exports: () => exports.count,
      callsInFlight: () => app?.inFlight.count ?? 0,
    };
    const observer = await createObserver(operators, logger, gauges, worker?.collectMetrics);
    const endpoints = await endpointsOf(parts, offered, () => new EventLoopEndpoints(runner));
    app = new App({ ...offered, settings, runner, endpoints, exports, exchanges, observer });
    return new Server(app, exchanges, endpoints, settings);
  }

  /** Calls in flight end, exports are released, and nothing is left. */
  async close(): Promise<void> {
    const { app, exchanges, endpoints, settings } = this;
    const closed = app.fastify.close();
    await app.inFlight.close(settings.shutdownLimit);
    // Connections that the last answers went over have become idle.
    const { server } = app.fastify;
    server.closeIdleConnections();
    const timer = setTimeout(() => server.closeAllConnections(), FLUSH_MS);
    await closed;
    clearTimeout(timer);
    await endpoints.close();
    await exchanges.close();
  }
}

async function endpointsOf(
  { definition, path, settings }: ServerParts,
  { transports }: Offered,
  onEventLoop: () => Endpoints,
): Promise<Endpoints> {
  if (definition.runIn !== "worker") return onEventLoop();
  if (settings.gpuTransport !== "none") {
    throw new TesseractError(
      "INVALID_ARGUMENT",
      `The Tesseract "${definition.name}" has \`runIn: "worker"\`, and threads can't answer with GPU arrays`,
      {
        hint: "Leave `runIn` out: work on a GPU is asynchronous. For more of it at once, serve with `workers: 2` or more.",
      },
    );
  }
  if (path === undefined) {
    throw new TesseractError(
      "INVALID_ARGUMENT",
      `The Tesseract "${definition.name}" has \`runIn: "worker"\`, and threads need a file to load it from`,
      { hint: 'Serve it by its path: serve("./tesseract.ts"), where it is the default export.' },
    );
  }
  const { threads, outputPath, debug: development } = settings;
  const known = transports.map(({ name, carries, ...others }) => ({
    name,
    carries,
    ...("aliases" in others && others.aliases !== undefined ? { aliases: others.aliases } : {}),
  }));
  return ThreadPool.open({ path, threads, outputPath, development, transports: known });
}
