/** What a check is. */

import type { ReferenceServers } from "../reference.js";
import type { Exchange } from "./exchange.js";

export interface CheckContext {
  /** With another process of the suite, by `cuda_ipc`; started when it is first asked for. */
  exchange(): Promise<Exchange>;
  readonly servers: ReferenceServers;
}

/**
 * Gives what it saw, in a few words; it throws what is wrong, or `Skipped` where it can't be checked here.
 */
export type Check = (context: CheckContext) => Promise<string>;

/** By group and name, in the order of the table. */
export type Checks = Readonly<Record<string, Readonly<Record<string, Check>>>>;

export function expectEqual(found: unknown, expected: unknown, what: string): void {
  const [a, b] = [textOf(found), textOf(expected)];
  if (a !== b) throw new Error(`${what}: ${shortened(a)} instead of ${shortened(b)}`);
}

const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === "bigint"
      ? `${part}n`
      : ArrayBuffer.isView(part)
        ? [...new Uint8Array(part.buffer, part.byteOffset, part.byteLength)]
        : part,
  );

const shortened = (text: string): string => (text.length > 160 ? `${text.slice(0, 160)}…` : text);
