/** A side in this process: does with a transport what core does. */
import {
  type EncodedMessage,
  type HostArray,
  type Lease,
  type MessageContext,
  type ProbeResult,
  type ReceivedArray,
  type Session,
  TesseractError,
  type Transport,
} from "@tesseract-ts/core";
import { checkEncodedArray, isEncodedArray } from "@tesseract-ts/core/message";
import { copyOf, firstDifference } from "../../arrays.js";
import { problemOfArray, textOf, treeOf } from "../text.js";
import { type DeviceArrays, deviceArraysOf, disposeOf, placed, readBack } from "./device-arrays.js";
import { MemoryTaken } from "./memory-taken.js";
import { openFiles } from "./open-files.js";
import { abortAfter, settle } from "./outcome.js";
import type { About, Decoded, DecodeOptions, Encoded, EncodeOptions, Message, Outcome, Side } from "./side.js";

export interface LocalSideOptions {
  /**
   * Transports that carry what this one hands on to others, as `json` does with NaNs.
   */
  readonly others?: readonly Transport[];
  /** What is left of messages, each in a few words. Called when there should be nothing. */
  readonly leftovers?: () => readonly string[] | Promise<readonly string[]>;
  /** For device transports: how arrays get to the device and back; by `toDevice` and `copyToHost` if left out. */
  readonly deviceArrays?: DeviceArrays;
}

interface Sent {
  readonly lease: Lease | undefined;
  /** As they were handed over, and as they were. */
  readonly inputs: readonly HostArray[];
  readonly copies: readonly HostArray[];
  readonly onDevice: readonly unknown[];
  ended: boolean;
}

let sides = 0;

/** A side of `transport` in this process. */
export const localSide = (transport: Transport, options: LocalSideOptions = {}): Side =>
  new LocalSide(transport, options);

class LocalSide implements Side {
  private readonly peer = `conformance-${++sides}`;
  private session: (Transport & Session) | undefined;
  private next = 0;
  private readonly sent = new Map<number, Sent>();
  private readonly received = new Map<number, readonly unknown[]>();
  private readonly device: DeviceArrays;

  constructor(
    private readonly transport: Transport,
    private readonly options: LocalSideOptions,
  ) {
    this.device = options.deviceArrays ?? deviceArraysOf(transport);
  }

  async about(): Promise<About> {
    const { transport } = this;
    const host = transport.carries === "host" ? transport : undefined;
    return {
      name: transport.name,
      carries: transport.carries,
      reach: transport.reach,
      aliases: host?.aliases ?? [],
      sends: host?.sends !== false,
      hasSession: transport.connect !== undefined,
      hasSink: host?.openBuffer !== undefined,
    };
  }

  probe(): Promise<Outcome<ProbeResult>> {
    return settle(() => this.transport.probe());
  }

  async open(): Promise<void> {
    this.session = this.transport.connect?.({ name: "the other side of a conformance case" });
  }

  async encode(arrays: readonly HostArray[], options: EncodeOptions = {}): Promise<Outcome<Encoded>> {
    const { compression = "none", strided = false } = options;
    const copies = arrays.map(copyOf);
    const aborting = abortAfter(options.abortAfter);
    const onDevice = this.current.carries === "device" ? await placed(this.device, arrays, strided) : [];
    const outcome = await settle(() => {
      const context = { compression, ...signalOf(aborting.signal) };
      const { current } = this;
      if (current.carries === "host") return current.encode(arrays, context);
      return current.encode(onDevice, context);
    }, aborting.reason);
    if (outcome.ok) return this.keep(outcome.value, { inputs: arrays, copies, onDevice });
    await disposeOf(this.device, onDevice);
    return outcome;
  }

  async changedInput(id: number): Promise<string | undefined> {
    const sent = this.sent.get(id);
    return sent === undefined ? undefined : firstDifference(sent.inputs, sent.copies);
  }

  async endLease(id: number, how: "release" | "abandon"): Promise<Outcome<void>> {
    const sent = this.sent.get(id);
    if (sent === undefined) throw new Error(`There is no message ${id}`);
    const first = !sent.ended;
    sent.ended = true;
    const outcome = await settle(async () => {
      await (how === "abandon" ? sent.lease?.abandon?.() : sent.lease?.release());
    });
    if (first) await disposeOf(this.device, sent.onDevice);
    return outcome;
  }

  async decode({ text, headers }: Message, options: DecodeOptions = {}): Promise<Outcome<Decoded>> {
    const aborting = abortAfter(options.abortAfter);
    const memory = new MemoryTaken();
    const outcome = await settle(async () => {
      await this.session?.receive?.((name) => headers[name]);
      const { current } = this;
      const openBuffer = current.carries === "host" ? current.openBuffer?.bind(current) : undefined;
      const tree = treeOf(text, options.pieces ?? 1 << 16, openBuffer && memory.sinksOf(openBuffer));
      return this.decodeAll(tree, { ...signalOf(aborting.signal) }, headers);
    }, aborting.reason);
    memory.look();
    // The pieces of the text are this side's own.
    const taken = Math.max(0, memory.most - text.length);
    if (!outcome.ok) return { ...outcome, taken };
    const id = this.next++;
    this.received.set(id, outcome.value);
    return { ok: true, value: { id, arrays: await this.read(id), taken } };
  }

  async read(id: number): Promise<readonly unknown[]> {
    const arrays = this.received.get(id) ?? [];
    if (this.current.carries === "host") return arrays;
    return Promise.all(arrays.map((array) => readBack(this.device, array)));
  }

