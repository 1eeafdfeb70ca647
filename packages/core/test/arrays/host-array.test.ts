import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import {
  type DType,
  dtypeKind,
  dtypeOfTypedArray,
  dtypes,
  entriesPerElement,
  isDType,
  itemSize,
  type TypedArray,
  viewAs,
} from "../../src/arrays/dtype.js";
import {
  bytesOf,
  checkDType,
  checkHostArray,
  checkShape,
  elementCount,
  type HostArray,
  hostArray,
  isHostArray,
  makeHostArray,
  type NestedList,
  toNestedList,
} from "../../src/arrays/host-array.js";

const error = (code: string) => expect.objectContaining({ name: "TesseractError", code });
const invalidArray = error("INVALID_ARRAY");
const unsupported = error("UNSUPPORTED_DTYPE");

const typedArrayOf = {
  float16: Uint16Array,
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  bool: Uint8Array,
  complex64: Float32Array,
  complex128: Float64Array,
} as const;

describe("a dtype", () => {
  test("is one of fourteen names", () => {
    expect([...dtypes].sort()).toEqual(Object.keys(typedArrayOf).sort());
    expect(dtypes.every(isDType)).toBe(true);
    for (const other of ["bfloat16", "Float32", "", "toString", "__proto__", 4, null, undefined, ["float32"]]) {
      expect(isDType(other)).toBe(false);
    }
  });

  test.each([...dtypes])("%s has the size that its name says, and a typed array of that size", (dtype) => {
    const bits = Number(/\d+$/.exec(dtype)?.[0] ?? 8);
    expect(itemSize(dtype) * 8).toBe(bits);
    const view = viewAs(dtype, new ArrayBuffer(32), 16, 1);
    expect(view).toBeInstanceOf(typedArrayOf[dtype]);
    expect(view).toHaveLength(entriesPerElement(dtype));
    expect(view.byteOffset).toBe(16);
    expect(view.byteLength).toBe(itemSize(dtype));
    expect(dtype.startsWith(dtypeKind(dtype))).toBe(true);
  });

  test("seen as a typed array takes the rest of the buffer, where no length is given", () => {
    expect(viewAs("complex64", new ArrayBuffer(32), 8)).toHaveLength(6);
    expect(viewAs("float64", new SharedArrayBuffer(32))).toHaveLength(4);
  });

  test.each([
    [new Float32Array(), "float32"],
    [new Float64Array(), "float64"],
    [new Int8Array(), "int8"],
    [new Int16Array(), "int16"],
    [new Int32Array(), "int32"],
    [new BigInt64Array(), "int64"],
    [new Uint8Array(), "uint8"],
    [new Uint8ClampedArray(), "uint8"],
    [Buffer.alloc(0), "uint8"],
    [new Uint16Array(), "uint16"],
    [new Uint32Array(), "uint32"],
    [new BigUint64Array(), "uint64"],
  ])("of %o is %s", (data, dtype) => {
    expect(dtypeOfTypedArray(data)).toBe(dtype);
  });

  test("is found for typed arrays of other realms", () => {
    expect(dtypeOfTypedArray(runInNewContext("new Float32Array(2)"))).toBe("float32");
  });

  test.each([[new DataView(new ArrayBuffer(8))], [new ArrayBuffer(8)], [[1]], [{}], [null], [undefined], [1]])(
    "isn't found for %o",
    (value) => {
      expect(dtypeOfTypedArray(value)).toBeUndefined();
    },
  );

  test("that isn't known is refused, with the known ones as a hint", () => {
    expect(() => checkDType("bfloat16")).toThrow(
      expect.objectContaining({ code: "UNSUPPORTED_DTYPE", hint: expect.stringContaining("float32") }),
    );
    expect(() => checkDType("float32")).not.toThrow();
    expect(() => checkDType(undefined)).toThrow(unsupported);
  });
});

describe("a shape", () => {
  test("has as many elements as the product of its sizes", () => {
    expect(elementCount([])).toBe(1);
    expect(elementCount([2, 3])).toBe(6);
    expect(elementCount([2, 0, 3])).toBe(0);
    expect(checkShape([2, 3], "float64")).toBe(6);
    expect(checkShape([], "float64")).toBe(1);
  });

  test.each([[[-1]], [[1.5]], [[Number.NaN]], [["2"]], [[null]], [[2n]], ["2"], [2], [null], [undefined], [{ 0: 2 }]])(
    "%o is refused",
    (shape) => {
      expect(() => checkShape(shape, "float32")).toThrow(invalidArray);
    },
  );

  test("whose bytes can't be counted is refused", () => {
    expect(() => checkShape([2 ** 26, 2 ** 26], "float64")).toThrow(invalidArray);
    expect(checkShape([2 ** 26, 2 ** 26], "int8")).toBe(2 ** 52);
    expect(() => checkShape([2 ** 53 - 1, 2 ** 53 - 1], "int8")).toThrow(invalidArray);
  });
});

