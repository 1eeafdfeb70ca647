/** A transport that a user wrote carries arrays both ways, as this project's own do. */
import {
  bytesOf,
  type EncodedArray,
  fromUrl,
  type HostTransport,
  itemSize,
  makeHostArray,
  TesseractError,
  viewAs,
} from "@tesseract-ts/core";
import { host } from "@tesseract-ts/transport-host";
import { describe, expect, test } from "vitest";
import { apply, atTheEnd, serving, tesseractFile } from "./support.js";
import definition from "./tesseracts/work.js";

/** Arrays as hexadecimal digits. `carried` counts them. */
function hex(carried = { sent: 0, received: 0 }): HostTransport {
  return {
    name: "hex",
    carries: "host",
    reach: "network",
    probe: async () => ({ ok: true }),
    async encode(arrays) {
      carried.sent += arrays.length;
      return {
        arrays: arrays.map((array): EncodedArray => {
          const buffer = { digits: Buffer.from(bytesOf(array)).toString("hex") };
          return { object_type: "array", shape: array.shape, dtype: array.dtype, data: { encoding: "hex", buffer } };
        }),
      };
    },
    async decode(encoded) {
      carried.received += encoded.length;
      return encoded.map(({ dtype, shape, data: { buffer }, path }) => {
        const { digits } = buffer as { readonly digits: string };
        const bytes = Uint8Array.from(Buffer.from(digits, "hex"));
        if (bytes.length % itemSize(dtype) !== 0)
          throw new TesseractError("DECODE_FAILED", `${path}: digits are missing`);
        return makeHostArray(dtype, shape, viewAs(dtype, bytes.buffer));
      });
    },
  };
}

describe.each([
  ["on the event loop", definition],
  ["in threads", tesseractFile("threaded")],
] as const)("a transport of a user's own, with endpoints %s", (_where, tesseract) => {
  test("is negotiated, and carries inputs and outputs of any size", async () => {
    const [there, here] = [
      { sent: 0, received: 0 },
      { sent: 0, received: 0 },
    ];
    const served = await serving(tesseract, { transports: [hex(there), host()], threads: 1 });
    const tess = await fromUrl(served.url, { transports: [hex(here), host()] });
    atTheEnd(() => tess.close());
    expect(tess.serverCapabilities?.outputFormats).toContain("json+hex");
    for (const size of [0, 3, 100_000]) {
      const x = Float64Array.from({ length: size }, (_, index) => index / 3);
      expect(((await tess.apply({ x })) as unknown as { y: { data: Float64Array } }).y.data).toEqual(x);
    }
    expect([here, there]).toEqual([
      { sent: 3, received: 3 },
      { sent: 3, received: 3 },
    ]);
  });

  test("has its faults told at their place, and isn't known to a server without it", async () => {
    const x = { shape: [1], dtype: "float64", data: { encoding: "hex", buffer: { digits: "00" } } };
    const served = await serving(tesseract, { transports: [hex(), host()], threads: 1 });
    expect((await apply(served, { x })).json).toMatchObject({
      detail: [{ type: "array_decode_error", loc: ["body", "inputs", "x"] }],
    });
    const without = await serving(tesseract, { threads: 1 });
    expect((await apply(without, { x })).json).toMatchObject({
      detail: [{ type: "array_non_numeric", loc: ["body", "inputs", "x"] }],
    });
  });
});