  async overwrite(id: number): Promise<void> {
    const [first] = this.received.get(id) ?? [];
    if (this.current.carries === "host") (first as HostArray | undefined)?.data.fill(1 as never);
  }

  async dispose(id: number): Promise<void> {
    const arrays = this.received.get(id) ?? [];
    this.received.delete(id);
    if (this.current.carries === "device") await disposeOf(this.device, arrays);
  }

  async encodeCheck(bytes: Uint8Array): Promise<Outcome<Encoded>> {
    const { current } = this;
    const outcome = await settle(async () => {
      if (current.carries === "host") throw new Error("A host transport has no check");
      return current.encodeCheck(bytes, {});
    });
    return outcome.ok ? this.keep(outcome.value, { inputs: [], copies: [], onDevice: [] }) : outcome;
  }

  decodeCheck({ text }: Message): Promise<Outcome<Uint8Array>> {
    const { current } = this;
    return settle(async () => {
      if (current.carries === "host") throw new Error("A host transport has no check");
      const [array] = treeOf(text, 1 << 16) as readonly unknown[];
      return current.decodeCheck(checkEncodedArray(array as { [key: string]: unknown }, "array"), {});
    });
  }

  hear(headers: Readonly<Record<string, string>>): Promise<Outcome<void>> {
    return settle(async () => this.session?.receive?.((name) => headers[name]));
  }

  async headers(): Promise<Readonly<Record<string, string>>> {
    return { "tesseract-peer": this.peer, ...this.session?.headers?.() };
  }

  async takeLeave(): Promise<void> {
    await this.session?.takeLeave?.();
  }

  close(): Promise<Outcome<void>> {
    const { session } = this;
    this.session = undefined;
    return settle(async () => session?.close());
  }

  async finish(): Promise<void> {
    for (const { lease, onDevice, ended } of this.sent.values()) {
      if (ended) continue;
      await lease?.release();
      await disposeOf(this.device, onDevice);
    }
    this.sent.clear();
    for (const id of [...this.received.keys()]) await this.dispose(id);
    await this.close();
  }

  async leftovers(): Promise<readonly string[]> {
    return [...((await this.options.leftovers?.()) ?? []), ...openFiles()];
  }

  /** The transport for the messages with the other side. */
  private get current(): Transport {
    return this.session ?? this.transport;
  }

  private async keep(message: EncodedMessage, made: Omit<Sent, "lease" | "ended">): Promise<Outcome<Encoded>> {
    const { arrays, lease } = message;
    const id = this.next++;
    this.sent.set(id, { ...made, lease, ended: false });
    const problems =
      arrays.length === made.copies.length
        ? arrays.flatMap((array, index) => {
            const problem =
              problemOfArray(array, made.copies[index] as HostArray) ?? this.strangerOf(array.data.encoding);
            return problem === undefined ? [] : [`encoded array ${index + 1}: ${problem}`];
          })
        : made.copies.length === 0
          ? []
          : [`${made.copies.length} arrays were given, and ${arrays.length} encoded ones came back`];
    const outcome = await settle(() => textOf(arrays));
    if (!outcome.ok) return outcome;
    return {
      ok: true,
      value: {
        id,
        hasLease: lease !== undefined,
        hasAbandon: lease?.abandon !== undefined,
        text: outcome.value.text,
        headers: { ...message.headers, ...(await this.headers()) },
        problems: [...problems, ...outcome.value.problems],
      },
    };
  }

  private strangerOf(encoding: string): string | undefined {
    return this.carrierOf(encoding) === undefined ? `no transport here is named "${encoding}"` : undefined;
  }

  private carrierOf(encoding: string): Transport | undefined {
    return [this.current, ...(this.options.others ?? [])].find(
      ({ name, ...other }) =>
        name === encoding || ("aliases" in other && (other.aliases as readonly string[]).includes(encoding)),
    );
  }

  /** As core does it: every transport gets its arrays at once. */
  private async decodeAll(
    tree: unknown,
    context: MessageContext,
    headers: Readonly<Record<string, string>>,
  ): Promise<readonly unknown[]> {
    if (!Array.isArray(tree)) throw new TesseractError("DECODE_FAILED", "The message is no list of arrays");
    const arrays: unknown[] = new Array(tree.length);
    const groups = new Map<Transport, { readonly index: number; readonly encoded: ReceivedArray }[]>();
    for (const [index, value] of tree.entries()) {
      if (typeof value !== "object" || value === null || !isEncodedArray({ object_type: "array", ...value })) {
        throw new TesseractError("DECODE_FAILED", `[${index}]: there is no array`);
      }
      const encoded = checkEncodedArray(value, `[${index}]`);
      const transport = this.carrierOf(encoded.data.encoding);
      if (transport === undefined) throw new TesseractError("TRANSPORT_MISSING", `[${index}]: an unknown encoding`);
      groups.set(transport, [...(groups.get(transport) ?? []), { index, encoded }]);
    }
    if (tree.length === 0) groups.set(this.current, []);
    for (const [transport, group] of groups) {
      const decoded = await transport.decode(
        group.map(({ encoded }) => encoded),
        { ...context, headers: (name) => headers[name] },
      );
      if (decoded.length !== group.length) arrays.push(...decoded.slice(group.length));
      group.forEach(({ index }, at) => {
        arrays[index] = decoded[at];
      });
    }
    return arrays;
  }
}

const signalOf = (signal: AbortSignal | undefined): MessageContext => (signal === undefined ? {} : { signal });
