/** Processes that a test has do things on a simulated machine. */
import { type ChildProcess, type ForkOptions, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type EncodedMessage, type ErrorCode, type ReceivedArray, TesseractError } from "@tesseract-ts/core";
import { type SimulatedCuda, type SimulatedCudaOptions, simulatedCuda } from "@tesseract-ts/cuda-simulator";
import { afterAll, beforeAll, expect } from "vitest";
import type { DeviceArray } from "../../src/index.js";
import { bundleOf } from "../support/bundles.js";
import { node } from "../support/other-node.js";
import { sanitizerVariables } from "../support/sanitizers.js";
import type { Answer, Request } from "./functions.js";
import type { PeerContext } from "./peer.js";

export type ProcessSettings = Parameters<SimulatedCuda["envWith"]>[0];

/** A process that runs functions, with a context `C` of its own. */
export class Process<C> {
  private next = 0;
  private readonly waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  private readonly exited: Promise<unknown>;

  protected constructor(private readonly child: ChildProcess) {
    child.on("message", (answer: Answer | "ready") => {
      if (answer === "ready") return;
      const waiting = this.waiting.get(answer.id);
      this.waiting.delete(answer.id);
      if ("result" in answer) waiting?.resolve(answer.result);
      else waiting?.reject(errorOf(answer.error));
    });
    this.exited = once(child, "exit").then((status) => {
      for (const { reject } of this.waiting.values()) reject(new Error(`The process ended: ${status.join(" ")}`));
    });
  }

  /** @param program in TypeScript, that calls `runFunctions` */
  static async run<C>(program: URL, env: Environment): Promise<Process<C>> {
    const execArgv = ["--import", "tsx", "--conditions=source", "--expose-gc"];
    const started = new Process<C>(startProgram(fileURLToPath(program), env, { execArgv }));
    await started.started();
    return started;
  }

  protected async started(): Promise<void> {
    const ended = this.exited.then(() => Promise.reject(new Error("The process didn't start")));
    await Promise.race([once(this.child, "message"), ended]);
  }

  /** Runs a function there. It sees nothing but its arguments, which are copied, as its result is. */
  run<A extends readonly unknown[], R>(work: (context: C, ...args: A) => R, ...args: A): Promise<Awaited<R>> {
    const request: Request = { id: this.next++, code: work.toString(), args };
    return new Promise((resolve, reject) => {
      this.waiting.set(request.id, { resolve: (value) => resolve(value as Awaited<R>), reject });
      this.child.send(request);
    });
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get isAlive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
  }

