// Arrays of every dtype and shape through `identity`, there and back, compared bit by bit.

import {
  bytesOf,
  type Compression,
  type DType,
  dtypeKind,
  dtypes,
  elementCount,
  entriesPerElement,
  type HostArray,
  hostArray,
  TesseractError,
} from "@tesseract-ts/core";
import { base64, binref, json } from "@tesseract-ts/transport-host";
import { describe, expect, test } from "vitest";
import { asJsonAnswers, finiteValues, scatteredArray, specialValues, written } from "../src/array-values.js";
import { connect, sharedClient } from "../src/connect.js";
import type { Identity } from "../src/fixture-types.js";
import { describeWithRuntime, sharedRuntimes } from "../src/with-runtime.js";

const ranks = [[], [5], [2, 3], [1, 2, 1, 3, 2]];
const empties = [[0], [0, 3], [3, 0], [2, 0, 4]];

const formats = ["json", "json+base64", "json+binref"] as const;
const compressions: readonly Compression[] = ["none", "lz4"];
const encodings = formats.flatMap((outputFormat) =>
  compressions.map((compression) => ({ outputFormat, compression, name: `${outputFormat}, ${compression}` })),
);

const { identity, fixed } = sharedRuntimes({ identity: { fixture: "identity" }, fixed: { fixture: "arrays" } });

describeWithRuntime("1.15", "arrays through a Tesseract", () => {
  const client = sharedClient<Identity>(identity);

  describe.each(encodings)("as $name", ({ outputFormat, compression }) => {
    const roundTrip = async (arrays: readonly HostArray[]): Promise<HostArray[]> =>
      (await client().withEncoding({ outputFormat, compression }).apply({ arrays })).arrays;
    const carried = (array: HostArray): HostArray => (outputFormat === "json" ? asJsonAnswers(array) : array);
    for (const dtype of dtypes) {
      const losses = outputFormat === "json" ? lossesInJson(dtype) : "";

      test(`${dtype} of ranks 0, 1, 2 and 5 comes back bit for bit${losses}`, async () => {
        const sent = ranks.map((shape) => scatteredArray(dtype, shape));
        expect((await roundTrip(sent)).map(written)).toEqual(sent.map(carried).map(written));
      });

      test(`${dtype} at its edges comes back bit for bit${losses}`, async () => {
        const sent = specialValues(dtype);
        const scalars = Array.from({ length: elementCount(sent.shape) }, (_, index) => scalarOf(sent, index));
        const received = await roundTrip([sent, ...scalars.slice(0, 16)]);
        expect(received.map(written)).toEqual([sent, ...scalars.slice(0, 16)].map(carried).map(written));
      });

      test(`${dtype} without elements keeps its shape`, async () => {
        const sent = empties.map((shape) => scatteredArray(dtype, shape));
        expect((await roundTrip(sent)).map(written)).toEqual(sent.map(written));
      });
    }

    test("an array larger than any chunk of text, frame block or read comes back", async () => {
      const sent = carried(scatteredArray("float64", [3, 50_001]));
      const repeating = hostArray(Uint8Array.from({ length: 300_000 }, (_, i) => i % 251));
      const [first, second] = await roundTrip([sent, repeating]);
      expect(first?.shape).toEqual(sent.shape);
      expect(sameBytes(first, sent)).toBe(true);
      expect(sameBytes(second, repeating)).toBe(true);
    });

    test("several arrays keep their order and their names", async () => {
      const arrays = Array.from({ length: 20 }, (_, i) => hostArray(Int32Array.of(i, i + 1)));
      const named = { b: hostArray([1, 2]), a: hostArray([3]), "": hostArray(4) };
      const answer = await client().withEncoding({ outputFormat, compression }).apply({ arrays, named });
      expect(answer.arrays.map(written)).toEqual(arrays.map(written));
      expect(Object.entries(answer.named).map(([key, array]) => [key, written(array)])).toEqual(
        Object.entries(named).map(([key, array]) => [key, written(array)]),
      );
    });
  });

  test("numbers, typed arrays and nested lists are told apart", async () => {
    const { arrays } = await client().apply({ arrays: [[1, 2], [[3]], 4, new Int8Array([5]), [true], [0.5]] });
    expect(arrays.map(({ dtype, shape }) => `${dtype}[${shape}]`)).toEqual([
      "int64[2]",
      "int64[1,1]",
      "int64[]",
      "int8[1]",
      "bool[1]",
      "float64[1]",
    ]);
  });

  // Sent by one transport and received by another, so that no two faults cancel each other out.
  const transports = () => {
    const { inputPath, outputPath } = identity();
    return { json: json(), base64: base64(), binref: binref({ inputPath, outputPath }) };
  };
  const names = ["json", "base64", "binref"] as const;
  const crossings = names.flatMap((sends) =>
    names.filter((receives) => receives !== sends).map((receives) => ({ sends, receives })),
  );

  test.each(crossings)("what is sent as $sends is answered the same as $receives", async ({ sends, receives }) => {
    const { encode } = transports()[sends];
    const receiver = transports()[receives];
    await using crossing = await connect<Identity>(identity(), {
      transports: [
        { name: receiver.name, carries: "host", reach: "host", probe: receiver.probe, encode, decode: receiver.decode },
      ],
    });
    const sent = dtypes.flatMap((dtype) => [
      ...ranks.map((shape) => finiteValues(scatteredArray(dtype, shape))),
      finiteValues(specialValues(dtype)),
      scatteredArray(dtype, [0, 3]),
    ]);
    const { arrays } = await crossing.apply({ arrays: sent });
    const carried = (array: HostArray): HostArray => (receives === "json" ? asJsonAnswers(array) : array);
    expect(arrays.map(written)).toEqual(sent.map(carried).map(written));
  });
});

