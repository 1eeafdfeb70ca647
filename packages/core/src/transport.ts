/**
 * The plugin interface: how arrays cross between a client and a Tesseract. A transport written by a user has exactly
 * the powers of this project's own.
 *
 * It deals in messages, not in single arrays: `encode` and `decode` get all the arrays of one message that fall to
 * the transport, so that it can wait for a device once, and one lease owns whatever must stay alive until the other
 * side is done.
 */
import type { CudaArray } from "./arrays/cuda-array.js";
import type { DType } from "./arrays/dtype.js";
import type { HostArray } from "./arrays/host-array.js";

export type Compression = "none" | "lz4";

/** An array as it stands in a message. The names are those on the wire. */
export interface EncodedArray {
  readonly object_type?: "array";
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly data: EncodedData;
}

export interface EncodedData {
  /** The name of the transport. */
  readonly encoding: string;
  /**
   * When encoding: any JSON value (bigints become whole numbers), or a {@link TextSource}.
   * When decoding: the JSON value, or what the transport's own {@link BufferSink} made of it.
   */
  readonly buffer: unknown;
  readonly compression?: Exclude<Compression, "none">;
}

/** An encoded array of a message that is being decoded, checked: a known dtype, a legal shape, data of the right form. */
export interface ReceivedArray extends EncodedArray {
  /** Where in the message it stands, for error messages. */
  readonly path: string;
}

/**
 * Text of a message that is made while it is being sent, so that a large array never becomes one string. It may be
 * asked for its chunks several times (a request that never reached the server is sent again), and gives the same.
 */
export interface TextSource {
  /** `string`: it stands between quotes and needs no escaping; `json`: it stands as it is. */
  readonly as: "string" | "json";
  /** Bytes of all chunks together, where known beforehand. */
  readonly byteLength?: number;
  /** The text in UTF-8. A chunk stays as it is until the next but one is asked for. */
  chunks(): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  /** The same as one string, asked for only where `byteLength` says that it is short: that is sooner sent than chunks. */
  text?(): string;
}

/** What a message said of an array before its data came; unchecked. */
export interface AnnouncedArray {
  readonly shape: unknown;
  readonly dtype: unknown;
  /** Where in the message it stands, for error messages. */
  readonly path: string;
}

/** Takes the `buffer` string of one array while the message arrives. */
export interface BufferSink {
  /** The next bytes of the string, unescaped; they belong to the caller and change after the call. */
  write(text: Uint8Array): void;
  /** The string is complete. The result becomes the array's `data.buffer`. */
  end(): unknown;
}

/** Owns what must stay alive until the other side has read a message: exports, files, device memory. */
export interface Lease {
  /**
   * Ends it, once: the other side has read the message, or can't any more. It doesn't reject: what goes wrong while
   * cleaning up is the transport's to report.
   */
  release(): Promise<void>;
  /**
   * Ends it, once, although the other side may still be reading: for what can be taken away without harm, such as a file.
   * A lease without this is kept until the other side can no longer read, or for five minutes, and then released.
   */
  abandon?(): Promise<void>;
}

export interface EncodedMessage {
  /** One for each array that was to be encoded, in the same order. */
  readonly arrays: readonly EncodedArray[];
  /** Released by the caller when the other side has read the message, or never will. */
  readonly lease?: Lease;
  /** Sent with the message; a peer that doesn't know them ignores them. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The headers of a message that came, by their lower-case names. */
export type Headers = (name: string) => string | undefined;

export interface MessageContext {
  /** Ends the work early; what was begun is undone. */
  readonly signal?: AbortSignal;
}

export interface DecodeContext extends MessageContext {
  /** Of the message that the arrays came in. */
  readonly headers?: Headers;
}

export interface EncodeContext extends MessageContext {
  /** What the receiver was asked to accept; a transport that doesn't compress ignores it. */
  readonly compression: Compression;
}

/** Whether a transport can be used by this process at all. */
export type ProbeResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: string; readonly hint?: string };

