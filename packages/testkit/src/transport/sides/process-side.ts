/** A side in a process of its own. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Side } from "./side.js";

export interface ProcessSideOptions {
  /** Added to this process's environment; `undefined` takes a variable out of it. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The Node that runs it, such as one for another processor under an emulator: this process's, if it isn't given. */
  readonly execPath?: string;
  /** Options of Node, such as `["--import", "tsx"]` for a program in TypeScript. */
  readonly execArgv?: readonly string[];
}

/** A side in another process, which the caller ends. */
export interface ProcessSide extends Side, AsyncDisposable {
  readonly pid: number;
  /** Ends the process as if it had crashed. */
  kill(): Promise<void>;
  /** Lets the process end by itself, once nothing is left for it to do. */
  end(): Promise<void>;
}

interface Request {
  readonly id: number;
  readonly method: keyof Side;
  readonly args: readonly unknown[];
}

type Answer = { readonly id: number; readonly value: unknown } | { readonly id: number; readonly error: string };

const methods = [
  "about",
  "probe",
  "open",
  "encode",
  "changedInput",
  "endLease",
  "decode",
  "read",
  "overwrite",
  "dispose",
  "encodeCheck",
  "decodeCheck",
  "hear",
  "headers",
  "takeLeave",
  "close",
  "finish",
  "leftovers",
] as const satisfies readonly (keyof Side)[];

/**
 * Starts `program`, which calls {@link serveSide}.
 *
 * @example
 * const sender = await processSide(new URL("./side.ts", import.meta.url), { execArgv: ["--import", "tsx"] });
 */
export async function processSide(program: URL, options: ProcessSideOptions = {}): Promise<ProcessSide> {
  const child = fork(fileURLToPath(program), {
    env: { ...process.env, ...options.env },
    execArgv: [...(options.execArgv ?? [])],
    ...(options.execPath === undefined ? {} : { execPath: options.execPath }),
    serialization: "advanced",
  });
  const calls = new Calls(child);
  await calls.ready;
  const side = Object.fromEntries(methods.map((method) => [method, calls.call.bind(calls, method)]));
  const end = (): Promise<void> => calls.end();
  return Object.assign(side as unknown as Side, {
    pid: child.pid ?? 0,
    end,
    kill: () => calls.kill(),
    [Symbol.asyncDispose]: end,
  });
}

class Calls {
  readonly ready: Promise<void>;
  private readonly exited: Promise<unknown>;
  private readonly waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  private next = 0;

  constructor(private readonly child: ChildProcess) {
    this.exited = once(child, "exit").then(([code, signal]) => {
      const error = new Error(`The process of a side ended (${signal ?? code})`);
      for (const { reject } of this.waiting.values()) reject(error);
      this.waiting.clear();
      return error;
    });
    this.ready = Promise.race([
      once(child, "message").then(() => {}),
      this.exited.then((error) => Promise.reject(error)),
    ]);
    child.on("message", (answer: Answer | "ready") => {
      if (answer === "ready") return;
      const waiting = this.waiting.get(answer.id);
      this.waiting.delete(answer.id);
      if ("value" in answer) waiting?.resolve(answer.value);
      else waiting?.reject(new Error(answer.error));
    });
  }

  call(method: keyof Side, ...args: readonly unknown[]): Promise<unknown> {
    const request: Request = { id: this.next++, method, args };
    return new Promise((resolve, reject) => {
      if (!this.child.connected) return reject(new Error("The process of a side has ended"));
      this.waiting.set(request.id, { resolve, reject });
      this.child.send(request);
    });
  }

  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
  }

  async end(): Promise<void> {
    if (this.child.connected) this.child.disconnect();
    await this.exited;
  }
}

/** The life of a process that {@link processSide} has started: does what the cases ask of `side`, until they are done. */
export function serveSide(side: Side): void {
  if (process.send === undefined) throw new Error("This program is started by processSide()");
  process.on("message", async ({ id, method, args }: Request) => {
    let answer: Answer;
    try {
      const work = side[method] as (...args: readonly unknown[]) => unknown;
      answer = { id, value: await work.apply(side, [...args]) };
    } catch (error) {
      answer = { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
    process.send?.(answer);
  });
  process.send("ready");
}
