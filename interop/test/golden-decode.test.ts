// What the reference wrote, read by the client. No Python needed.

import { bytesOf, type DType, type HostArray, hostArray, viewAs } from "@tesseract-ts/core";
import { beforeAll, describe, expect, test } from "vitest";
import { asJsonAnswers, written } from "../src/array-values.js";
import { connect } from "../src/connect.js";
import type { Identity } from "../src/fixture-types.js";
import { type GoldenVector, goldenBinrefPath, goldenEncodings, goldenVectors } from "../src/golden.js";
import { startReplay } from "../src/replay.js";

const contentTypes = {
  json: "application/json",
  base64: "application/json+base64",
  "base64-lz4": "application/json+base64",
  binref: "application/json+binref",
  "binref-lz4": "application/json+binref",
};

const trueArray = ({ dtype, shape, bytes }: GoldenVector): HostArray =>
  hostArray(viewAs(dtype as DType, bytes.slice().buffer), { dtype: dtype as DType, shape });

describe.each(goldenEncodings)("the golden vectors in %s", (encoding) => {
  const vectors = goldenVectors(encoding);
  const body = `{"arrays":[${vectors.map(({ encodedText }) => encodedText).join(", ")}],"named":{}}`;
  const headers = { "content-type": contentTypes[encoding] };
  const address = (url: string) => ({ url, inputPath: goldenBinrefPath, outputPath: goldenBinrefPath });

  /** Every vector, from one answer. */
  async function decoded(piece?: number): Promise<readonly HostArray[]> {
    await using replay = await startReplay(() => ({ headers, body, ...(piece === undefined ? {} : { piece }) }));
    await using client = await connect<Identity>(address(replay.url));
    return (await client.apply({})).arrays;
  }

  let arrays: readonly HostArray[] = [];
  beforeAll(async () => {
    arrays = await decoded();
  });

  test.each(vectors.map(({ name }, index) => ({ name, index })))("$name is its bytes", ({ index }) => {
    const vector = vectors[index] as GoldenVector;
    const expected = encoding === "json" ? asJsonAnswers(trueArray(vector)) : trueArray(vector);
    const array = arrays[index] as HostArray;
    expect(array.dtype).toBe(vector.dtype);
    expect(array.shape).toEqual(vector.shape);
    expect(Buffer.compare(bytesOf(array), bytesOf(expected)), written(array).slice(0, 500)).toBe(0);
  });

  test.each([7, 257])("are the same when the answer comes in pieces of %i bytes", async (piece) => {
    expect((await decoded(piece)).map(written)).toEqual(arrays.map(written));
  });
});
