/** A process of a test: runs the functions that it is sent, with this package and what they keep. */
import * as core from "@tesseract-ts/core";
import * as cuda from "../../src/index.js";

/** What a function that runs in a peer gets. */
export interface PeerContext {
  readonly core: typeof core;
  readonly cuda: typeof cuda;
  /** What functions leave for later ones. */
  readonly kept: Record<string, unknown>;
  /** The transport for the messages with the other process of the test. */
  readonly transport: core.DeviceTransport & core.Session;
}

export interface Request {
  readonly id: number;
  readonly code: string;
  readonly args: readonly unknown[];
}

export type Answer =
  | { readonly id: number; readonly result: unknown }
  | {
      readonly id: number;
      readonly error: { readonly code: string; readonly message: string; readonly hint?: string };
    };

const connected = cuda.cudaIpc().connect?.({ name: "the other process" });
if (connected === undefined) throw new Error("The transport keeps nothing");
const context: PeerContext = { core, cuda, kept: {}, transport: connected };

process.on("message", async ({ id, code, args }: Request) => {
  let answer: Answer;
  try {
    // biome-ignore lint/security/noGlobalEval: the code is the test's own
    const work = globalThis.eval(`(${code})`) as (context: PeerContext, ...args: readonly unknown[]) => unknown;
    answer = { id, result: await work(context, ...args) };
  } catch (error) {
    const { code: name = "?", message, hint } = error as core.TesseractError;
    answer = { id, error: { code: name, message, ...(hint === undefined ? {} : { hint }) } };
  }
  process.send?.(answer);
});
process.send?.("ready");