describe("hostArray of a typed array", () => {
  test("keeps it, not a copy of it", () => {
    const data = new Float64Array(6);
    const array = hostArray(data, { shape: [2, 3] });
    expect(array).toEqual({ dtype: "float64", shape: [2, 3], data });
    expect(array.data).toBe(data);
  });

  test("is one-dimensional without a shape", () => {
    expect(hostArray(new Int32Array(3)).shape).toEqual([3]);
    expect(hostArray(new Float32Array(4), { dtype: "complex64" }).shape).toEqual([2]);
    expect(hostArray(new Float64Array(0)).shape).toEqual([0]);
  });

  test.each([...dtypes])("takes the class that keeps %s, and no other", (dtype) => {
    const expected = typedArrayOf[dtype];
    const others = [
      Float32Array,
      Float64Array,
      Int8Array,
      Int16Array,
      Int32Array,
      BigInt64Array,
      Uint8Array,
      Uint16Array,
    ];
    expect(hostArray(new expected(2), { dtype }).data).toBeInstanceOf(expected);
    for (const Other of others.filter((other) => other !== (expected as unknown))) {
      expect(() => hostArray(new Other(2), { dtype })).toThrow(invalidArray);
    }
  });

  test("turns a subclass or a clamped array into the plain class, over the same memory", () => {
    for (const data of [Buffer.from([1, 2]), new Uint8ClampedArray([1, 2])]) {
      const array = hostArray(data as Uint8Array);
      expect(array.dtype).toBe("uint8");
      expect(array.data.constructor).toBe(Uint8Array);
      expect(array.data.buffer).toBe(data.buffer);
      expect([...array.data]).toEqual([1, 2]);
    }
  });

  test("takes a Float16Array as float16 and keeps its bit patterns", (context) => {
    if (!("Float16Array" in globalThis)) return context.skip(`Node ${process.version} has no Float16Array`);
    const { Float16Array } = globalThis as unknown as { Float16Array: { of(...values: number[]): Uint16Array } };
    const data = Float16Array.of(1.5, -2);
    const array = hostArray(data);
    expect(array).toEqual({ dtype: "float16", shape: [2], data: new Uint16Array([0x3e00, 0xc000]) });
    expect(array.data.buffer).toBe(data.buffer);
    expect(toNestedList(array)).toEqual([1.5, -2]);
    expect(() => hostArray(data, { dtype: "uint16" })).toThrow(invalidArray);
    // As its entries would be taken for bit patterns, it isn't legal as the data itself.
    expect(() => checkHostArray({ dtype: "float16", shape: [2], data })).toThrow(invalidArray);
  });

  test("refuses a shape that has another number of elements", () => {
    expect(() => hostArray(new Float64Array(6), { shape: [2, 2] })).toThrow(invalidArray);
    expect(() => hostArray(new Float64Array(1), { shape: [0] })).toThrow(invalidArray);
    expect(() => hostArray(new Float32Array(3), { dtype: "complex64" })).toThrow(invalidArray);
  });

  test("refuses a DataView, and a dtype that isn't known", () => {
    const view = new DataView(new ArrayBuffer(8)) as unknown as TypedArray;
    expect(() => hostArray(view)).toThrow(invalidArray);
    expect(() => hostArray(view, { dtype: "uint8", shape: [8] })).toThrow(invalidArray);
    expect(() => hostArray(new Float32Array(1), { dtype: "bfloat16" as DType })).toThrow(unsupported);
  });
});

