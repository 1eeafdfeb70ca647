/** A connection to a server that was started here: it knows when the server has ended, and says so. */
import { randomUUID } from "node:crypto";
import {
  type Backend,
  type BackendCall,
  type CallOptions,
  type OpenApiSchema,
  type RequestedEncoding,
  type ServerCapabilities,
  TesseractError,
} from "@tesseract-ts/core";
import { isHealthy } from "./health.js";
import { RunLog } from "./run-log.js";
import { howItEnded } from "./start-failure.js";
import type { RunningServer } from "./start-server.js";
import type { ProcessEnd, StartOptions } from "./started.js";

/** Milliseconds from a lost connection to the news of the process's end, at most. */
const NEWS_MS = 5_000;

const computing = new Set(["apply", "jacobian", "jacobian_vector_product", "vector_jacobian_product"]);
const lost = new Set(["CONNECTION_LOST", "CONNECTION_FAILED"]);

export interface SupervisedBackendParts {
  readonly backend: Backend;
  readonly server: RunningServer;
  /** The server's, as this process sees it. */
  readonly outputPath: string;
  readonly onLog: StartOptions["onLog"];
}

type GpuTransportExplanation = Awaited<ReturnType<Backend["explainGpuTransport"]>>;

export class SupervisedBackend implements Backend {
  private isClosed = false;

  constructor(private readonly parts: SupervisedBackendParts) {}

  get openapiSchema(): OpenApiSchema {
    return this.parts.backend.openapiSchema;
  }

  get serverCapabilities(): ServerCapabilities | undefined {
    return this.parts.backend.serverCapabilities;
  }

  get defaultEncoding(): RequestedEncoding {
    return this.parts.backend.defaultEncoding;
  }

  checkEncoding(requested: RequestedEncoding): void {
    this.parts.backend.checkEncoding(requested);
  }

  resolveGpuTransport(requested: string | undefined, options: CallOptions): Promise<string> {
    return this.supervised("The question for a GPU transport", () =>
      this.parts.backend.resolveGpuTransport(requested, options),
    );
  }

  explainGpuTransport(requested: string | undefined, options: CallOptions): Promise<GpuTransportExplanation> {
    return this.supervised("The question for a GPU transport", () =>
      this.parts.backend.explainGpuTransport(requested, options),
    );
  }

  call(call: BackendCall): Promise<unknown> {
    const { backend, outputPath, onLog } = this.parts;
    return this.supervised(`The call of "${call.route}"`, async () => {
      if (onLog === undefined || !computing.has(call.route)) return backend.call(call);
      const runId = call.runId ?? randomUUID();
      const log = new RunLog(outputPath, runId, (line) => onLog(line, runId));
      try {
        return await backend.call({ ...call, runId });
      } finally {
        await log.finish();
      }
    });
  }

  async close(): Promise<void> {
    this.isClosed = true;
    try {
      await this.parts.backend.close();
    } finally {
      await this.parts.server.stop();
    }
  }

  private async supervised<T>(what: string, work: () => Promise<T>): Promise<T> {
    const { server } = this.parts;
    if (server.end !== undefined && !this.isClosed) throw this.endedError(`${what} can't be made`, server.end);
    try {
      return await work();
    } catch (error) {
      if (this.isClosed || !(error instanceof TesseractError) || !lost.has(error.code)) throw error;
      const end = await this.newsOfEnd();
      if (end === undefined) throw error;
      throw this.endedError(`${what} failed`, end, error);
    }
  }

  /** A connection is lost a little before its process is known to have ended. */
  private async newsOfEnd(): Promise<ProcessEnd | undefined> {
    const { server } = this.parts;
    if (server.end !== undefined) return server.end;
    const waiting = new AbortController();
    const isAlive = isHealthy(server.url, waiting.signal).catch(() => false);
    const late = new Promise<undefined>((resolve) => {
      const timer = setTimeout(() => resolve(undefined), NEWS_MS);
      waiting.signal.addEventListener("abort", () => clearTimeout(timer));
    });
    const alive = isAlive.then((answers) => (answers ? undefined : Promise.race([server.ended, late])));
    const end = await Promise.race([server.ended, alive, late]);
    waiting.abort();
    return end;
  }

  private endedError(what: string, end: ProcessEnd, cause?: unknown): TesseractError {
    const { server } = this.parts;
    return new TesseractError("PROCESS_ENDED", `${what}: ${server.what} ${howItEnded(end)}`, {
      cause,
      log: server.endOfLog,
      hint: "The error's `log` has what it printed last. Start it anew to call it again.",
    });
  }
}
