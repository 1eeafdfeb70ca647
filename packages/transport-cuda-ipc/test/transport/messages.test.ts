import { describe, expect, test } from "vitest";
import type { DeviceArray } from "../../src/index.js";
import { type Peer, receive, release, type Sent, send, sharedPeers } from "./peers.js";

describe("arrays of one process are read by another", () => {
  const peers = sharedPeers({ devices: 2 });

  test("with their values and shapes, the empty one too", async () => {
    const { sender, receiver } = peers;
    const message = await send(sender, [[1, 2, 3], [], [4]]);
    expect(message.arrays[1]?.data.buffer).toMatch(/^[0-9a-f-]{36}::0:0$/);
    const answer = await receive(receiver, message);
    expect(answer).toMatchObject({ values: [[1, 2, 3], [], [4]], shapes: [[3], [0], [1]] });
    await release(sender, answer.headers);
  });

  test("on a device that the two number differently", async () => {
    const { sender, machine } = peers;
    const receiver = await machine.start({ visibleDevices: "1" });
    const message = await send(sender, [[1, 2]], 1);
    const answer = await receive(receiver, message);
    expect(answer.values).toEqual([[1, 2]]);
    await release(sender, answer.headers);
    await receiver.leave();
    await receiver.end();
  });

  test("on several devices in one message", async () => {
    const { sender, receiver } = peers;
    const message = await sender.run(async ({ cuda, kept, transport }) => {
      const arrays = await Promise.all(
        [1, 0, 1].map((device) => cuda.DeviceArray.fromHost(new Float64Array([device]), { device })),
      );
      const encoded = await transport.encode(arrays, { compression: "none" });
      Object.assign(kept, { arrays, message: encoded });
      return { arrays: encoded.arrays.map((array) => ({ ...array, path: "x" })), headers: {} };
    });
    expect((await receive(receiver, message)).values).toEqual([[1], [0], [1]]);
    await release(sender);
  });

  test("that are parts of larger ones", async () => {
    const { sender, receiver } = peers;
    const message = await sender.run(async ({ cuda, kept, transport }) => {
      const whole = await cuda.DeviceArray.fromHost(Float64Array.from({ length: 1000 }, (_, index) => index));
      const parts = [whole.slice(10, 13), whole.slice(999), whole.slice(0, 1)];
      whole.dispose();
      const encoded = await transport.encode(parts, { compression: "none" });
      Object.assign(kept, { arrays: parts, message: encoded });
      return { arrays: encoded.arrays.map((array) => ({ ...array, path: "x" })), headers: {} };
    });
    expect((await receive(receiver, message)).values).toEqual([[10, 11, 12], [999], [0]]);
    await release(sender);
  });

  test("without a copy to the host, and with one wait on each side however many they are", async () => {
    const { sender, receiver, machine } = peers;
    await sender.run(
      async ({ cuda, kept }, values) => {
        const owned = await Promise.all(values.map((list) => cuda.DeviceArray.fromHost(Float64Array.from(list))));
        // As a framework's arrays whose kernels may still be running.
        kept.inFlight = owned.map(({ device, cudaArrayInterface }) => ({
          device,
          cudaArrayInterface: { ...cudaArrayInterface, stream: 1 },
        }));
        kept.arrays = owned;
      },
      Array.from({ length: 100 }, (_, index) => [index]),
    );
    const waits = (pid: number): number =>
      machine.cuda.trace.filter({ function: /^cu(Stream|Ctx|Event)Synchronize$/, pid }).calls.length;
    const before = { sender: waits(sender.pid), copies: machine.cuda.trace.copiesToHost };
    const sent: Sent = await sender.run(async ({ kept, transport }) => {
      const encoded = await transport.encode(kept.inFlight as never, { compression: "none" });
      kept.message = encoded;
      return { arrays: encoded.arrays.map((array) => ({ ...array, path: "x" })), headers: { ...encoded.headers } };
    });
    expect(waits(sender.pid) - before.sender).toBe(1);
    const at = waits(receiver.pid);
    const count = await receiver.run(async ({ kept, transport }, { arrays }) => {
      kept.decoded = await transport.decode(arrays, {});
      return (kept.decoded as unknown[]).length;
    }, sent);
    expect(count).toBe(100);
    expect(waits(receiver.pid) - at).toBe(1);
    expect(machine.cuda.trace.copiesToHost).toBe(before.copies);
    await receiver.run(({ kept }) => {
      for (const array of kept.decoded as DeviceArray[]) array.dispose();
    });
    await release(sender);
  });
});