describe("hostArray of lists", () => {
  test("is as deep as they are, and float64 for numbers", () => {
    expect(
      hostArray([
        [1, 2, 3],
        [4, 5, 6],
      ]),
    ).toEqual({
      dtype: "float64",
      shape: [2, 3],
      data: new Float64Array([1, 2, 3, 4, 5, 6]),
    });
    expect(hostArray(Number.NaN)).toEqual({ dtype: "float64", shape: [], data: new Float64Array([Number.NaN]) });
    expect(hostArray([])).toEqual({ dtype: "float64", shape: [0], data: new Float64Array(0) });
    expect(hostArray([[], []]).shape).toEqual([2, 0]);
  });

  test("is bool for booleans, int64 for bigints, and needs a dtype for a mixture", () => {
    expect(hostArray([true, false])).toEqual({ dtype: "bool", shape: [2], data: new Uint8Array([1, 0]) });
    expect(hostArray([1n, -2n])).toEqual({ dtype: "int64", shape: [2], data: new BigInt64Array([1n, -2n]) });
    expect(() => hostArray([1, true, 2n])).toThrow(invalidArray);
    expect(hostArray([1, 2n], { dtype: "int64" }).data).toEqual(new BigInt64Array([1n, 2n]));
    expect(hostArray([1, 2n], { dtype: "float64" }).data).toEqual(new Float64Array([1, 2]));
  });

  test("takes a shape with as many elements", () => {
    expect(hostArray([1, 2, 3, 4], { shape: [2, 2] })).toMatchObject({ shape: [2, 2] });
    expect(hostArray([], { shape: [0, 3] })).toMatchObject({ shape: [0, 3] });
    expect(() => hostArray([1, 2, 3], { shape: [2, 2] })).toThrow(invalidArray);
  });

  test("converts to the dtype that is asked for", () => {
    expect(hostArray([1, -1], { dtype: "int64" }).data).toEqual(new BigInt64Array([1n, -1n]));
    expect(hostArray([2n ** 64n - 1n], { dtype: "uint64" }).data).toEqual(new BigUint64Array([2n ** 64n - 1n]));
    expect(hostArray([1.5, -2], { dtype: "float16" }).data).toEqual(new Uint16Array([0x3e00, 0xc000]));
    expect(hostArray([true, 3], { dtype: "uint8" }).data).toEqual(new Uint8Array([1, 3]));
    expect(hostArray(5n, { dtype: "float32" }).data).toEqual(new Float32Array([5]));
  });

  test("refuses numbers that an integer dtype doesn't have", () => {
    for (const [value, dtype] of [
      [1.5, "int32"],
      [Number.NaN, "int64"],
      [Number.POSITIVE_INFINITY, "uint8"],
      [128, "int8"],
      [-1, "uint8"],
      [2n ** 63n, "int64"],
      [-1n, "uint64"],
      [1e300, "int64"],
    ] as const) {
      expect(() => hostArray([value], { dtype }), `${value} as ${dtype}`).toThrow(invalidArray);
    }
  });

  test("refuses numbers as bool, and lists as complex", () => {
    expect(() => hostArray([0, 1], { dtype: "bool" })).toThrow(invalidArray);
    expect(() => hostArray([[1, 2]], { dtype: "complex64" })).toThrow(invalidArray);
  });

  test.each([
    ["rows of different lengths", [[1, 2], [3]]],
    ["a number beside a list", [[1], 2]],
    ["a list beside a number", [1, [2]]],
    ["a string", ["a"]],
    ["null", [null]],
    ["undefined", [undefined]],
    ["a gap", new Array(2)],
    ["an object", [{}]],
    ["a typed array in a list", [new Float64Array(2)]],
    ["null in place of a list", null],
    ["a string in place of a list", "12"],
  ])("refuses %s", (_, values) => {
    expect(() => hostArray(values as NestedList)).toThrow(invalidArray);
  });

  test("refuses a list that contains itself", () => {
    const list: unknown[] = [];
    list.push(list);
    expect(() => hostArray(list as NestedList)).toThrow(invalidArray);
  });
});

describe("isHostArray", () => {
  test("goes by the form", () => {
    expect(isHostArray(hostArray([1]))).toBe(true);
    expect(isHostArray({ dtype: "float64", shape: [], data: new Float64Array(1) })).toBe(true);
    expect(isHostArray(Object.assign(Object.create(null), hostArray([1])))).toBe(true);
  });

  test.each([
    [{ dtype: "float32", shape: [2], data: [1, 2] }],
    [{ dtype: "float32", shape: [2], data: { a: 1 } }],
    [{ dtype: "float32", shape: 2, data: new Float32Array(2) }],
    [{ shape: [2], data: new Float32Array(2) }],
    [{ dtype: "float32", shape: [2], data: new DataView(new ArrayBuffer(8)) }],
    [new Float32Array(2)],
    [[1, 2]],
    [null],
    [undefined],
    [1],
  ])("is false for %o", (value) => {
    expect(isHostArray(value)).toBe(false);
  });

  test("is false for an array with strides, which need not be in C order", () => {
    const array = { dtype: "float64", shape: [2, 2], data: new Float64Array(4) };
    expect(isHostArray({ ...array, strides: [1, 2] })).toBe(false);
    expect(isHostArray({ ...array, stride: [1, 2] })).toBe(false);
  });

  test("doesn't touch the data of what isn't one", () => {
    const array = {
      type: "float32",
      get data(): never {
        throw new Error("The data is on a GPU");
      },
    };
    expect(isHostArray(array)).toBe(false);
  });
});

