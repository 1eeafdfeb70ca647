import type { ReceivedArray } from "@tesseract-ts/core";
import { describe, expect, test } from "vitest";
import type { DeviceArray } from "../../src/index.js";
import { onMachine, type Peer, receive, release, type Sent, send, sharedPeers, withPeers } from "./peers.js";

/** What the process holds of the driver, without what is kept for reuse, or for the other process. */
const held = (peer: Peer) =>
  peer.run(async ({ cuda, transport }) => {
    const farewell: Record<string, string> = { "tesseract-peer": "other", "tesseract-retired": "*" };
    await transport.receive?.((name) => farewell[name]);
    const driver = await cuda.openDriver();
    await Promise.all(driver.devices.map((device) => cuda.DeviceMemory.of(device).trim({ wait: false })));
    const { allocations, mappings, pending } = driver.held();
    return { allocations, mappings, pending };
  });
const nothing = { allocations: 0, mappings: 0, pending: 0 };

const decode = (peer: Peer, arrays: readonly ReceivedArray[]): Promise<unknown> =>
  peer.run(async ({ transport }, encoded) => {
    const decoded = (await transport.decode(encoded, {})) as DeviceArray[];
    for (const array of decoded) array.dispose();
  }, arrays);

describe("an array that came and can't be read is refused, and leaves nothing behind", () => {
  const peers = sharedPeers({ devices: 2 });

  const damaged = Buffer.alloc(64, 9).toString("base64");
  test.each<[string, { uuid?: string; handle?: string; offset?: string; size?: string }, string, string]>([
    [
      "a GPU that this process can't see",
      { uuid: "00000000-0000-0000-0000-000000000000" },
      "DECODE_FAILED",
      "can't see",
    ],
    ["an offset behind the real allocation", { offset: "4194304", size: "8388608" }, "DECODE_FAILED", "allocation"],
    ["a size larger than the real allocation", { offset: "2097148", size: "99999999" }, "DECODE_FAILED", "allocation"],
    ["a damaged handle", { handle: damaged }, "CUDA_ERROR", "outputs.y"],
    ["another GPU than its own", { uuid: "the other" }, "CUDA_ERROR", "outputs.y"],
  ])("%s", async (_, change, code, words) => {
    const { sender, receiver } = peers;
    const message = await send(sender, [[1, 2]]);
    const uuids = await receiver.run(async ({ cuda }) => (await cuda.openDriver()).devices.map(({ uuid }) => uuid));
    const good = { ...(message.arrays[0] as ReceivedArray), path: "outputs.good" };
    const [uuid, handle, offset, size] = String(good.data.buffer).split(":");
    const all = { uuid, handle, offset, size, ...change };
    if (all.uuid === "the other") all.uuid = uuids.find((each) => each !== uuid);
    const buffer = [all.uuid, all.handle, all.offset, all.size].join(":");
    const bad = { ...good, path: "outputs.y", data: { ...good.data, buffer } };
    await expect(decode(receiver, [good, bad, good])).rejects.toMatchObject({
      code,
      message: expect.stringContaining(words),
      ...(code === "CUDA_ERROR" || "uuid" in change ? { hint: expect.any(String) } : {}),
    });
    expect(await held(receiver)).toEqual(nothing);
    await release(sender);
  });

  test("memory that was freed meanwhile", async () => {
    const { sender, receiver } = peers;
    const message = await send(sender, [[1]]);
    await release(sender);
    await sender.run(async ({ cuda, transport }) => {
      await transport.receive?.((name) =>
        name === "tesseract-peer" ? "r" : name === "tesseract-retired" ? "*" : undefined,
      );
      const { devices } = await cuda.openDriver();
      await Promise.all(devices.map((device) => cuda.DeviceMemory.of(device).trim()));
    });
    await expect(decode(receiver, message.arrays)).rejects.toMatchObject({ code: "CUDA_ERROR" });
    expect(await held(receiver)).toEqual(nothing);
  });

  test("its own memory", async () => {
    const { sender } = peers;
    const message = await send(sender, [[1]]);
    await expect(decode(sender, message.arrays)).rejects.toMatchObject({
      code: "CUDA_ERROR",
      hint: expect.stringContaining("own"),
    });
    await release(sender);
  });

  test("memory across PID namespaces, with a word about containers", async () => {
    const { sender, machine } = peers;
    const stranger = await machine.start({ pidNamespace: "container" });
    const message = await send(sender, [[1]]);
    await expect(decode(stranger, message.arrays)).rejects.toMatchObject({
      code: "CUDA_ERROR",
      hint: expect.stringContaining("--ipc=host"),
    });
    expect(await held(stranger)).toEqual(nothing);
    await release(sender);
  });
});

