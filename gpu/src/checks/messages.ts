/** Checks of two processes of this project, and the messages between them. */
import { dtypes, hostArray } from "@tesseract-ts/core";
import { DeviceArray } from "@tesseract-ts/transport-cuda-ipc";
import { inMemory, valuesOf } from "./arrays.js";
import { type Check, expectEqual } from "./check.js";
import { plain } from "./exchange.js";

const inKind =
  (kind: "virtual" | "pool"): Check =>
  async ({ exchange }) => {
    const { send } = await bound(exchange);
    const values = valuesOf("float64", [100]);
    const read = await inMemory(kind, values, (array) => send([array]));
    expectEqual(read, [plain(values)], `an array in ${kind} memory`);
    return "copied on the device first";
  };

async function bound(exchange: Parameters<Check>[0]["exchange"]) {
  const between = await exchange();
  return { send: between.send.bind(between), between };
}

export const messageChecks: Readonly<Record<string, Check>> = {
  "every dtype, both ways": async ({ exchange }) => {
    const { between } = await bound(exchange);
    const values = dtypes.map((dtype, index) => valuesOf(dtype, [[2, 3], [], [7]][index % 3] ?? []));
    const arrays = await Promise.all(values.map((each) => DeviceArray.fromHost(each)));
    expectEqual(await between.send(arrays), values.map(plain), "sent");
    for (const array of arrays) array.dispose();
    expectEqual(await between.fetch(values), values.map(plain), "received");
    return `${dtypes.length} dtypes in one message`;
  },

  "offsets into an allocation": async ({ exchange }) => {
    const { send } = await bound(exchange);
    const whole = await DeviceArray.fromHost(Float64Array.from({ length: 1000 }, (_, index) => index));
    const part = whole.slice(123, 130);
    const values = hostArray(Float64Array.from({ length: 7 }, (_, index) => 123 + index));
    expectEqual(await send([part]), [plain(values)], "elements 123 to 129");
    part.dispose();
    whole.dispose();
    return "elements 123 to 129 of 1000";
  },

  "empty arrays and scalars": async ({ exchange }) => {
    const { send } = await bound(exchange);
    const values = [valuesOf("float32", [0, 3]), valuesOf("float32", [])];
    const arrays = await Promise.all(values.map((each) => DeviceArray.fromHost(each)));
    expectEqual(await send(arrays), values.map(plain), "[0, 3] and []");
    for (const array of arrays) array.dispose();
    return "[0, 3] and []";
  },

  "strided arrays": async ({ exchange }) => {
    const { send } = await bound(exchange);
    const matrix = await DeviceArray.fromHost(
      Float64Array.from({ length: 6 }, (_, index) => index),
      { shape: [2, 3] },
    );
    const { typestr, data } = matrix.cudaArrayInterface;
    const transposed = { cudaArrayInterface: { shape: [3, 2], strides: [8, 24], typestr, data, version: 3 as const } };
    const expected = hostArray(Float64Array.from([0, 3, 1, 4, 2, 5]), { shape: [3, 2] });
    expectEqual(await send([transposed]), [plain(expected)], "a transposed matrix");
    matrix.dispose();
    return "a transposed matrix, made contiguous on the device";
  },

  "virtual memory, which has no handle": inKind("virtual"),
  "pool memory, which has no handle": inKind("pool"),

  "100 arrays in one message": async ({ exchange }) => {
    const { send } = await bound(exchange);
    const values = Array.from({ length: 100 }, (_, index) => hostArray(Float64Array.from([index, index + 0.5])));
    const arrays = await Promise.all(values.map((each) => DeviceArray.fromHost(each)));
    expectEqual(await send(arrays), values.map(plain), "100 arrays");
    for (const array of arrays) array.dispose();
    return "100 arrays";
  },

  "lasting mappings: later messages open none": async ({ exchange }) => {
    const { between } = await bound(exchange);
    const array = await DeviceArray.fromHost(new Float64Array(1000).fill(1));
    await between.send([array]);
    const before = await between.peer.call("openings");
    for (let round = 2; round <= 4; round++) {
      const values = hostArray(new Float64Array(1000).fill(1));
      expectEqual(await between.send([array]), [plain(values)], `message ${round}`);
    }
    expectEqual((await between.peer.call("openings")) - before, 0, "openings by messages 2 to 4");
    array.dispose();
    return `${before} by the messages up to then, 0 by three more`;
  },

  "the check, both ways": async ({ exchange }) => {
    const { between } = await bound(exchange);
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => (index * 89 + 3) % 256);
    const { arrays, lease } = await between.transport.encodeCheck(bytes, {});
    try {
      const [array] = arrays;
      if (array === undefined) throw new Error("The check has no array");
      const answer = await between.peer.call("check", { ...array, path: "array" });
      expectEqual(answer.bytes, bytes, "what the other process read");
      const back = await between.transport.decodeCheck(answer.array, {});
      expectEqual(back, bytes.slice().reverse(), "what came back");
    } finally {
      await lease?.release();
      await between.peer.call("endCheck");
    }
    return "256 bytes, and back reversed";
  },

  "nothing is left in the other process": async ({ exchange }) => {
    const { between } = await bound(exchange);
    expectEqual(await between.leave(), { allocations: 0, mappings: 0, pending: 0 }, "held");
    return "no allocation, no mapping";
  },
};