describe("checkHostArray", () => {
  test("passes an array whose parts fit together", () => {
    for (const dtype of dtypes) {
      const data = viewAs(dtype, new ArrayBuffer(6 * itemSize(dtype)));
      expect(() => checkHostArray(makeHostArray(dtype, [2, 3], data))).not.toThrow();
    }
  });

  test.each([
    ["a wrong class", { dtype: "float32", shape: [2], data: new Float64Array(2) }],
    ["too few elements", { dtype: "float32", shape: [2], data: new Float32Array(1) }],
    ["too many elements", { dtype: "float32", shape: [2], data: new Float32Array(3) }],
    ["elements where the shape has none", { dtype: "float32", shape: [0], data: new Float32Array(1) }],
    ["half as many entries as a complex array needs", { dtype: "complex64", shape: [2], data: new Float32Array(2) }],
    ["a negative size", { dtype: "float32", shape: [-1], data: new Float32Array(1) }],
    ["no shape", { dtype: "float32", data: new Float32Array(1) }],
    ["no data", { dtype: "float32", shape: [1] }],
    ["null as its data", { dtype: "float32", shape: [1], data: null }],
    ["a list as its data", { dtype: "float32", shape: [1], data: [1] }],
  ])("refuses an array with %s", (_, array) => {
    expect(() => checkHostArray(array as HostArray)).toThrow(invalidArray);
  });

  test("refuses a dtype that isn't known", () => {
    expect(() => checkHostArray({ dtype: "bfloat16", shape: [], data: new Uint16Array(1) } as never)).toThrow(
      unsupported,
    );
  });
});

describe("toNestedList", () => {
  test("gives numbers, bigints, booleans and pairs", () => {
    expect(toNestedList(hostArray(new Int32Array([1, 2])))).toEqual([1, 2]);
    expect(toNestedList(hostArray(new BigInt64Array([1n])))).toEqual([1n]);
    expect(toNestedList(hostArray([true, false]))).toEqual([true, false]);
    expect(toNestedList(hostArray(new Float64Array([1, 2, 3, 4]), { dtype: "complex128" }))).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(toNestedList(hostArray([1.5], { dtype: "float16" }))).toEqual([1.5]);
  });

  test("gives a scalar's element itself, and empty lists for sizes of 0", () => {
    expect(toNestedList(hostArray(3))).toBe(3);
    expect(toNestedList(hostArray(new Float32Array(0), { shape: [2, 0] }))).toEqual([[], []]);
    expect(toNestedList(hostArray(new Float32Array(0), { shape: [0, 2] }))).toEqual([]);
  });

  test("undoes hostArray", () => {
    const shape = fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 4 });
    fc.assert(
      fc.property(shape, fc.infiniteStream(fc.double()), (sizes, numbers) => {
        const nest = (depth: number): NestedList =>
          depth === sizes.length
            ? (numbers.next().value as number)
            : Array.from({ length: sizes[depth] as number }, () => nest(depth + 1));
        const nested = nest(0);
        const array = hostArray(nested);
        expect(array.shape).toEqual(sizes);
        expect(toNestedList(array)).toEqual(nested);
      }),
    );
  });
});

test("bytesOf gives the bytes of the elements, not copied", () => {
  const data = new Float64Array(4).subarray(1, 3);
  const bytes = bytesOf(hostArray(data));
  expect(bytes.buffer).toBe(data.buffer);
  expect([bytes.byteOffset, bytes.byteLength]).toEqual([8, 16]);
});

test("a host array's dtype narrows its data", () => {
  const array: HostArray = hostArray([1, 2]);
  if (array.dtype === "float64") expectTypeOf(array.data).toEqualTypeOf<Float64Array>();
  if (array.dtype === "int64") expectTypeOf(array.data).toEqualTypeOf<BigInt64Array>();
  expectTypeOf(hostArray([1], { dtype: "float16" }).data).toEqualTypeOf<Uint16Array>();
});
