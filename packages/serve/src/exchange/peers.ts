/** One session of the transports for each client that has a name. */
import type { Headers, Transport } from "@tesseract-ts/core";
import { TransportSet } from "@tesseract-ts/core/message";

/** Clients that are known at once; the one that was silent for longest goes first. */
const MOST_PEERS = 1000;

interface KnownPeer {
  readonly transports: TransportSet;
  /** Messages on their way, during which it isn't closed. */
  messages: number;
  timer: NodeJS.Timeout | undefined;
}

/** What one message and its answer are exchanged by. */
export interface PeerMessage {
  readonly transports: readonly Transport[];
  receive(headers: Headers): Promise<void>;
  /** For the answer. */
  headers(): Record<string, string>;
  /**
   * The answer is on its way.
   *
   * @param last whether the client may have said its last word; the session ends if nothing is left to say to it
   */
  end(last: boolean): void;
}

export class Peers {
  private readonly anonymous: TransportSet;
  private readonly known = new Map<string, KnownPeer>();
  private readonly closing = new Set<Promise<void>>();

  /** @param idleLimit milliseconds of silence after which a client is taken for gone */
  constructor(
    private readonly transports: readonly Transport[],
    private readonly idleLimit: number,
  ) {
    this.anonymous = new TransportSet(transports);
  }

  get size(): number {
    return this.known.size;
  }

  /** @param id as the client named itself; without one nothing is kept from one message to the next */
  message(id: string | undefined): PeerMessage {
    if (id === undefined) return new AnonymousMessage(this.anonymous.list);
    const peer = this.known.get(id) ?? this.open(id);
    // Anew, so that the oldest come first.
    this.known.delete(id);
    this.known.set(id, peer);
    peer.messages += 1;
    clearTimeout(peer.timer);
    const { transports } = peer;
    return {
      transports: transports.list,
      receive: (headers) => transports.receive(headers),
      headers: () => transports.headers(),
      end: (last) => {
        peer.messages -= 1;
        if (peer.messages > 0 || this.known.get(id) !== peer) return;
        if (last && Object.keys(transports.headers()).length === 0) this.close(id, peer);
        else peer.timer = setTimeout(() => this.close(id, peer), this.idleLimit).unref();
      },
    };
  }

  /** A client has said something to another worker process; only the sessions that are here are told. */
  async overhear(id: string, headers: Headers): Promise<void> {
    await this.known.get(id)?.transports.receive(headers);
  }

  async closeAll(): Promise<void> {
    for (const [id, peer] of this.known) this.close(id, peer);
    await Promise.all([...this.closing, this.anonymous.close()]);
  }

  private open(id: string): KnownPeer {
    if (this.known.size >= MOST_PEERS) {
      const idle = [...this.known].find(([, { messages }]) => messages === 0);
      if (idle !== undefined) this.close(...idle);
    }
    const transports = new TransportSet(this.transports, { name: `the client ${id}` });
    return { transports, messages: 0, timer: undefined };
  }

  private close(id: string, { transports, timer }: KnownPeer): void {
    clearTimeout(timer);
    this.known.delete(id);
    const closed: Promise<void> = transports.close().then(() => void this.closing.delete(closed));
    this.closing.add(closed);
  }
}

class AnonymousMessage implements PeerMessage {
  constructor(readonly transports: readonly Transport[]) {}
  async receive(): Promise<void> {}
  headers(): Record<string, string> {
    return {};
  }
  end(): void {}
}
