/** A Tesseract in this process, as core's `Tesseract` calls it. */
import { randomUUID } from "node:crypto";
import {
  type ArrayAdapter,
  type Backend,
  type BackendCall,
  type CallOptions,
  Closing,
  type GpuTransportExplanation,
  mapArrays,
  type OpenApiSchema,
  type RequestedEncoding,
  TesseractError,
  withDeadline,
} from "@tesseract-ts/core";
import type { TesseractDefinition } from "./define.js";
import type { EndpointContext } from "./definition.js";
import { type Ending, LazyAbortController } from "./ending.js";
import type { RequestIssue, Runner } from "./runner/contract.js";
import { checkRunId, type Runs } from "./runs.js";

export interface InProcessOptions {
  /** What it was created with. */
  readonly gpuTransport: string;
  readonly adapters: readonly ArrayAdapter[];
  readonly timeout: number | undefined;
  readonly log: (message: string, runId: string) => void;
}

export class InProcessBackend implements Backend {
  readonly openapiSchema: OpenApiSchema;
  readonly serverCapabilities = undefined;
  readonly defaultEncoding: RequestedEncoding = {};
  private readonly closing = new Closing();

  constructor(
    private readonly definition: TesseractDefinition,
    private readonly runner: Runner,
    private readonly runs: Runs,
    private readonly options: InProcessOptions,
  ) {
    const { gpuTransport } = options;
    this.openapiSchema = runner.openapi({
      test: true,
      gpuTransports: gpuTransport === "none" ? ["none"] : ["none", gpuTransport],
    });
  }

  /** Arrays are passed in memory, so that the format and the compression mean nothing here. */
  checkEncoding({ gpuTransport }: RequestedEncoding): void {
    const created = this.options.gpuTransport;
    if (gpuTransport === undefined || gpuTransport === "none" || gpuTransport === created) return;
    throw new TesseractError(
      "ENCODING_UNAVAILABLE",
      `"${this.definition.name}" runs in this process and was created with gpuTransport "${created}", so "${gpuTransport}" can't be asked of it`,
      {
        hint: `Create it with fromTesseractApi(…, { gpuTransport: "${gpuTransport}" }) if its endpoints take GPU arrays.`,
      },
    );
  }

  async resolveGpuTransport(requested: string | undefined, _options: CallOptions): Promise<string> {
    this.checkEncoding({ gpuTransport: requested });
    return requested ?? this.options.gpuTransport;
  }

  async explainGpuTransport(requested: string | undefined, _options: CallOptions): Promise<GpuTransportExplanation> {
    const created = this.options.gpuTransport;
    const offered = created === "none" ? ["none"] : ["none", created];
    if (requested === undefined || offered.includes(requested)) {
      const resolved = requested ?? created;
      const checks = resolved === "none" ? [] : [{ transport: resolved, outcome: "ok" as const }];
      return { requested, offered, resolved, checks };
    }
    const hint = `Create it with gpuTransport: "${requested}" if its endpoints take GPU arrays.`;
    const reason = `it was created with gpuTransport "${created}"`;
    return {
      requested,
      offered,
      resolved: undefined,
      checks: [{ transport: requested, outcome: "not_offered", reason, hint }],
    };
  }

  call(call: BackendCall): Promise<unknown> {
    const what = `"${call.route}" of "${this.definition.name}"`;
    const { signal, timeout = this.options.timeout } = call;
    if (signal === undefined && timeout === undefined) return this.runUntilClosed(call, what);
    return withDeadline({ signal, timeout }, this.closing, what, (ended) =>
      this.run(call, what, { signal: ended, throwIfAborted: () => ended.throwIfAborted() }),
    );
  }

  /** What `withDeadline` does, without its cost, for the usual call: only closing the Tesseract ends it early. */
  private async runUntilClosed(call: BackendCall, what: string): Promise<unknown> {
    let ending: LazyAbortController | undefined;
    try {
      return await new Promise((resolve, reject) => {
        ending = new LazyAbortController(reject);
        this.closing.add(ending);
        this.run(call, what, ending).then(resolve, reject);
      });
    } finally {
      if (ending !== undefined) this.closing.delete(ending);
    }
  }

  private async run(call: BackendCall, what: string, ending: Ending): Promise<unknown> {
    if (call.route === "health") return { status: "ok" };
    this.checkEncoding(call.encoding);
    const payload =
      call.route === "abstract_eval" ? this.abstract(call.payload) : await this.arraysOf(call.payload, call.encoding);
    ending.throwIfAborted();
    const answer = await this.runner.run({
      route: call.route,
      payload,
      context: this.contextOf(call, ending),
      ownsInputs: false,
    });
    if (answer.kind === "answered") return answer.outputs;
    throw refused(what, answer.issues);
  }

  private abstract(payload: unknown): unknown {
    return mapArrays(payload, this.options.adapters, ({ shape, dtype }) => ({ shape, dtype }));
  }

  /** The payload with the arrays of all libraries as this project's own; those of GPUs on the host, unless they may stay. */
  private async arraysOf(payload: unknown, encoding: RequestedEncoding): Promise<unknown> {
    const onDevice = (encoding.gpuTransport ?? this.options.gpuTransport) !== "none";
    const reading: (() => Promise<void>)[] = [];
    const tree = mapArrays(payload, this.options.adapters, (array) => {
      if (array.cuda !== undefined && onDevice) return array.cuda;
      const host = array.cuda === undefined ? array.host() : undefined;
      if (host !== undefined && !(host instanceof Promise)) return host;
      const place: Record<string, unknown> = {};
      reading.push(async () => {
        Object.assign(place, await (host ?? array.host()));
      });
      return place;
    });
    // One after the other: each may be a copy from a device, and their peak memory would add up.
    for (const read of reading) await read();
    return tree;
  }

  private contextOf({ runId }: BackendCall, ending: Ending): EndpointContext {
    if (runId !== undefined) checkRunId(runId);
    return new CallContext(ending, runId, this.runs, this.options.log);
  }

  async close(): Promise<void> {
    const { name } = this.definition;
    this.closing.close(new TesseractError("CLOSED", `The Tesseract "${name}" was closed`));
    await this.runs.end();
  }
}

class CallContext implements EndpointContext {
  constructor(
    private readonly ending: Ending,
    private name: string | undefined,
    private readonly runs: Runs,
    private readonly write: (message: string, runId: string) => void,
  ) {}

  get signal(): AbortSignal {
    return this.ending.signal;
  }

  get runId(): string {
    this.name ??= randomUUID();
    return this.name;
  }

  // Bound, since endpoints take them apart: ({ x }, { log }) => …
  readonly outputDirectory = (): Promise<string> => this.runs.directory(this.runId);

  readonly log = (message: string): void => this.write(message, this.runId);
}

/** As an error of a served Tesseract is: its paths begin with "body". */
function refused(what: string, issues: readonly RequestIssue[]): TesseractError {
  const list = issues.map(({ loc, msg }) => `\n  ${["body", ...loc].join(".")}: ${msg}`).join("");
  return new TesseractError("VALIDATION_FAILED", `${what} refused the request:${list}`, {
    issues: issues.map(({ loc, type, msg, input, ctx }) => ({
      path: ["body", ...loc],
      type,
      message: msg,
      input,
      context: ctx,
    })),
  });
}