describe("an array that can't be sent is refused, and leaves nothing behind", () => {
  const peers = sharedPeers();

  const encode = (foreign: Record<string, unknown>): Promise<unknown> =>
    peers.sender.run(async ({ cuda, kept, transport }, changes) => {
      kept.arrays = [await cuda.DeviceArray.fromHost(new Float64Array(8))];
      const [own] = kept.arrays as DeviceArray[];
      if (own === undefined) return;
      try {
        const bad = { cudaArrayInterface: { ...own.cudaArrayInterface, ...changes } };
        await transport.encode([own, bad as never], { compression: "none" });
      } finally {
        own.dispose();
      }
    }, foreign);

  test.each<[string, Record<string, unknown>, string]>([
    ["an address of nothing", { data: [0n, false] }, "INVALID_ARRAY"],
    ["an address in the host's memory", { data: [0x5555_5555_0000n, false] }, "INVALID_ARRAY"],
    ["more bytes than its memory", { shape: [2 ** 20] }, "INVALID_ARRAY"],
    ["an unknown typestr", { typestr: "<V2" }, "UNSUPPORTED_DTYPE"],
    ["an unknown version", { version: 9 }, "INVALID_ARRAY"],
    ["a stream that doesn't exist", { stream: 0xdead_beefn }, "CUDA_ERROR"],
  ])("%s", async (_, changes, code) => {
    await expect(encode(changes)).rejects.toMatchObject({ code });
    expect(await held(peers.sender)).toEqual(nothing);
  });

  test("one that was disposed of", async () => {
    await expect(
      peers.sender.run(async ({ cuda, transport }) => {
        const array = await cuda.DeviceArray.fromHost(new Float64Array(8));
        array.dispose();
        await transport.encode([array], { compression: "none" });
      }),
    ).rejects.toMatchObject({ code: "DISPOSED" });
    expect(await held(peers.sender)).toEqual(nothing);
  });
});

describe("an array that its owner disposes of while it is exported", () => {
  test("stays until the message is released", () =>
    withPeers({}, async (sender, receiver, { cuda }) => {
      const message = await send(sender, [[1, 2, 3]]);
      await sender.run(async ({ cuda: { DeviceMemory, openDriver }, kept }) => {
        for (const array of kept.arrays as DeviceArray[]) array.dispose();
        await DeviceMemory.of((await openDriver()).device()).trim();
      });
      expect(cuda.trace.filter({ function: "cuMemFree" }).calls).toEqual([]);
      expect((await receive(receiver, message)).values).toEqual([[1, 2, 3]]);
      await release(sender);
    }));
});

describe("without memory left", () => {
  test("what is kept for reuse is given back before an error says so", () =>
    onMachine({ memory: "64MiB" }, async ({ start }) => {
      const peer = await start();
      const result = await peer.run(async ({ cuda: { DeviceArray } }) => {
        // Kept for reuse, in sizes that don't fit the next.
        const first = await Promise.all([10, 12, 14].map((size) => DeviceArray.empty([size * 2 ** 20], "uint8")));
        for (const array of first) array.dispose();
        const large = await DeviceArray.empty([56 * 2 ** 20], "uint8");
        const failure = await DeviceArray.empty([32 * 2 ** 20], "uint8").then(
          () => undefined,
          ({ code, hint }: { code: string; hint?: string }) => ({ code, hint }),
        );
        large.dispose();
        const after = await DeviceArray.empty([32 * 2 ** 20], "uint8");
        after.dispose();
        return failure;
      });
      expect(result).toEqual({ code: "OUT_OF_DEVICE_MEMORY", hint: expect.stringContaining("Dispose") });
      expect(await held(peer)).toEqual(nothing);
    }));

  test("a message isn't half decoded", () =>
    onMachine({ memory: "64MiB" }, async ({ start }) => {
      const [sender, receiver] = await Promise.all([start(), start()]);
      const sent: Sent = await sender.run(async ({ cuda: { DeviceArray }, kept, transport }) => {
        const arrays = await Promise.all([1, 2, 3].map(() => DeviceArray.empty([12 * 2 ** 20], "uint8")));
        const message = await transport.encode(arrays, { compression: "none" });
        Object.assign(kept, { arrays, message });
        return { arrays: message.arrays.map((array) => ({ ...array, path: "x" })), headers: {} };
      });
      await expect(decode(receiver, sent.arrays)).rejects.toMatchObject({ code: "OUT_OF_DEVICE_MEMORY" });
      expect(await held(receiver)).toEqual(nothing);
      await release(sender);
    }));
});

