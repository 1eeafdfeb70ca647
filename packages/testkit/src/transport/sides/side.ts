/** One side of a transport: what the cases do with it, in this process or in another. All of it is plain data. */
import type { Compression, HostArray, ProbeResult } from "@tesseract-ts/core";

export interface About {
  readonly name: unknown;
  readonly carries: unknown;
  readonly reach: unknown;
  readonly aliases: readonly string[];
  readonly sends: boolean;
  readonly hasSession: boolean;
  readonly hasSink: boolean;
}

/** How something failed. */
export type Failure =
  /** With a TesseractError. */
  | { readonly kind: "typed"; readonly code: string; readonly message: string }
  /** With the reason that its signal was aborted with. */
  | { readonly kind: "aborted" }
  | { readonly kind: "other"; readonly message: string };

export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: Failure; readonly taken: number };

export interface EncodeOptions {
  readonly compression?: Compression;
  /** Turns of the event loop after which the signal is aborted; 0 before the call. */
  readonly abortAfter?: number;
  /** Device arrays are handed over transposed in memory, with strides. */
  readonly strided?: boolean;
}

/** A message, as it crosses. */
export interface Message {
  readonly text: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Encoded extends Message {
  /** Of the lease, at the side that encoded. */
  readonly id: number;
  readonly hasLease: boolean;
  readonly hasAbandon: boolean;
  /** What is wrong with the encoded arrays. */
  readonly problems: readonly string[];
}

export interface DecodeOptions {
  readonly abortAfter?: number;
  /** The text arrives in pieces of so many bytes. */
  readonly pieces?: number;
}

export interface Decoded {
  /** Of the arrays, at the side that decoded. */
  readonly id: number;
  readonly arrays: readonly unknown[];
  /** Bytes of typed arrays that were taken meanwhile, roughly. */
  readonly taken: number;
}

/** The calls that a case makes. A side in another process answers them there. */
export interface Side {
  about(): Promise<About>;
  probe(): Promise<Outcome<ProbeResult>>;
  /** Begins a session with the other side, where the transport has them. */
  open(): Promise<void>;
  encode(arrays: readonly HostArray[], options?: EncodeOptions): Promise<Outcome<Encoded>>;
  /** What is wrong with the arrays that a message was made of, as they are now; undefined if they are what they were. */
  changedInput(id: number): Promise<string | undefined>;
  endLease(id: number, how: "release" | "abandon"): Promise<Outcome<void>>;
  decode(message: Message, options?: DecodeOptions): Promise<Outcome<Decoded>>;
  /** The arrays that came, as they are now. */
  read(id: number): Promise<readonly unknown[]>;
  /** Writes over the first of the arrays that came, where it is in the host's memory. */
  overwrite(id: number): Promise<void>;
  dispose(id: number): Promise<void>;
  encodeCheck(bytes: Uint8Array): Promise<Outcome<Encoded>>;
  decodeCheck(message: Message): Promise<Outcome<Uint8Array>>;
  /** A message has come with these headers. */
  hear(headers: Readonly<Record<string, string>>): Promise<Outcome<void>>;
  /** What the session has to say. */
  headers(): Promise<Readonly<Record<string, string>>>;
  takeLeave(): Promise<void>;
  /** Ends the session. */
  close(): Promise<Outcome<void>>;
  /** Ends what the case has left: leases, arrays, the session. */
  finish(): Promise<void>;
  /** What its author's hook still finds, and the files that are open. */
  leftovers(): Promise<readonly string[]>;
}
