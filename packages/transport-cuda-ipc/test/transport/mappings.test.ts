import { describe, expect, test } from "vitest";
import type { DeviceArray } from "../../src/index.js";
import { type Peer, receive, release, type Sent, send, sharedPeers, withPeers } from "./peers.js";

/** Encodes the arrays that were sent last once more. */
const sendAgain = (sender: Peer): Promise<Sent> =>
  sender.run(async ({ kept, transport }) => {
    const message = await transport.encode(kept.arrays as DeviceArray[], { compression: "none" });
    kept.message = message;
    return {
      arrays: message.arrays.map((array, index) => ({ ...array, path: `x${index}` })),
      headers: { "tesseract-peer": "sender", ...message.headers, ...transport.headers?.() },
    };
  });

/** The receiver has answered; the arrays are kept. */
const answered = (sender: Peer, headers: Readonly<Record<string, string>>): Promise<void> =>
  sender.run(async ({ kept, transport }, answer) => {
    await transport.receive?.((name) => answer[name]);
    await (kept.message as { lease?: { release(): Promise<void> } }).lease?.release();
  }, headers);

describe("between peers of this project", () => {
  const peers = sharedPeers();
  const count = (name: string): number => peers.machine.cuda.trace.filter({ function: name }).calls.length;

  test("a second message with the same buffers opens no mapping and allocates nothing", async () => {
    const { sender, receiver } = peers;
    const first = await send(sender, [[1, 2], [3]]);
    expect(first.headers["tesseract-lasting"]).toMatch(/^[0-9a-f]{16}$/);
    const answer = await receive(receiver, first);
    await answered(sender, answer.headers);
    const before = ["cuIpcOpenMemHandle", "cuIpcGetMemHandle", "cuMemAlloc", "cuMemFree"].map(count);
    for (let i = 0; i < 3; i++) {
      const again = await sendAgain(sender);
      const { values, headers } = await receive(receiver, again);
      expect(values).toEqual([[1, 2], [3]]);
      await answered(sender, headers);
    }
    expect(["cuIpcOpenMemHandle", "cuIpcGetMemHandle", "cuMemAlloc", "cuMemFree"].map(count)).toEqual(before);
    await release(sender);
  });

  test("memory that is wanted back is let go of with the next message, and only then freed", async () => {
    const { sender, receiver } = peers;
    await sender.run(async ({ cuda, kept }) => {
      kept.trimmed = false;
      const memory = cuda.DeviceMemory.of((await cuda.openDriver()).device());
      kept.trim = memory.trim().then(() => {
        kept.trimmed = true;
      });
    });
    const trimmed = (): Promise<boolean> => sender.run(({ kept }) => kept.trimmed as boolean);
    const frees = count("cuMemFree");
    const message = await send(sender, [[5]]);
    expect(message.headers["tesseract-retire"]).toMatch(/^[0-9a-f]{16}$/);
    expect([await trimmed(), count("cuMemFree")]).toEqual([false, frees]);
    const { values, headers } = await receive(receiver, message);
    expect(values).toEqual([[5]]);
    expect(headers["tesseract-retired"]).toBe(message.headers["tesseract-retire"]);
    await release(sender, headers);
    await sender.run(({ kept }) => kept.trim as Promise<void>);
    expect(count("cuMemFree")).toBe(frees + 1);
  });

  test("a mapping that is in use is closed when it no longer is", async () => {
    const { sender, receiver } = peers;
    const message = await send(sender, [[1], [2]]);
    const { headers } = await receive(receiver, message);
    await answered(sender, headers);
    const again = await sendAgain(sender);
    const result = await receiver.run(
      async ({ transport }, { arrays, headers: sent }, name) => {
        const decoding = transport.decode(arrays, { headers: (key) => sent[key] });
        const ask: Record<string, string> = { "tesseract-peer": "sender", "tesseract-retire": name };
        const letGo = transport.receive?.((key) => ask[key]);
        const decoded = (await decoding) as DeviceArray[];
        await letGo;
        const values = await Promise.all(decoded.map(async (array) => Number((await array.copyToHost()).data[0])));
        for (const array of decoded) array.dispose();
        return { values, headers: { ...transport.headers?.() } };
      },
      again,
      String(message.headers["tesseract-lasting"]),
    );
    expect(result.values).toEqual([1, 2]);
    expect(result.headers["tesseract-retired"]).toBe(message.headers["tesseract-lasting"]);
    await release(sender, { "tesseract-peer": "receiver", ...result.headers });
  });
});

