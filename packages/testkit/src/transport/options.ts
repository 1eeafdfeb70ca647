/** What an author gives of a transport that is to be checked. */
import type { Compression, EncodedArray, Transport } from "@tesseract-ts/core";
import type { Side } from "./sides/side.js";

/** The two sides of a transport, for one case. */
export interface Sides {
  /** A transport in this process, or a side made by `localSide` or `processSide`. */
  readonly sender: Transport | Side;
  /** The sender's transport again, if left out: what one message of it writes, another reads. */
  readonly receiver?: Transport | Side;
  /** What is left of messages beside what the sides themselves tell, each in a few words. */
  leftovers?(): readonly string[] | Promise<readonly string[]>;
  /** The case is over. */
  end?(): void | Promise<void>;
}

export interface TransportConformanceOptions {
  /** For the names of tests. */
  readonly name: string;
  /** Which kind of arrays it is said to carry; `host` if left out. */
  readonly carries?: "host" | "device";
  /** Makes the sides for one case; sides in processes may well be the same for all. */
  create(): Sides | Promise<Sides>;
  /** With `lz4`, the round trips are made compressed as well. `none` alone if left out. */
  readonly compressions?: readonly Compression[];
  /** Of the large array. 4 MiB if left out. */
  readonly largeBytes?: number;
  /** Messages that only this transport can know to be wrong, made of a right one. They must be refused. */
  hostile?(array: EncodedArray): Readonly<Record<string, unknown>>;
  /**
   * Makes sides in processes of their own, whose sender is killed. Without it that isn't checked.
   */
  createMortal?(): Promise<Sides & { readonly kill: () => Promise<void> }>;
}
