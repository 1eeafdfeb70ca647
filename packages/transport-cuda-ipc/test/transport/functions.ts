/** The life of a process that runs the functions that a test sends it. */
import type { TesseractError } from "@tesseract-ts/core";

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

/** Runs each function with `context` and the arguments that came with it, several at a time. */
export function runFunctions(context: object): void {
  process.on("message", async ({ id, code, args }: Request) => {
    process.send?.(await answerTo(id, code, [context, ...args]));
  });
  process.send?.("ready");
}

async function answerTo(id: number, code: string, args: readonly unknown[]): Promise<Answer> {
  try {
    // biome-ignore lint/security/noGlobalEval: the code is the test's own
    const work = globalThis.eval(`(${code})`) as (...args: readonly unknown[]) => unknown;
    return { id, result: await work(...args) };
  } catch (error) {
    const { code: name = "?", message, hint } = error as TesseractError;
    return { id, error: { code: name, message, ...(hint === undefined ? {} : { hint }) } };
  }
}
