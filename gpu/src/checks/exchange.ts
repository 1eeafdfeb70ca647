/** Two processes and the messages between them. */
import type { CudaArray, HostArray } from "@tesseract-ts/core";
import { bytesOf } from "@tesseract-ts/core";
import { cudaIpc } from "@tesseract-ts/transport-cuda-ipc";
import { type Connected, decode, encode, type Letter } from "../letters.js";
import type { operations, PlainArray } from "../peer.js";
import { Remote } from "../remote.js";

export class Exchange {
  private constructor(
    readonly transport: Connected,
    readonly peer: Remote<typeof operations>,
  ) {}

  static async start(env: NodeJS.ProcessEnv): Promise<Exchange> {
    const transport = cudaIpc().connect?.({ name: "the other process of the suite" });
    if (transport === undefined) throw new Error("cuda_ipc has no sessions");
    const peer = Remote.start<typeof operations>("./peer.js", { env });
    await peer.call("openings"); // it is there
    return new Exchange(transport, peer);
  }

  /** Sends arrays, which stay the caller's, and gives what the other process read. */
  async send(arrays: readonly CudaArray[]): Promise<readonly PlainArray[]> {
    const sender = await encode(this.transport, arrays);
    const { arrays: read, answer } = await this.peer.call("read", sender.letter);
    await sender.answered(answer);
    return read;
  }

  /** Sends arrays that the other process only copies. */
  async pass(arrays: readonly CudaArray[]): Promise<void> {
    const sender = await encode(this.transport, arrays);
    await sender.answered(await this.peer.call("take", sender.letter));
  }

  /** Has the other process send arrays, and gives what came. */
  async fetch(arrays: readonly HostArray[]): Promise<readonly PlainArray[]> {
    const letter = await this.peer.call(
      "send",
      arrays.map((values) => ({ values })),
    );
    const read: PlainArray[] = [];
    for (const array of await decode(this.transport, letter)) {
      const host = await array.copyToHost();
      read.push(plain(host));
      array.dispose();
    }
    await this.peer.call("answered", { "tesseract-peer": "peer", ...this.transport.headers?.() });
    return read;
  }

  /** Both let go; what the other process still holds then. */
  async leave(): Promise<Readonly<Record<string, number>>> {
    const farewell: Letter["headers"] = { "tesseract-peer": "peer", "tesseract-retired": "*" };
    await this.transport.close();
    const held = await this.peer.call("leave", farewell);
    await this.transport.receive?.((name) => farewell[name]);
    return held;
  }
}

export const plain = (host: HostArray): PlainArray => ({
  dtype: host.dtype,
  shape: [...host.shape],
  bytes: bytesOf(host),
});
