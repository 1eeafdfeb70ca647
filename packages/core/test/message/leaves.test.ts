import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ArrayAdapter } from "../../src/adapters/adapter.js";
import type { CudaArrayInterface } from "../../src/arrays/cuda-array.js";
import { type HostArray, hostArray } from "../../src/arrays/host-array.js";
import { type FoundArray, mapArrays } from "../../src/message/leaves.js";
import { failureOf, tesseractError } from "../support.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

/** The tree with each array replaced by its shape and dtype, and the arrays. */
function map(tree: unknown, adapters: readonly ArrayAdapter[] = []): { tree: unknown; arrays: FoundArray[] } {
  const arrays: FoundArray[] = [];
  const mapped = mapArrays(tree, adapters, (array) => {
    arrays.push(array);
    return `${array.dtype}[${array.shape}]`;
  });
  return { tree: mapped, arrays };
}

function only({ arrays }: { readonly arrays: readonly FoundArray[] }): FoundArray {
  const [array] = arrays;
  if (array === undefined || arrays.length > 1) throw new Error(`${arrays.length} arrays were found`);
  return array;
}

const refusal = (tree: unknown): Promise<Error> => failureOf(() => map(tree));

const device: CudaArrayInterface = { shape: [2], typestr: "<f4", data: [0x1000n, false], version: 3 };
const copied = hostArray(new Float32Array([1, 2]));

describe("a tree", () => {
  test("is copied, with its arrays replaced and all else as it was", () => {
    const inputs = {
      a: new Float64Array(3),
      b: { c: [hostArray(new Float32Array(6), { shape: [2, 3] }), 1, "x", true, null, 2n ** 60n] },
      d: [],
      e: {},
      f: -0,
      g: undefined,
    };
    const mapped = map(inputs);
    expect(mapped.tree).toEqual({
      a: "float64[3]",
      b: { c: ["float32[2,3]", 1, "x", true, null, 2n ** 60n] },
      d: [],
      e: {},
      f: -0,
      g: undefined,
    });
    expect(mapped.tree).not.toBe(inputs);
    expect(only(map({ x: inputs.a })).host()).toMatchObject({ data: inputs.a });
  });

  test("may hold one object in several places", () => {
    const shared = { x: [1] };
    expect(map({ a: shared, b: [shared, shared] }).tree).toEqual({ a: shared, b: [shared, shared] });
  });

  test.each<[string, () => unknown]>([
    [
      "itself",
      () => {
        const tree: Record<string, unknown> = { a: {} };
        tree.a = { b: tree };
        return tree;
      },
    ],
    [
      "a list that holds itself",
      () => {
        const list: unknown[] = [];
        list.push([list]);
        return { a: { b: list } };
      },
    ],
  ])("doesn't contain %s", async (_, make) => {
    expect(await refusal(make())).toEqual(tesseractError("INVALID_TREE", "contains itself"));
  });

  test("is at most 256 levels deep", async () => {
    const nested = (levels: number): unknown => {
      let tree: unknown = 0;
      for (let i = 0; i < levels; i++) tree = i % 2 === 0 ? [tree] : { a: tree };
      return tree;
    };
    expect(map(nested(256)).tree).toEqual(nested(256));
    expect(await refusal(nested(257))).toEqual(tesseractError("INVALID_TREE", "256 levels"));
    expect(await refusal(nested(100_000))).toEqual(tesseractError("INVALID_TREE", "256 levels"));
  });

  test("has members without a prototype, of another realm, or named as Object's own", () => {
    const bare: object = Object.assign(Object.create(null), { a: 1 });
    expect(map(bare).tree).toEqual({ a: 1 });
    expect(map(runInNewContext("({ a: [1, { b: 2 }] })")).tree).toEqual({ a: [1, { b: 2 }] });
    const named: unknown = JSON.parse('{"__proto__":{"x":1},"constructor":2,"toString":3}');
    const copy = map(named).tree;
    expect(Object.keys(Object(copy))).toEqual(["__proto__", "constructor", "toString"]);
    expect(Object.hasOwn(Object.prototype, "x")).toBe(false);
  });
});