describe("with a peer of another kind", () => {
  test("every mapping ends with its message", () =>
    withPeers({}, async (sender, receiver, { cuda }) => {
      const first = await send(sender, [[1], [2]]);
      // A reference peer sends and understands no such headers.
      const unknowing = { arrays: first.arrays, headers: {} };
      await receive(receiver, unknowing);
      await sender.run(async ({ kept, transport }) => {
        await transport.receive?.(() => undefined);
        await (kept.message as { lease: { release(): Promise<void> } }).lease.release();
      });
      const again = await sendAgain(sender);
      expect(again.headers).toEqual({ "tesseract-peer": "sender" });
      await receive(receiver, unknowing);
      await release(sender);
      const calls = (name: string): number => cuda.trace.filter({ function: name }).calls.length;
      expect(calls("cuIpcOpenMemHandle")).toBe(2);
      expect(calls("cuIpcCloseMemHandle")).toBe(2);
      // What isn't mapped anywhere is freed at once.
      await sender.run(async ({ cuda: { DeviceMemory, openDriver } }) =>
        DeviceMemory.of((await openDriver()).device()).trim(),
      );
      expect((await cuda.status()).allocations.filter(({ owner }) => owner === sender.pid)).toEqual([]);
    }));
});

describe("mappings are bounded", () => {
  test("in count and in bytes: the least recently used are closed", () =>
    withPeers({}, async (sender, receiver, { cuda }) => {
      await receiver.run(({ cuda: { cudaIpc }, kept }) => {
        kept.bounded = cudaIpc({ mappings: { count: 2, bytes: 16 * 2 ** 20 } }).connect?.({ name: "bounded" });
      });
      const sent = await sender.run(
        async ({ cuda: { DeviceArray }, kept, transport }, sizes) => {
          const arrays = await Promise.all(sizes.map((size) => DeviceArray.empty([size], "uint8")));
          const message = await transport.encode(arrays, { compression: "none" });
          Object.assign(kept, { arrays, message });
          const headers: Record<string, string> = { "tesseract-peer": "sender", ...message.headers };
          return { arrays: message.arrays.map((array) => ({ ...array, path: "x" })), headers };
        },
        [4, 5, 6, 32].map((mebibytes) => mebibytes * 2 ** 20),
      );
      await receiver.run(async ({ kept }, { arrays, headers }) => {
        const transport = kept.bounded as import("@tesseract-ts/core").DeviceTransport &
          import("@tesseract-ts/core").Session;
        await transport.receive?.((name) => headers[name]);
        for (const array of arrays) {
          const decoded = (await transport.decode([array], { headers: (name) => headers[name] })) as DeviceArray[];
          for (const each of decoded) each.dispose();
        }
      }, sent);
      const closed = (): number => cuda.trace.filter({ function: "cuIpcCloseMemHandle" }).calls.length;
      const mapped = (await cuda.status()).allocations.filter(({ mappedBy }) => mappedBy.length > 0);
      expect(mapped.map(({ bytes }) => bytes / 2 ** 20).sort()).toEqual([6, 6]);
      expect(closed()).toBe(2);
      await receiver.run(({ kept }) => (kept.bounded as { close(): Promise<void> }).close());
      expect(closed()).toBe(4);
      await release(sender);
    }));
});