/** The other side of a connection. */
export interface Peer {
  /** For messages: `the server at http://localhost:8000`. */
  readonly name: string;
}

/**
 * What a transport keeps from one message to the next with one peer, such as files or mappings, and what the two have
 * agreed on. It has one owner, the connection, which closes it.
 */
export interface Session {
  /**
   * Headers for the next message to the peer, of whichever endpoint, which a peer that doesn't know them ignores. They
   * are asked for once the message has been encoded.
   */
  headers?(): Readonly<Record<string, string>>;
  /** A message has come. What it asks for is done when the promise resolves, and can be told in the next message. */
  receive?(headers: Headers): Promise<void>;
  /** The next message is the last: once this resolves, `headers` takes leave of the peer. */
  takeLeave?(): Promise<void>;
  /** Gives back what is kept. It doesn't reject. */
  close(): Promise<void>;
}

interface TransportBase {
  /** The name on the wire: `encoding` in an array; `json+NAME` as an output format, or NAME as a GPU transport. */
  readonly name: string;
  /** How far apart the two sides may be. */
  readonly reach: "process" | "host" | "network";
  /** Never throws. */
  probe(): Promise<ProbeResult>;
}

/** Carries arrays in the host's memory. It is negotiated as an output format. */
export interface HostTransport extends TransportBase {
  readonly carries: "host";
  /** Older names that are read as well. */
  readonly aliases?: readonly string[];
  /** Whether it can send from here as well as receive; true if left out. */
  readonly sends?: boolean;
  /** The arrays stay the caller's and aren't changed before the lease is released. */
  encode(arrays: readonly HostArray[], context: EncodeContext): Promise<EncodedMessage>;
  /** The results are the receiver's own. */
  decode(encoded: readonly ReceivedArray[], context: DecodeContext): Promise<readonly HostArray[]>;
  /**
   * Takes an array's `buffer` string as it arrives. Without this, and for short strings, `decode` gets strings.
   *
   * @param atMost how long the string can be at most, in bytes, where that is known
   */
  openBuffer?(array: AnnouncedArray, atMost: number | undefined): BufferSink;
  /** The transport for the messages with one peer, where it keeps something between them. */
  connect?(peer: Peer): HostTransport & Session;
}

/** Carries arrays in a GPU's memory. It is negotiated as a GPU transport. */
export interface DeviceTransport extends TransportBase {
  readonly carries: "device";
  /** The arrays stay the caller's and aren't changed before the lease is released. */
  encode(arrays: readonly CudaArray[], context: EncodeContext): Promise<EncodedMessage>;
  /** The results are the receiver's own; when it resolves, what the sender exported is no longer read. */
  decode(encoded: readonly ReceivedArray[], context: DecodeContext): Promise<readonly CudaArray[]>;
  /**
   * One side of the check that this transport works between two processes: `bytes` in device memory, as a uint8 array
   * that shares nothing with the exports of messages, since a check may run while calls do.
   */
  encodeCheck(bytes: Uint8Array, context: MessageContext): Promise<EncodedMessage>;
  /** The other side of the check: the bytes of such an array of another process. */
  decodeCheck(encoded: ReceivedArray, context: MessageContext): Promise<Uint8Array>;
  /** A copy on the device that `like` lives on, or on the first. The caller owns it. */
  toDevice?(array: HostArray, like?: CudaArray): Promise<CudaArray>;
  /** The transport for the messages with one peer, where it keeps something between them. */
  connect?(peer: Peer): DeviceTransport & Session;
}

export type Transport = HostTransport | DeviceTransport;

/** Transports in order of preference; a package that has several gives them as a list. */
export type Transports = readonly (Transport | readonly Transport[])[];

/** The output format that a host transport is negotiated as. */
export const outputFormatOf = ({ name }: HostTransport): string => (name === "json" ? "json" : `json+${name}`);
