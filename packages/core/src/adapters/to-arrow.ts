/** From host arrays to Apache Arrow's vectors. */
import type { DType } from "../arrays/dtype.js";
import { elementCount, type HostArray } from "../arrays/host-array.js";
import { TesseractError } from "../errors.js";

/** The part of `apache-arrow` that makes vectors. */
export interface ArrowLibrary<V> {
  makeData(properties: never): unknown;
  makeVector(data: never): V;
  readonly Field: new (name: string, type: never, nullable: boolean) => unknown;
  readonly FixedSizeList: new (size: number, child: never) => unknown;
  readonly Bool: new () => unknown;
  readonly Int8: new () => unknown;
  readonly Int16: new () => unknown;
  readonly Int32: new () => unknown;
  readonly Int64: new () => unknown;
  readonly Uint8: new () => unknown;
  readonly Uint16: new () => unknown;
  readonly Uint32: new () => unknown;
  readonly Uint64: new () => unknown;
  readonly Float16: new () => unknown;
  readonly Float32: new () => unknown;
  readonly Float64: new () => unknown;
}

const typeNames: { readonly [D in DType]?: keyof ArrowLibrary<unknown> & string } = {
  ...{ bool: "Bool", float16: "Float16", float32: "Float32", float64: "Float64" },
  ...{ int8: "Int8", int16: "Int16", int32: "Int32", int64: "Int64" },
  ...{ uint8: "Uint8", uint16: "Uint16", uint32: "Uint32", uint64: "Uint64" },
};

/**
 * An Apache Arrow vector with the array's elements: of numbers for one dimension, of nested fixed-size lists for more. It
 * shares the array's memory, but for booleans, which Arrow keeps as bits. A scalar has no place in a vector.
 *
 * @param library `import * as arrow from "apache-arrow"`
 * @throws TesseractError UNSUPPORTED_DTYPE for complex dtypes, INVALID_ARRAY for a scalar
 *
 * @example
 * const table = new arrow.Table({ x: toArrow(x, arrow) });
 */
export function toArrow<V>({ dtype, shape, data }: HostArray, library: ArrowLibrary<V>): V {
  const name = typeNames[dtype];
  if (name === undefined) {
    throw new TesseractError("UNSUPPORTED_DTYPE", `Apache Arrow has no type for ${dtype}`, {
      hint: "Give the real and imaginary parts a dimension of their own.",
    });
  }
  const [length, ...inner] = shape;
  if (length === undefined) {
    throw new TesseractError("INVALID_ARRAY", "A scalar has no place in an Apache Arrow vector", {
      hint: "Give it a dimension: hostArray(x.data, { dtype: x.dtype, shape: [1] }).",
    });
  }
  const count = elementCount(shape);
  let type = new (library[name] as new () => unknown)();
  const values = dtype === "bool" ? bitsOf(data as Uint8Array) : data;
  const make = (properties: object): unknown => library.makeData({ nullCount: 0, ...properties } as never);
  let chunk = make({ type, length: count, data: values });
  for (const [axis, size] of [...inner.entries()].reverse()) {
    type = new library.FixedSizeList(size, new library.Field("item", type as never, false) as never);
    chunk = make({ type, length: elementCount(shape.slice(0, axis + 1)), child: chunk });
  }
  return library.makeVector(chunk as never);
}

function bitsOf(bytes: Uint8Array): Uint8Array {
  const bits = new Uint8Array(Math.ceil(bytes.length / 8));
  bytes.forEach((byte, index) => {
    if (byte !== 0) bits[index >> 3] = (bits[index >> 3] as number) | (1 << (index & 7));
  });
  return bits;
}
