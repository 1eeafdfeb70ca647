/** The leases of one message. */
import type { Lease } from "../transport.js";

export class MessageLease implements Lease {
  private readonly leases: Lease[] = [];

  add(lease: Lease): void {
    this.leases.push(lease);
  }

  async release(): Promise<void> {
    await Promise.all(this.leases.splice(0).map((lease) => lease.release()));
  }

  /**
   * The other side may still be reading: ends what can be ended now.
   *
   * @returns whether something is left, which must be released when the other side can no longer read
   */
  async giveUp(): Promise<boolean> {
    const all = this.leases.splice(0);
    this.leases.push(...all.filter(({ abandon }) => abandon === undefined));
    await Promise.all(all.map((lease) => lease.abandon?.()));
    return this.leases.length > 0;
  }
}