  /** Lets it end by itself. */
  async finish(): Promise<void> {
    this.child.disconnect();
    await this.exited;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

const startProgram = (program: string, env: Environment, options: ForkOptions): ChildProcess =>
  fork(program, { ...options, env: { ...process.env, ...env, ...sanitizerVariables() }, serialization: "advanced" });

const peerProgram = bundleOf(fileURLToPath(new URL("./peer.ts", import.meta.url)));

/** One of two processes that exchange messages. */
export class Peer extends Process<PeerContext> {
  static async start(machine: SimulatedCuda, settings: ProcessSettings = {}): Promise<Peer> {
    const options = { execPath: node, execArgv: ["--enable-source-maps", "--expose-gc"] };
    const peer = new Peer(startProgram(peerProgram, machine.envWith(settings), options));
    await peer.started();
    return peer;
  }

  /** Closes its mappings of the other's memory. */
  leave(): Promise<void> {
    return this.run(({ transport }) => transport.close());
  }

  /** Lets it end by itself, having given back what is kept for reuse. The other has left. */
  async end(): Promise<void> {
    await this.run(async ({ cuda, transport }) => {
      const farewell: Record<string, string> = { "tesseract-peer": "other", "tesseract-retired": "*" };
      await transport.receive?.((name) => farewell[name]);
      const { devices } = await cuda.openDriver();
      await Promise.all(devices.map((device) => cuda.DeviceMemory.of(device).trim()));
    });
    await this.finish();
  }
}

function errorOf({ code, message, hint }: { code: string; message: string; hint?: string }): Error {
  return /^[A-Z_]+$/.test(code)
    ? new TesseractError(code as ErrorCode, message, { hint })
    : new Error(`${code} ${message}`);
}

/** `TEST_DELAY=1ms..20ms` runs everything with random delays of queued work. */
const { TEST_DELAY } = process.env;
const usualDelay = TEST_DELAY === undefined ? {} : { delay: TEST_DELAY as `${number}ms` };

export interface Machine {
  readonly cuda: SimulatedCuda;
  start(settings?: ProcessSettings): Promise<Peer>;
}

/** A machine for one test. At its end nothing may be left in device memory, and nothing undefined may have happened. */
export async function onMachine(
  options: SimulatedCudaOptions,
  work: (machine: Machine) => Promise<void>,
): Promise<void> {
  await using cuda = await simulatedCuda({ memory: "256MiB", ...usualDelay, ...options });
  const peers: Peer[] = [];
  try {
    await work({
      cuda,
      start: async (settings) => {
        const peer = await Peer.start(cuda, settings);
        peers.push(peer);
        return peer;
      },
    });
    const alive = peers.filter(({ isAlive }) => isAlive);
    for (const peer of alive) await peer.leave();
    for (const peer of alive) await peer.end();
    expect(cuda.trace.hazards).toEqual([]);
    expect(cuda.trace.leaks).toEqual([]);
  } finally {
    for (const peer of peers) await peer.kill();
  }
}

/** Two processes on one machine. */
export const withPeers = (
  options: SimulatedCudaOptions,
  work: (sender: Peer, receiver: Peer, machine: Machine) => Promise<void>,
): Promise<void> =>
  onMachine(options, async (machine) => {
    const [sender, receiver] = await Promise.all([machine.start(), machine.start()]);
    await work(sender, receiver, machine);
  });

/** Two processes on one machine for all tests of a file, or of a `describe`: to start them takes a second. */
export function sharedPeers(options: SimulatedCudaOptions = {}): {
  readonly sender: Peer;
  readonly receiver: Peer;
  readonly machine: Machine;
} {
  let shared: { readonly sender: Peer; readonly receiver: Peer; readonly machine: Machine } | undefined;
  let end: () => void = () => {};
  let ended: Promise<void> | undefined;
  beforeAll(
    () =>
      new Promise<void>((resolve, reject) => {
        ended = withPeers(options, async (sender, receiver, machine) => {
          shared = { sender, receiver, machine };
          resolve();
          await new Promise<void>((done) => {
            end = done;
          });
        });
        ended.catch(reject);
      }),
  );
  afterAll(async () => {
    end();
    await ended;
  });
  const found = (): NonNullable<typeof shared> => {
    if (shared === undefined) throw new Error("The processes haven't been started");
    return shared;
  };
  return {
    get sender() {
      return found().sender;
    },
    get receiver() {
      return found().receiver;
    },
    get machine() {
      return found().machine;
    },
  };
}

/** What an encoded message looks like to its receiver. */
export interface Sent {
  readonly arrays: readonly ReceivedArray[];
  readonly headers: Readonly<Record<string, string>>;
}

/** Has `sender` make device arrays of these values and encode them; they are kept there as `kept.arrays`. */
export const send = (sender: Peer, lists: readonly (readonly number[])[], device = 0): Promise<Sent> =>
  sender.run(
    async ({ cuda, kept, transport }, values, ordinal) => {
      const arrays = await Promise.all(
        values.map((list) => cuda.DeviceArray.fromHost(Float64Array.from(list), { device: ordinal })),
      );
      const message = await transport.encode(arrays, { compression: "none" });
      Object.assign(kept, { arrays, message });
      return {
        arrays: message.arrays.map((array, index) => ({ ...array, path: `x${index}` })),
        headers: { "tesseract-peer": "sender", ...message.headers, ...transport.headers?.() },
      };
    },
    lists,
    device,
  );

/** Has `receiver` decode a message, dispose of the arrays, and give their values. */
export const receive = (
  receiver: Peer,
  message: Sent,
): Promise<{ values: number[][]; shapes: (readonly number[])[]; headers: Record<string, string> }> =>
  receiver.run(async ({ transport }, { arrays, headers }) => {
    const find = (name: string): string | undefined => headers[name];
    await transport.receive?.(find);
    const decoded = (await transport.decode(arrays, { headers: find })) as DeviceArray[];
    const values: number[][] = [];
    for (const array of decoded) {
      values.push([...((await array.copyToHost()).data as Float64Array)]);
      array.dispose();
    }
    return {
      values,
      shapes: decoded.map(({ shape }) => shape),
      headers: { "tesseract-peer": "receiver", ...transport.headers?.() },
    };
  }, message);

/** The receiver has answered with these headers: the message's lease ends, and the arrays are disposed of. */
export const release = (sender: Peer, headers: Readonly<Record<string, string>> = {}): Promise<void> =>
  sender.run(async ({ kept, transport }, answer) => {
    const { message, arrays } = kept as { message: EncodedMessage; arrays: DeviceArray[] };
    await transport.receive?.((name) => answer[name]);
    await message.lease?.release();
    for (const array of arrays) array.dispose();
  }, headers);
