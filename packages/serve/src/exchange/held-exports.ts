/**
 * What answers have exported or leased, until their clients have copied it. A client names what it is done with on a later request;
 * one that says nothing of the kind is done with everything when the next such client calls.
 */
import { randomBytes } from "node:crypto";
import type { Lease } from "@tesseract-ts/core";
import { busy } from "../http/refusal.js";

export interface HeldExportsOptions {
  /** Begins every id; worker processes of one server have one each. */
  readonly prefix: string;
  /** Milliseconds after which exports are released that are never acknowledged. */
  readonly timeLimit: number;
  /** The most bytes of GPU memory that may be held. */
  readonly maxBytes: number;
}

interface Held {
  readonly lease: Lease;
  readonly bytes: number;
  readonly acknowledges: boolean;
  readonly callId: string | undefined;
  readonly timer: NodeJS.Timeout;
}

export class HeldExports {
  private readonly held = new Map<string, Held>();
  private reserved = 0;

  constructor(private readonly options: HeldExportsOptions) {}

  /** Bytes of GPU memory that are exported, or about to be. */
  get bytes(): number {
    return this.reserved;
  }

  /** How many answers' exports are held. */
  get count(): number {
    return this.held.size;
  }

  /**
   * To be called before something is exported; {@link keep} or {@link cancel} follows.
   *
   * @throws Refusal 503
   */
  reserve(bytes: number): void {
    const { maxBytes } = this.options;
    if (this.reserved + bytes > maxBytes) {
      throw busy(
        `This answer would export ${bytes} bytes of GPU memory, ${this.reserved} are exported already, and ${maxBytes} may be at once`,
      );
    }
    this.reserved += bytes;
  }

  cancel(bytes: number): void {
    this.reserved -= bytes;
  }

  /**
   * @param bytes as reserved
   * @param acknowledges whether the client names what it is done with
   * @param callId the client's name for the call that this answers
   * @returns the id for the answer
   */
  keep(lease: Lease, bytes: number, acknowledges: boolean, callId?: string): string {
    const id = `${this.options.prefix}${randomBytes(16).toString("hex")}`;
    const timer = setTimeout(() => void this.release([id]), this.options.timeLimit);
    timer.unref();
    this.held.set(id, { lease, bytes, acknowledges, callId, timer });
    return id;
  }

  async release(ids: Iterable<string>): Promise<void> {
    const releases: Promise<void>[] = [];
    for (const id of ids) {
      const held = this.held.get(id);
      if (held === undefined) continue;
      this.held.delete(id);
      clearTimeout(held.timer);
      releases.push(held.lease.release().then(() => this.cancel(held.bytes)));
    }
    await Promise.all(releases);
  }

  /** What was exported to calls that their clients have given up: they won't read it. */
  async releaseCalls(callIds: readonly string[]): Promise<void> {
    if (this.held.size === 0) return;
    await this.releaseWhere(({ callId }) => callId !== undefined && callIds.includes(callId));
  }

  /** The exports of all clients that don't acknowledge. */
  async dropUnacknowledged(): Promise<void> {
    if (this.held.size === 0) return;
    await this.releaseWhere(({ acknowledges }) => !acknowledges);
  }

  async close(): Promise<void> {
    await this.release([...this.held.keys()]);
  }

  private async releaseWhere(isDone: (held: Held) => boolean): Promise<void> {
    await this.release([...this.held].filter(([, held]) => isDone(held)).map(([id]) => id));
  }
}