describe("memory that has no handle", () => {
  const peers = sharedPeers();

  /** Has the sender encode an array in memory of this kind, which belongs to somebody else. */
  const sendForeign = (sender: Peer, kind: "plain" | "virtual" | "pool", values: readonly number[]): Promise<Sent> =>
    sender.run(
      async ({ cuda, kept, transport }, of, list) => {
        const device = (await cuda.openDriver()).device();
        const bytes = Float64Array.from(list);
        const batch = new cuda.Batch();
        const memory = batch.alloc(bytes.byteLength, { kind: of });
        batch.copyFromHost(memory, new Uint8Array(bytes.buffer));
        const pointer = (await device.submit(batch)).get(memory);
        const array = {
          cudaArrayInterface: { shape: [list.length], typestr: "<f8", data: [pointer, false], version: 3 },
        } as const;
        const encoded = await transport.encode([array], { compression: "none" });
        Object.assign(kept, { foreign: pointer, message: encoded, arrays: [] });
        return { arrays: encoded.arrays.map((each) => ({ ...each, path: "x" })), headers: { ...encoded.headers } };
      },
      kind,
      values,
    );

  const freeForeign = (sender: Peer): Promise<void> =>
    sender.run(async ({ cuda, kept }) => (await cuda.openDriver()).device().free(kept.foreign as never));

  test.each(["virtual", "pool"] as const)(
    "of kind %s is copied on the device, into memory that is used again",
    async (kind) => {
      const { sender, receiver, machine } = peers;
      const before = machine.cuda.trace.copiesToHost;
      for (const values of [
        [1, 2, 3],
        [4, 5, 6],
      ]) {
        const message = await sendForeign(sender, kind, values);
        expect((await receive(receiver, message)).values).toEqual([values]);
        await release(sender);
        await freeForeign(sender);
      }
      // The receiver's own look at the values is all.
      expect(machine.cuda.trace.copiesToHost - before).toBe(2);
      const staging = machine.cuda.trace.filter({ function: "cuMemAlloc", pid: sender.pid }).calls.length;
      expect(staging).toBeLessThanOrEqual(1);
    },
  );

  test("isn't looked for by provoking errors", () => {
    expect(peers.machine.cuda.trace.filter({ failed: true }).calls).toEqual([]);
  });

  test("of somebody else's plain allocations is exported as it is", async () => {
    const { sender, receiver } = peers;
    const message = await sendForeign(sender, "plain", [7]);
    expect((await receive(receiver, message)).values).toEqual([[7]]);
    await release(sender);
    await freeForeign(sender);
  });
});

describe("strided arrays", () => {
  const peers = sharedPeers();

  /** Encodes a view of the numbers from 0 to 23 with this shape and these strides, in elements. */
  const sendStrided = (shape: readonly number[], strides: readonly number[], first = 0): Promise<Sent> =>
    peers.sender.run(
      async ({ cuda, kept, transport }, sizes, steps, begin) => {
        const whole = await cuda.DeviceArray.fromHost(Float64Array.from({ length: 24 }, (_, index) => index));
        const { cudaArrayInterface: all } = whole;
        const array = {
          cudaArrayInterface: {
            ...all,
            shape: sizes,
            strides: steps.map((step) => step * 8),
            data: [all.data[0] + BigInt(begin * 8), false],
          },
        } as const;
        kept.arrays = [whole];
        kept.message = {};
        const encoded = await transport.encode([array], { compression: "none" });
        kept.message = encoded;
        return { arrays: encoded.arrays.map((each) => ({ ...each, path: "x" })), headers: {} };
      },
      shape,
      strides,
      first,
    );

  test.each<[string, number[], number[], number, number[]]>([
    ["transposed", [4, 3], [1, 4], 0, [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]],
    ["every second", [4], [2], 1, [1, 3, 5, 7]],
    ["reversed", [3], [-1], 5, [5, 4, 3]],
    ["repeated", [2, 3], [0, 1], 4, [4, 5, 6, 4, 5, 6]],
    ["a block of a matrix", [2, 2], [6, 1], 7, [7, 8, 13, 14]],
  ])("are made contiguous on the device: %s", async (_, shape, strides, first, expected) => {
    const before = peers.machine.cuda.trace.copiesToHost;
    const message = await sendStrided(shape, strides, first);
    const answer = await receive(peers.receiver, message);
    expect(answer).toMatchObject({ values: [expected], shapes: [shape] });
    expect(peers.machine.cuda.trace.copiesToHost - before).toBe(1);
    await release(peers.sender);
  });

  test("with strides that overlap are refused, and leave nothing", async () => {
    await expect(sendStrided([3, 3], [1, 1])).rejects.toMatchObject({ code: "INVALID_ARRAY" });
    await release(peers.sender);
  });
});
