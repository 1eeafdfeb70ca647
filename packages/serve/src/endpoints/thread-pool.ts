/**
 * Endpoints in threads, one call at a time in each: the server answers others meanwhile, and a call that doesn't end can
 * be ended.
 */
import { Worker } from "node:worker_threads";
import { type HostArray, isHostArray, TesseractError } from "@tesseract-ts/core";
import { type RunnerAnswer, UndecodableArray } from "@tesseract-ts/inprocess";
import type { DecodedArray } from "../calls/decode-request.js";
import { threadEntry } from "../entries.js";
import type { EndpointCall, Endpoints } from "./endpoints.js";
import type { FromThread, SentArray, SentError, ThreadData, ToThread } from "./thread-messages.js";

/** How long an endpoint has to heed its signal, in milliseconds, before its thread is ended. */
const GRACE_MS = 1_000;
/** Arrays of fewer bytes are copied sooner than their memory is handed over. */
const WORTH_TRANSFER = 1 << 16;

export interface ThreadPoolOptions extends ThreadData {
  readonly threads: number;
  readonly outputPath: string;
}

interface Waiting {
  readonly call: EndpointCall;
  readonly resolve: (answer: RunnerAnswer) => void;
  readonly reject: (reason: unknown) => void;
}

export class ThreadPool implements Endpoints {
  private readonly threads = new Set<Thread>();
  private readonly waiting = new Set<Waiting>();
  private closed = false;

  private constructor(private readonly options: ThreadPoolOptions) {}

  /** @throws TesseractError LOAD_FAILED where the Tesseract can't be loaded in a thread */
  static async open(options: ThreadPoolOptions): Promise<ThreadPool> {
    const pool = new ThreadPool(options);
    await pool.start().ready;
    return pool;
  }

  run(call: EndpointCall): Promise<RunnerAnswer> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { call, resolve, reject };
      this.waiting.add(waiting);
      const onAbort = (reason: unknown): void => {
        if (this.waiting.delete(waiting)) reject(reason);
      };
      call.ending.onAbort(onAbort);
      this.serve();
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    this.refuse(new TesseractError("CLOSED", "The server was closed"));
    await Promise.all([...this.threads].map((thread) => thread.end()));
  }

  private start(): Thread {
    const thread = new Thread(this.options, {
      onFree: () => this.serve(),
      onEnd: (failure) => {
        this.threads.delete(thread);
        if (this.closed) return;
        if (failure === undefined) this.serve();
        else if (this.threads.size === 0) this.refuse(failure);
      },
    });
    this.threads.add(thread);
    return thread;
  }

  /** Calls are given to threads that have begun: to begin takes longer than many calls, and isn't a call's own time. */
  private serve(): void {
    for (const waiting of this.waiting) {
      const free = [...this.threads].find((thread) => thread.isFree);
      if (free === undefined) break;
      this.waiting.delete(waiting);
      free.run(waiting.call).then(waiting.resolve, waiting.reject);
    }
    const beginning = [...this.threads].filter((thread) => thread.isBeginning).length;
    for (let missing = this.waiting.size - beginning; missing > 0; missing--) {
      if (this.threads.size >= this.options.threads) return;
      this.start();
    }
  }

  private refuse(reason: unknown): void {
    for (const { reject } of this.waiting) reject(reason);
    this.waiting.clear();
  }
}

interface ThreadEvents {
  /** It has begun, or has answered a call. */
  onFree(): void;
  /** @param failure why it never began */
  onEnd(failure: unknown): void;
}

class Thread {
  readonly ready: Promise<void>;
  private readonly worker: Worker;
  private state: "beginning" | "ready" | "ended" = "beginning";
  private current: { resolve(answer: RunnerAnswer): void; reject(reason: unknown): void } | undefined;
  private settleReady: ((failure?: unknown) => void) | undefined;
  private failure: unknown;

