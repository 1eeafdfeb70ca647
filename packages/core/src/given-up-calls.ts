/**
 * Calls that were given up: aborted, timed out, or lost. The server may still read what their leases own, so these
 * end only when it no longer can; and a server of this project gives back what it has leased to such calls.
 */
import type { Headers, Lease } from "./transport.js";

/** Names a client to servers of this project, and those to the client: the agreements are between the two. */
export const PEER_HEADER = "tesseract-peer";
/** Names a request that a later one may ask about. Servers of this project know it; others ignore it. */
export const CALL_HEADER = "tesseract-call";
/** Asks a server of this project about calls, and makes it refuse those that come late. */
export const GIVEN_UP_HEADER = "tesseract-given-up";
/** Its answer: those of them that it doesn't read, and won't. */
export const ENDED_HEADER = "tesseract-ended";

/** The reference server drops what isn't acknowledged after the same time. */
const LIMIT_MS = 300_000;
/** A server that reads its sockets in turn takes no more than this from each at a time (asyncio's limit is 256 KiB). */
const BYTES_PER_TURN = 1 << 16;
/** More aren't asked about at once; a header has limits. */
const MOST_ASKED = 100;

interface GivenUpCall {
  readonly id: string;
  readonly lease: Lease | undefined;
  readonly timer: ReturnType<typeof setTimeout>;
  /** Answered requests that it still takes to be sure, for a server that runs one call at a time. */
  needed: number;
  /** A request counts that began later than this. */
  after: number;
}

export class GivenUpCalls {
  private readonly calls = new Map<string, GivenUpCall>();
  private clock = 0;
  /** Whether the server is of this project, which it says with each answer. */
  private isOurs = false;

  constructor(private readonly limit: number = LIMIT_MS) {}

  get pending(): boolean {
    return this.calls.size > 0;
  }

  /** Whether there are calls that the server wants to be told of. */
  get isAsked(): boolean {
    return this.isOurs && this.pending;
  }

  /** @param bytes of the request's body */
  add(id: string, lease: Lease | undefined, bytes: number): void {
    const timer = setTimeout(() => this.end(id), this.limit);
    // Memory that waits for its end must not keep a program running.
    if (typeof timer === "object") (timer as { unref?(): void }).unref?.();
    const needed = 2 + Math.ceil(bytes / BYTES_PER_TURN);
    this.calls.set(id, { id, lease, timer, needed, after: this.clock });
  }

  /** The server has answered, with these headers. */
  met(headers: Headers): void {
    this.isOurs = headers(PEER_HEADER) !== undefined;
  }

  /** Headers for the next request. */
  headers(): Record<string, string> {
    if (this.calls.size === 0) return {};
    return { [GIVEN_UP_HEADER]: [...this.calls.keys()].slice(0, MOST_ASKED).join(",") };
  }

  /** A request begins. */
  begin(): number {
    this.clock += 1;
    return this.clock;
  }

  /**
   * A request was answered that began at `began`.
   *
   * A server of this project says which calls have ended. The reference runs one call at a time on the loop that reads
   * its sockets; so when it has answered several requests, one after the other, that began after a call was given up,
   * it has read and run that call, or never will.
   */
  async answered(began: number, headers: Headers): Promise<void> {
    this.clock += 1;
    const ended: string[] = [];
    this.met(headers);
    if (this.isOurs) {
      for (const id of (headers(ENDED_HEADER) ?? "").split(",")) ended.push(id.trim());
    } else {
      for (const call of this.calls.values()) {
        if (began <= call.after) continue;
        call.after = this.clock;
        call.needed -= 1;
        if (call.needed === 0) ended.push(call.id);
      }
    }
    await Promise.all(ended.map((id) => this.end(id)));
  }

  private async end(id: string): Promise<void> {
    const call = this.calls.get(id);
    if (call === undefined) return;
    this.calls.delete(id);
    clearTimeout(call.timer);
    await call.lease?.release();
  }
}