describe("an aborted message", () => {
  const peers = sharedPeers({ delay: "20ms" });

  test("leaves nothing behind, whenever it is aborted", async () => {
    const { sender, receiver } = peers;
    for (let microseconds = 0; microseconds <= 4000; microseconds += 500) {
      const outcome = await sender.run(async ({ cuda, core, transport }, wait) => {
        const array = await cuda.DeviceArray.fromHost(new Float64Array(1000));
        const controller = new AbortController();
        const strided = { cudaArrayInterface: { ...array.cudaArrayInterface, shape: [500], strides: [16] } };
        const encoding = transport.encode([array, strided], { compression: "none", signal: controller.signal });
        const until = performance.now() + wait / 1000;
        while (performance.now() < until) await new Promise(setImmediate);
        controller.abort(new core.TesseractError("ABORTED", "enough"));
        const result = await encoding.then(
          async ({ lease }) => {
            await lease?.release();
            return "encoded";
          },
          ({ code }: { code: string }) => code,
        );
        array.dispose();
        return result;
      }, microseconds);
      expect(["ABORTED", "encoded"]).toContain(outcome);
    }
    expect(await held(sender)).toEqual(nothing);

    const message = await send(sender, [[1], [2]]);
    for (let microseconds = 0; microseconds <= 4000; microseconds += 500) {
      const outcome = await receiver.run(
        async ({ core, transport }, encoded, wait) => {
          const controller = new AbortController();
          const decoding = transport.decode(encoded, { signal: controller.signal });
          const until = performance.now() + wait / 1000;
          while (performance.now() < until) await new Promise(setImmediate);
          controller.abort(new core.TesseractError("ABORTED", "enough"));
          return decoding.then(
            (arrays) => {
              for (const array of arrays as DeviceArray[]) array.dispose();
              return "decoded";
            },
            ({ code }: { code: string }) => code,
          );
        },
        message.arrays,
        microseconds,
      );
      expect(["ABORTED", "decoded"]).toContain(outcome);
    }
    expect(await held(receiver)).toEqual(nothing);
    await release(sender);
  });
});

describe("the check", () => {
  const peers = sharedPeers();

  test("carries bytes both ways, and leaves nothing behind", async () => {
    const { sender, receiver } = peers;
    const array = await sender.run(async ({ kept, transport }) => {
      const message = await transport.encodeCheck(
        Uint8Array.from({ length: 256 }, (_, index) => index),
        {},
      );
      kept.check = message.lease;
      return { ...(message.arrays[0] as ReceivedArray), path: "array" };
    });
    const bytes = await receiver.run(({ transport }, encoded) => transport.decodeCheck(encoded, {}), array);
    expect([...bytes]).toEqual(Array.from({ length: 256 }, (_, index) => index));
    await sender.run(({ kept }) => (kept.check as { release(): Promise<void> }).release());
    expect([await held(sender), await held(receiver)]).toEqual([nothing, nothing]);
  });

  test("refuses what isn't a check's", async () => {
    const message = await send(peers.sender, [Array.from({ length: 10_000 }, () => 0)]);
    await expect(
      peers.receiver.run(
        ({ transport }, encoded) => transport.decodeCheck(encoded, {}),
        message.arrays[0] as ReceivedArray,
      ),
    ).rejects.toMatchObject({ code: "DECODE_FAILED", message: expect.stringContaining("80000 bytes") });
    await release(peers.sender);
  });
});
