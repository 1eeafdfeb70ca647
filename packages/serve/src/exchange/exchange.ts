/**
 * What requests and answers say beside their bodies: exports and their acknowledgements, calls that were given up, and
 * what transports have agreed on with a client.
 */
import { randomBytes } from "node:crypto";
import type { Headers } from "@tesseract-ts/core";
import {
  CALL_HEADER,
  ENDED_HEADER,
  EXPORTS_DONE_HEADER,
  EXPORTS_HEADER,
  GIVEN_UP_HEADER,
  PEER_HEADER,
} from "@tesseract-ts/core/message";
import type { HeldExports } from "./held-exports.js";
import type { KnownCalls } from "./known-calls.js";
import type { PeerMessage, Peers } from "./peers.js";

/** An id comes from a client, and is kept. */
const ID = /^[\x21-\x2b\x2d-\x7e]{1,200}$/;
/** More of them in one header aren't read. */
const MOST_IDS = 1000;

/** The other worker processes of the same server. */
export interface Siblings {
  /** Exports that this process doesn't hold. */
  acknowledge(ids: readonly string[]): void;
  /** Resolves when all have done it. */
  dropUnacknowledged(): Promise<void>;
  /** Those of the ids that none of the others reads, and none will. */
  givenUp(ids: readonly string[]): Promise<readonly string[]>;
  /** What a client's transports have said here. */
  overheard(peer: string, headers: Readonly<Record<string, string>>): void;
}

/** A server of one process has none. */
export const noSiblings: Siblings = {
  acknowledge: () => {},
  dropUnacknowledged: async () => {},
  givenUp: async (ids) => ids,
  overheard: () => {},
};

export interface Exchange {
  readonly message: PeerMessage;
  /** The client's name for this call. */
  readonly callId: string | undefined;
  /** Whether the client names the exports that it is done with. */
  readonly acknowledges: boolean;
  /** What the answer says, once it has been encoded. */
  headers(): Promise<Record<string, string>>;
}

export class Exchanges {
  /** Says on every answer that this server tells which calls have ended; clients must not guess it. */
  readonly serverHeaders: Readonly<Record<string, string>> = { [PEER_HEADER]: randomBytes(16).toString("hex") };

  constructor(
    readonly exports: HeldExports,
    readonly calls: KnownCalls,
    readonly peers: Peers,
    private readonly siblings: Siblings,
    private readonly prefix: string,
  ) {}

  /** A request has come. What it acknowledges is released, whatever becomes of it. */
  async begin(header: Headers, headers: Readonly<Record<string, unknown>>): Promise<Exchange> {
    const done = header(EXPORTS_DONE_HEADER);
    const peer = idsOf(header(PEER_HEADER))[0];
    const [callId] = idsOf(header(CALL_HEADER));
    const givenUp = idsOf(header(GIVEN_UP_HEADER));
    if (givenUp.length > 0) await this.giveUp(givenUp);
    const elsewhere = givenUp.length === 0 ? [] : this.siblings.givenUp(givenUp);
    await this.acknowledge(idsOf(done));
    const message = this.peers.message(peer);
    if (peer !== undefined) {
      await message.receive(header);
      this.siblings.overheard(peer, ownHeaders(headers));
    }
    return {
      message,
      callId,
      acknowledges: done !== undefined,
      headers: async () => {
        const ended = givenUp.length === 0 ? [] : this.calls.ended(await elsewhere);
        return {
          ...message.headers(),
          ...(ended.length === 0 ? {} : { [ENDED_HEADER]: ended.join(",") }),
        };
      },
    };
  }

  /** Clients have given these calls up: they end, and so does what was exported to them. */
  async giveUp(callIds: readonly string[]): Promise<void> {
    this.calls.giveUp(callIds);
    await this.exports.releaseCalls(callIds);
  }

  /** A call that computes begins: exports end that nobody is going to acknowledge. */
  async dropUnacknowledged(): Promise<void> {
    await Promise.all([this.exports.dropUnacknowledged(), this.siblings.dropUnacknowledged()]);
  }

  async close(): Promise<void> {
    await this.exports.close();
    await this.peers.closeAll();
  }

  private async acknowledge(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const others = ids.filter((id) => !id.startsWith(this.prefix));
    if (others.length > 0) this.siblings.acknowledge(others);
    await this.exports.release(ids);
  }
}

export const exportsHeader = (id: string): Record<string, string> => ({ [EXPORTS_HEADER]: id });

const idsOf = (text: string | undefined): readonly string[] =>
  text === undefined || text === ""
    ? []
    : text
        .split(",", MOST_IDS)
        .map((id) => id.trim())
        .filter((id) => ID.test(id));

/** Those that transports may have written: the rest is between the client and this process. */
function ownHeaders(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  const own: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith("tesseract-") && typeof value === "string") own[name] = value;
  }
  return own;
}