  constructor(
    private readonly options: ThreadPoolOptions,
    private readonly events: ThreadEvents,
  ) {
    const { path, development, transports } = options;
    const { url, options: forNode } = threadEntry();
    const workerData: ThreadData = { path, development, transports };
    this.worker = new Worker(url, { workerData, ...forNode });
    this.ready = new Promise((resolve, reject) => {
      this.settleReady = (failure) => (failure === undefined ? resolve() : reject(failure));
    });
    // The pool is told as well.
    this.ready.catch(() => {});
    this.worker.on("message", (message: FromThread) => this.onMessage(message));
    this.worker.on("error", (error) => {
      this.failure = error;
    });
    this.worker.on("exit", () => this.onExit());
  }

  get isBeginning(): boolean {
    return this.state === "beginning";
  }

  get isFree(): boolean {
    return this.state === "ready" && this.current === undefined;
  }

  run(call: EndpointCall): Promise<RunnerAnswer> {
    const { route, payload, run, ending } = call;
    const { arrays, transfer } = sentArrays(call.arrays);
    let timer: NodeJS.Timeout | undefined;
    const onAbort = (reason: unknown): void => {
      this.post({ kind: "abort", reason: reason instanceof Error ? reason.message : String(reason) });
      timer = setTimeout(() => void this.end(), GRACE_MS);
    };
    ending.onAbort(onAbort);
    const answer = new Promise<RunnerAnswer>((resolve, reject) => {
      this.current = { resolve, reject };
    });
    const { outputPath } = this.options;
    this.post({ kind: "call", route, payload, arrays, runId: run.id, outputPath }, transfer);
    return answer.finally(() => {
      clearTimeout(timer);
      ending.offAbort(onAbort);
      this.current = undefined;
      if (this.state === "ready") this.events.onFree();
    });
  }

  async end(): Promise<void> {
    await this.worker.terminate();
  }

  private post(message: ToThread, transfer: readonly ArrayBuffer[] = []): void {
    try {
      this.worker.postMessage(message, [...transfer]);
    } catch (error) {
      if (!(error instanceof DOMException) || transfer.length === 0) throw error;
      // Memory that can't be handed over is copied.
      this.worker.postMessage(message);
    }
  }

  private onMessage(message: FromThread): void {
    const { current } = this;
    switch (message.kind) {
      case "ready":
        this.state = "ready";
        this.settleReady?.();
        this.events.onFree();
        break;
      case "failed":
        current?.reject(errorOf(message.error));
        break;
      default:
        current?.resolve(message);
    }
  }

  private onExit(): void {
    const { failure: cause, state } = this;
    this.state = "ended";
    this.current?.reject(
      new TesseractError("ENDPOINT_FAILED", "The thread that ran the endpoint has ended", { cause }),
    );
    if (state === "ready") {
      this.events.onEnd(undefined);
      return;
    }
    const { path } = this.options;
    const failure = new TesseractError("LOAD_FAILED", `A thread for ${path} ended before it had begun`, { cause });
    this.settleReady?.(failure);
    this.events.onEnd(failure);
  }
}

function sentArrays(decoded: readonly DecodedArray[]): {
  readonly arrays: readonly SentArray[];
  readonly transfer: readonly ArrayBuffer[];
} {
  const transfer = new Set<ArrayBuffer>();
  const arrays = decoded.map((array): SentArray => {
    if (array instanceof UndecodableArray) {
      return { kind: "undecodable", encoding: array.encoding, reason: array.reason };
    }
    if (!isHostArray(array)) {
      throw new TesseractError("INVALID_ARRAY", "A GPU array can't be given to an endpoint that runs in a thread");
    }
    if (isWhole(array)) transfer.add(array.data.buffer as ArrayBuffer);
    return { kind: "array", array };
  });
  return { arrays, transfer: [...transfer] };
}

const isWhole = ({ data }: HostArray): boolean =>
  data.byteLength >= WORTH_TRANSFER && data.byteLength === data.buffer.byteLength && data.buffer instanceof ArrayBuffer;

function errorOf({ code, message, hint, stack, cause }: SentError): TesseractError {
  const reason = cause === undefined ? undefined : Object.assign(new Error(cause.message), { stack: cause.stack });
  const error = new TesseractError(code, message, { hint, cause: reason });
  if (stack !== undefined) error.stack = stack;
  return error;
}