describe("a leaf that can't be sent names its place", () => {
  class Point {
    x = 1;
  }
  test.each<[string, unknown, RegExp, RegExp | undefined]>([
    ["NaN", Number.NaN, /NaN can't be sent as a plain number/, /hostArray\(NaN\)/],
    ["infinity", Number.NEGATIVE_INFINITY, /-Infinity can't be sent/, /hostArray\(-Infinity\)/],
    ["a function", () => 1, /a function can't be sent/, undefined],
    ["a symbol", Symbol("s"), /a symbol can't be sent/, undefined],
    ["a Map", new Map([["a", 1]]), /a Map is neither/, /Object\.fromEntries\(map\)/],
    ["a Set", new Set([1]), /a Set is neither/, /adapters/],
    ["a Date", new Date(0), /a Date is neither/, /adapters/],
    ["a RegExp", /x/, /a RegExp is neither/, /adapters/],
    ["a Promise", Promise.resolve(1), /a Promise is neither/, /Await it first/],
    ["an ArrayBuffer", new ArrayBuffer(8), /a ArrayBuffer is neither|an ArrayBuffer is neither/, /new Float64Array/],
    ["a DataView", new DataView(new ArrayBuffer(8)), /a DataView is neither/, undefined],
    ["a class's instance", new Point(), /a Point is neither/, /adapters/],
    ["a boxed number", Object(1), /a Number is neither/, /adapters/],
    ["an Error", new Error("x"), /a[n]? Error is neither/, /adapters/],
  ])("%s", async (_, value, message, hint) => {
    for (const [tree, place] of [
      [{ inputs: { a: value } }, /^inputs\.a: /],
      [{ inputs: { layers: [0, { w: value }] } }, /^inputs\.layers\.\[1\]\.w: /],
      [value, /^The request: /],
    ] as const) {
      const error = await failureOf(() => map(tree));
      expect(error.code).toBe("INVALID_TREE");
      expect(error.message).toMatch(message);
      expect(error.message).toMatch(place);
      if (hint !== undefined) expect(error.hint).toMatch(hint);
    }
  });

  test("undefined in a list, and a hole", async () => {
    expect(await refusal({ a: [1, undefined] })).toEqual(tesseractError("INVALID_TREE", "undefined can't be sent"));
    const sparse: unknown[] = [1];
    sparse[2] = 3;
    const error = await refusal({ a: sparse });
    expect(error).toEqual(tesseractError("INVALID_TREE", "undefined"));
    expect(error.message).toMatch(/^a\.\[1\]: /);
  });
});

describe("an array whose parts don't agree is refused with its place", () => {
  const odd = (dtype: string, shape: unknown, data: unknown): unknown => ({ dtype, shape, data });
  test.each<[string, unknown, "INVALID_ARRAY" | "UNSUPPORTED_DTYPE"]>([
    ["too few elements", odd("float64", [2, 2], new Float64Array(3)), "INVALID_ARRAY"],
    ["too many elements", odd("float64", [], new Float64Array(2)), "INVALID_ARRAY"],
    ["data of another class", odd("float64", [2], new Float32Array(2)), "INVALID_ARRAY"],
    ["numbers where 64-bit integers are", odd("int64", [2], new Float64Array(2)), "INVALID_ARRAY"],
    ["complex numbers without their second half", odd("complex128", [2], new Float64Array(2)), "INVALID_ARRAY"],
    ["a negative size", odd("float64", [-1], new Float64Array(0)), "INVALID_ARRAY"],
    ["a fractional size", odd("float64", [1.5], new Float64Array(1)), "INVALID_ARRAY"],
    ["a size that is a string", odd("float64", ["1"], new Float64Array(1)), "INVALID_ARRAY"],
    ["a size that is a bigint", odd("float64", [1n], new Float64Array(1)), "INVALID_ARRAY"],
    ["sizes beyond all counting", odd("float64", [2 ** 40, 2 ** 40], new Float64Array(1)), "INVALID_ARRAY"],
    ["a dtype that Tesseracts don't have", odd("bfloat16", [1], new Uint16Array(1)), "UNSUPPORTED_DTYPE"],
    ["a dtype that is a member of Object", odd("toString", [1], new Uint16Array(1)), "UNSUPPORTED_DTYPE"],
  ])("%s", async (_, array, code) => {
    const error = await refusal({ inputs: { layers: [{ weights: array }] } });
    expect(error).toEqual(tesseractError(code));
    expect(error.message).toMatch(/^inputs\.layers\.\[0\]\.weights: /);
  });
});

describe("a GPU array", () => {
  const interfaces = { cudaArrayInterface: device, __cuda_array_interface__: device };

  test.each(["cudaArrayInterface", "__cuda_array_interface__"] as const)("is known by its %s", async (name) => {
    const own = { [name]: interfaces[name], factor: 3, copyToHost: vi.fn(async (): Promise<HostArray> => copied) };
    const array = only(map({ x: own }));
    expect(array).toMatchObject({ dtype: "float32", shape: [2] });
    expect(array.cuda?.cudaArrayInterface).toEqual(device);
    expect(own.copyToHost).not.toHaveBeenCalled();
    expect(await array.host()).toBe(copied);
    expect(own.copyToHost.mock.contexts[0]).toBe(own);
  });

  test("may be an instance of a class, with getters", async () => {
    class Tensor {
      get cudaArrayInterface(): CudaArrayInterface {
        return device;
      }
      async copyToHost(): Promise<HostArray> {
        return copied;
      }
    }
    expect(await only(map({ x: new Tensor() })).host()).toBe(copied);
  });

  test("goes through the host only with a copyToHost()", async () => {
    const error = await failureOf(() => only(map({ x: { cudaArrayInterface: device } })).host());
    expect(error).toEqual(tesseractError("INVALID_ARRAY", "x: ", "copyToHost"));
    expect(error.hint).toContain("copyToHost()");
  });

  test("whose copy fails, or is no array, is refused with its place", async () => {
    const copies: [unknown, string][] = [
      [new Error("CUDA error 700"), "CUDA error 700"],
      [{ dtype: "float32", shape: [3], data: new Float32Array(2) }, "needs 3 entries"],
    ];
    for (const [outcome, words] of copies) {
      const copyToHost = async (): Promise<unknown> => {
        if (outcome instanceof Error) throw outcome;
        return outcome;
      };
      const array = only(map({ inputs: { x: { cudaArrayInterface: device, copyToHost } } }));
      expect(await failureOf(() => array.host())).toEqual(tesseractError("INVALID_ARRAY", "inputs.x: ", words));
    }
  });

  test.each(["1", "true", "True", "TRUE"])("isn't copied to the host with FORBID=%s", async (value) => {
    vi.stubEnv("TESSERACT_FORBID_DEVICE_HOST_COPY", value);
    const copyToHost = vi.fn(async () => copied);
    const array = only(map({ x: { cudaArrayInterface: device, copyToHost } }));
    const error = await failureOf(() => array.host());
    expect(error).toEqual(tesseractError("HOST_COPY_FORBIDDEN", "x: "));
    expect(error.hint).toContain("TESSERACT_FORBID_DEVICE_HOST_COPY");
    expect(copyToHost).not.toHaveBeenCalled();
  });

  test.each(["0", "false", "", "no"])("is copied to the host with FORBID=%j", async (value) => {
    vi.stubEnv("TESSERACT_FORBID_DEVICE_HOST_COPY", value);
    expect(await only(map({ x: { cudaArrayInterface: device, copyToHost: async () => copied } })).host()).toBe(copied);
  });

  test.each(["<V2", ">f8", "f8", "<f16", "|f8", "", "<toString", "<constructor", "=f4", "<U3", "<i3"])(
    "of the type string %j is refused with its place",
    async (typestr) => {
      const array = { cudaArrayInterface: { ...device, typestr } };
      expect(await refusal({ inputs: [array] })).toEqual(tesseractError("UNSUPPORTED_DTYPE", "inputs", "[0]: "));
    },
  );

  test("of single bytes may have either order", () => {
    for (const [typestr, dtype] of [
      ["|u1", "uint8"],
      ["<u1", "uint8"],
      ["|i1", "int8"],
      ["|b1", "bool"],
    ]) {
      expect(only(map([{ cudaArrayInterface: { ...device, typestr } }])).dtype).toBe(dtype);
    }
  });

  test("isn't what merely has a member of that name", () => {
    expect(map({ x: { cudaArrayInterface: "none" }, y: { __cuda_array_interface__: {} } }).arrays).toEqual([]);
  });
});

describe("an array of another library", () => {
  class Matrix {
    rows = 2;
  }
  const adapter = (read: () => HostArray | Promise<HostArray>): ArrayAdapter => ({
    name: "matrices",
    adapt: (value) => (value instanceof Matrix ? { dtype: "float32", shape: [2], read } : undefined),
  });

  test("comes in through its adapter, which is only read when the elements are needed", async () => {
    const read = vi.fn(() => copied);
    const array = only(map({ x: new Matrix() }, [adapter(read)]));
    expect(array).toMatchObject({ dtype: "float32", shape: [2] });
    expect(read).not.toHaveBeenCalled();
    expect(await array.host()).toBe(copied);
  });

  test("that can't be read is told by its library's name and its place", async () => {
    const reads: (() => HostArray | Promise<HostArray>)[] = [
      () => {
        throw new Error("disposed");
      },
      async () => {
        throw new Error("disposed");
      },
    ];
    for (const read of reads) {
      const array = only(map({ a: [new Matrix()] }, [adapter(read)]));
      expect(await failureOf(() => array.host())).toEqual(
        tesseractError("INVALID_ARRAY", "[0]: ", "matrices", "disposed"),
      );
    }
  });

  test("is checked as any other", async () => {
    const wrong = { ...copied, shape: [5] };
    const array = only(map({ a: new Matrix() }, [adapter(() => wrong)]));
    expect(await failureOf(() => array.host())).toEqual(tesseractError("INVALID_ARRAY", "a: "));
  });
});