/** What the reference itself loses when it answers in `json`. */
function lossesInJson(dtype: DType): string {
  if (dtypeKind(dtype) === "float") return ", but infinities as NaN, and NaN without its payload";
  if (dtypeKind(dtype) === "complex") return ", but a zero real part without its sign, and NaN without its payload";
  return "";
}

function scalarOf({ dtype, data }: HostArray, index: number): HostArray {
  const entries = entriesPerElement(dtype);
  return hostArray(data.slice(index * entries, (index + 1) * entries), { dtype, shape: [] });
}

const sameBytes = (found: HostArray | undefined, expected: HostArray): boolean =>
  found?.dtype === expected.dtype && Buffer.compare(bytesOf(found), bytesOf(expected)) === 0;

interface Fields {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly outputs: Readonly<Record<string, HostArray | undefined>>;
}

describeWithRuntime("1.15", "a schema that fixes dtypes and sizes", () => {
  const client = sharedClient<Fields>(fixed);

  const answerOf = async (field: string, value: unknown, outputFormat = "json+base64"): Promise<string | undefined> => {
    const array = (
      await client()
        .withEncoding({ outputFormat })
        .apply({ [field]: value })
    )[field];
    return array === undefined ? undefined : written(array);
  };
  /** The type of the one fault that the server finds. */
  const faultOf = async (field: string, value: unknown): Promise<string | undefined> => {
    const error: unknown = await client()
      .apply({ [field]: value })
      .catch((reason: unknown) => reason);
    if (!(error instanceof TesseractError) || error.code !== "VALIDATION_FAILED") throw error;
    expect(error.issues.map(({ path }) => path)).toEqual([["body", "inputs", field]]);
    return error.issues[0]?.type;
  };

  describe.each(formats)("in %s", (outputFormat) => {
    test("takes each dtype as it is", async () => {
      const sent: Record<string, HostArray> = Object.fromEntries(
        dtypes.map((dtype) => [dtype, finiteValues(specialValues(dtype))]),
      );
      const answer = await client().withEncoding({ outputFormat }).apply(sent);
      const expected = (array: HostArray): HostArray => (outputFormat === "json" ? asJsonAnswers(array) : array);
      for (const dtype of dtypes) {
        expect(written(answer[dtype] as HostArray)).toBe(written(expected(sent[dtype] as HostArray)));
      }
      expect(Object.keys(answer)).toHaveLength(dtypes.length);
    });

    test.each<[from: DType, to: DType]>([
      ["float64", "float32"],
      ["float32", "float16"],
      ["float16", "float64"],
      ["int64", "int8"],
      ["int8", "uint64"],
      ["uint64", "int16"],
      ["complex128", "complex64"],
      ["int16", "float64"],
      ["float32", "complex128"],
      ["bool", "uint8"],
    ])("casts %s to %s where no value is lost", async (from, to) => {
      const values = (dtype: DType): HostArray =>
        dtype.startsWith("complex")
          ? hostArray(dtype === "complex64" ? Float32Array.of(0, 0, 1, 0) : Float64Array.of(0, 0, 1, 0), { dtype })
          : hostArray(dtype === "bool" ? [false, true] : [0, 1], { dtype });
      expect(await answerOf(to, values(from), outputFormat)).toBe(written(values(to)));
    });

    test("broadcasts sizes of 1", async () => {
      const column = hostArray([[1], [2]]);
      expect(await answerOf("matrix", column, outputFormat)).toBe(
        written(
          hostArray([
            [1, 1, 1],
            [2, 2, 2],
          ]),
        ),
      );
      const row = hostArray([[1, 2, 3]]);
      expect(await answerOf("matrix", row, outputFormat)).toBe(
        written(
          hostArray([
            [1, 2, 3],
            [1, 2, 3],
          ]),
        ),
      );
    });
  });

  test("takes plain numbers and nested lists for arrays", async () => {
    expect(await answerOf("scalar", 1.5)).toBe(written(hostArray(1.5)));
    expect(await answerOf("vector", [1, -2.5])).toBe(written(hostArray([1, -2.5])));
    expect(
      await answerOf("matrix", [
        [1, 2, 3],
        [4, 5, 6],
      ]),
    ).toBe(
      written(
        hostArray([
          [1, 2, 3],
          [4, 5, 6],
        ]),
      ),
    );
    expect(await answerOf("columns", [[1, 2, 2n ** 62n]])).toBe(written(hostArray([[1n, 2n, 2n ** 62n]])));
    expect(await answerOf("uint64", [2n ** 64n - 1n])).toBe(written(hostArray([2n ** 64n - 1n], { dtype: "uint64" })));
    expect(await answerOf("bool", [true, false])).toBe(written(hostArray([true, false])));
    expect(await answerOf("rank5", [[[[[1], [2]]]]])).toBe(written(hostArray([[[[[1], [2]]]]], { dtype: "float32" })));
  });

  test("takes arrays without elements where a size is free", async () => {
    expect(await answerOf("vector", new Float64Array(0))).toBe("float64[0]");
    expect(await answerOf("columns", hostArray(new BigInt64Array(0), { shape: [0, 3] }))).toBe("int64[0, 3]");
  });

  test("leaves out of the answer what wasn't sent", async () => {
    expect(Object.keys(await client().apply({ scalar: 1 }))).toEqual(["scalar"]);
    expect(await client().apply({})).toEqual({});
  });

  test.each<[field: string, value: unknown, fault: string]>([
    ["int8", hostArray([128n]), "array_value_out_of_range"],
    ["uint8", hostArray(Int8Array.of(-1)), "array_value_out_of_range"],
    ["uint64", [-1], "array_value_out_of_range"],
    ["float16", hostArray([1e5]), "array_value_out_of_range"],
    ["complex64", hostArray(Float64Array.of(1e300, 0), { dtype: "complex128" }), "array_value_out_of_range"],
    ["int32", [1.5], "array_dtype_mismatch"],
    ["float64", ["1+2j"], "array_non_numeric"],
    ["int32", hostArray([1]), "array_non_numeric"],
    ["float64", specialValues("complex64"), "array_non_numeric"],
    ["bool", hostArray([1n]), "array_non_numeric"],
    ["vector", [[1]], "array_dimensionality_mismatch"],
    ["vector", 1, "array_dimensionality_mismatch"],
    [
      "matrix",
      [
        [1, 2],
        [3, 4],
      ],
      "array_shape_mismatch",
    ],
    [
      "matrix",
      hostArray([
        [1, 2],
        [3, 4],
      ]),
      "array_non_numeric",
    ],
    ["matrix", hostArray([], { shape: [0, 3] }), "array_non_numeric"],
  ])("has the server refuse what %s can't take: %#", async (field, value, fault) => {
    expect(await faultOf(field, value)).toBe(fault);
  });
});
