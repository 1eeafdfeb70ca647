import { describe, expect, test } from "vitest";
import { hostArray } from "../../src/arrays/host-array.js";
import { decodeMessage } from "../../src/message/decode-message.js";
import type { ReceivedArray } from "../../src/transport.js";
import { failureOf, tesseractError } from "../support.js";
import { numberedDevice, numberedHost } from "./transports.js";

const { signal } = new AbortController();
const array = hostArray(new Float32Array([1, 2, 3]));
const encoded = (changes: object = {}): Record<string, unknown> => ({
  object_type: "array",
  shape: [3],
  dtype: "float32",
  data: { buffer: 0, encoding: "numbered" },
  ...changes,
});
const holding = (...arrays: (typeof array)[]) => {
  const host = numberedHost();
  host.sent.push(...arrays);
  return host;
};

describe("an answer", () => {
  test("has its arrays where they stood, and all else as it was", async () => {
    const other = hostArray(new Float32Array([7]));
    const host = holding(array, other);
    const tree = {
      y: encoded(),
      stats: [{ norm: encoded({ shape: [1], data: { buffer: 1, encoding: "numbered" } }), name: "x" }, null, 3],
      "params.{a}": encoded(),
      "": encoded(),
    };
    expect(await decodeMessage(tree, [host], { signal })).toEqual({
      y: array,
      stats: [{ norm: other, name: "x" }, null, 3],
      "params.{a}": array,
      "": array,
    });
    expect(host.contexts).toEqual([{ signal }]);
  });

  test("may be one array, or have none", async () => {
    expect(await decodeMessage(encoded(), [holding(array)], { signal })).toBe(array);
    for (const tree of [null, 3, "x", [], {}, { a: [{}] }, { object_type: "list" }]) {
      expect(await decodeMessage(structuredClone(tree), [], { signal })).toEqual(tree);
    }
  });

  test("goes to the transports by the arrays' encodings, each with all of its arrays at once", async () => {
    const host = holding(array);
    const device = numberedDevice();
    const onDevice = { cudaArrayInterface: { shape: [3], typestr: "<f4", data: [0n, false], version: 3 } } as const;
    device.sent.push(onDevice);
    const gpu = encoded({ data: { buffer: 0, encoding: "numbered_gpu" } });
    const tree = { a: encoded(), b: gpu, c: [encoded(), structuredClone(gpu)] };
    expect(await decodeMessage(tree, [device, host], { signal })).toEqual({
      a: array,
      b: onDevice,
      c: [array, onDevice],
    });
    expect([host.contexts.length, device.contexts.length]).toEqual([1, 1]);
  });

  test("may use an alias of a host transport", async () => {
    const old = encoded({ data: { buffer: 0, encoding: "old" } });
    expect(await decodeMessage([old], [{ ...holding(array), aliases: ["older", "old"] }], { signal })).toEqual([array]);
  });

  test("tells its transports where each array stands, and nothing that isn't there", async () => {
    const got: ReceivedArray[] = [];
    const decode = async (received: readonly ReceivedArray[]) => {
      got.push(...received);
      return received.map(() => array);
    };
    const data = { buffer: 0, encoding: "numbered", compression: null };
    await decodeMessage({ a: [[encoded({ data })]] }, [{ ...numberedHost(), decode }], { signal });
    await decodeMessage({ b: encoded({ data: { ...data, compression: "lz4" } }) }, [{ ...numberedHost(), decode }], {
      signal,
    });
    expect(got).toStrictEqual([
      { ...encoded(), path: "a.[0].[0]" },
      { ...encoded({ data: { ...data, compression: "lz4" } }), path: "b" },
    ]);
  });
});

describe("an array of an answer is refused with its place", () => {
  const refusal = (changes: object) =>
    failureOf(() => decodeMessage({ y: [encoded(changes)] }, [holding(array)], { signal }));

  test.each<[string, unknown]>([
    ["bfloat16", "bfloat16"],
    ["null", null],
    ["a member of Object", "constructor"],
    ["a list", ["float32"]],
    ["nothing", undefined],
    ["a bigint", 2n ** 64n],
    ["an object", { toString: 1, big: 2n ** 64n }],
  ])("where its dtype is %s", async (_, dtype) => {
    expect(await refusal({ dtype })).toEqual(tesseractError("UNSUPPORTED_DTYPE", "y.[0]: "));
  });

  test.each<[string, unknown]>([
    ["negative", [-1]],
    ["fractional", [1.5]],
    ["not finite", [Number.NaN]],
    ["a bigint", [2n ** 60n]],
    ["null", [null]],
    ["a string", ["3"]],
    ["an object", [{ toString: 1 }]],
    ["beyond all counting", [2 ** 30, 2 ** 30]],
    ["beyond all counting, and more", new Array(100).fill(2 ** 53 - 1)],
  ])("where a size of its shape is %s", async (_, shape) => {
    expect(await refusal({ shape })).toEqual(tesseractError("DECODE_FAILED", "y.[0]: "));
  });

  test.each<[string, unknown]>([
    ["a number", 3],
    ["null", null],
    ["a string", "[3]"],
    ["an object", { length: 0, constructor: { name: { toString: 1 } } }],
    ["missing", undefined],
  ])("where its shape is %s", async (_, shape) => {
    expect(await refusal({ shape })).toEqual(tesseractError("DECODE_FAILED", "y.[0]: "));
  });

  test.each<[string, unknown]>([
    ["missing", undefined],
    ["null", null],
    ["a list", [1, 2, 3]],
    ["a string", "AAAA"],
    ["without an encoding", { buffer: [1, 2, 3] }],
    ["without a buffer", { encoding: "numbered" }],
    ["of an encoding that is no name", { encoding: 1, buffer: 0 }],
  ])("where its data is %s", async (_, data) => {
    expect(await refusal({ data })).toEqual(tesseractError("DECODE_FAILED", "y.[0]: ", "without its data"));
  });

  test.each(["zstd", "none", 1, true, ["lz4"], 2n ** 64n, { toString: 1 }])(
    "where its compression is %o",
    async (compression) => {
      const data = { encoding: "numbered", buffer: 0, compression };
      expect(await refusal({ data })).toEqual(tesseractError("DECODE_FAILED", "y.[0]: ", "compression"));
    },
  );

  test.each(["cuda_ipc", "toString", "", "json+numbered"])("where no transport carries %j", async (encoding) => {
    const error = await refusal({ data: { encoding, buffer: 0 } });
    expect(error).toEqual(tesseractError("TRANSPORT_MISSING", "y.[0]: ", JSON.stringify(encoding)));
    expect(error.hint).toContain("numbered");
  });

  test("where its transport returns nothing for it", async () => {
    expect(await failureOf(() => decodeMessage({ y: [encoded(), encoded()] }, [holding()], { signal }))).toEqual(
      tesseractError("DECODE_FAILED", "y.[0]: ", '"numbered"'),
    );
  });

  test("before any transport is asked, whichever it is", async () => {
    const host = holding(array);
    await failureOf(() => decodeMessage([encoded(), encoded({ dtype: "bfloat16" })], [host], { signal }));
    expect(host.contexts).toEqual([]);
  });
});

test("what a transport throws is passed on", async () => {
  const thrown = new Error("no device");
  const host = { ...numberedHost(), decode: () => Promise.reject(thrown) };
  await expect(decodeMessage({ y: encoded() }, [host], { signal })).rejects.toBe(thrown);
});
