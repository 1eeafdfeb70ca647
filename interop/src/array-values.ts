// Arrays with the values that an encoding may spoil, and what each encoding carries of them.

import {
  bytesOf,
  type DType,
  dtypeKind,
  elementCount,
  entriesPerElement,
  float16ToNumber,
  type HostArray,
  hostArray,
  itemSize,
  type TypedArray,
  viewAs,
} from "@tesseract-ts/core";

// Bit patterns: both zeros, one, the least and the largest subnormal, the least normal, the largest, the infinities, a
// negative number that needs every digit, and three NaNs: the usual one, a negative one, a signalling one.
const float16Bits = [
  0x0000, 0x8000, 0x3c00, 0x0001, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0xb555, 0x7e00, 0xfe00, 0x7c01,
];
const float32Bits = [
  0x00000000, 0x80000000, 0x3f800000, 0x00000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
  0xff800000, 0xbeaaaaab, 0x7fc00000, 0xffc00000, 0x7f800001,
];
const float64Bits = [
  0x0000000000000000n,
  0x8000000000000000n,
  0x3ff0000000000000n,
  0x0000000000000001n,
  0x000fffffffffffffn,
  0x0010000000000000n,
  0x7fefffffffffffffn,
  0xffefffffffffffffn,
  0x7ff0000000000000n,
  0xfff0000000000000n,
  0xbfd5555555555555n,
  0x7ff8000000000000n,
  0xfff8000000000000n,
  0x7ff0000000000001n,
];

/** Each part with each other. */
const pairs = <T>(parts: readonly T[]): T[] => parts.flatMap((real) => parts.flatMap((imaginary) => [real, imaginary]));

/** A vector of the values at a dtype's edges. */
export function specialValues(dtype: DType): HostArray {
  const bits = (): TypedArray => {
    switch (dtype) {
      case "float16":
        return Uint16Array.from(float16Bits);
      case "float32":
        return Uint32Array.from(float32Bits);
      case "float64":
        return BigUint64Array.from(float64Bits);
      case "complex64":
        return Uint32Array.from(pairs(float32Bits));
      case "complex128":
        return BigUint64Array.from(pairs(float64Bits));
      case "bool":
        return Uint8Array.of(0, 1, 1, 0);
      case "int64":
        return BigInt64Array.of(-(2n ** 63n), -(2n ** 53n) - 1n, -1n, 0n, 1n, 2n ** 53n + 1n, 2n ** 63n - 1n);
      case "uint64":
        return BigUint64Array.of(0n, 1n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 63n + 1n, 2n ** 64n - 1n);
      default: {
        const width = itemSize(dtype) * 8;
        const [least, most] =
          dtypeKind(dtype) === "int" ? [-(2 ** (width - 1)), 2 ** (width - 1) - 1] : [0, 2 ** width - 1];
        return hostArray([least, least + 1, 0, 1, most - 1, most], { dtype }).data;
      }
    }
  };
  const { buffer } = bits();
  return hostArray(viewAs(dtype, buffer), { dtype });
}

/** An array of bytes that look random but are the same each time; every bit pattern of a dtype may occur. */
export function scatteredArray(dtype: DType, shape: readonly number[]): HostArray {
  const bytes = new Uint8Array(elementCount(shape) * itemSize(dtype));
  // A linear congruential generator modulo 2^32, of which the highest byte is taken.
  let state = bytes.length + dtype.length;
  for (let i = 0; i < bytes.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = dtype === "bool" ? state >>> 31 : state >>> 24;
  }
  return hostArray(viewAs(dtype, bytes.buffer), { dtype, shape });
}

/**
 * What is left of an array in an answer whose format is `json`: the reference writes NaN and the infinities of real
 * dtypes as null, which is read as NaN; complex numbers as Python prints them, where a zero real part has no sign and
 * a NaN no payload.
 */
export function asJsonAnswers(array: HostArray): HostArray {
  const { dtype, shape } = array;
  const kind = dtypeKind(dtype);
  if (kind !== "float" && kind !== "complex") return array;
  const data = array.data.slice() as Uint16Array | Float32Array | Float64Array;
  for (let i = 0; i < data.length; i++) {
    const entry = data[i] as number;
    if (dtype === "float16") {
      if (!Number.isFinite(float16ToNumber(entry))) data[i] = 0x7e00;
    } else if (Number.isNaN(entry) || (kind === "float" && !Number.isFinite(entry))) {
      data[i] = Number.NaN;
    } else if (kind === "complex" && i % entriesPerElement(dtype) === 0 && entry === 0) {
      data[i] = 0;
    }
  }
  return hostArray(data, { dtype, shape });
}

/** The elements whose parts are all finite numbers, as a vector: JSON has no others. */
export function finiteValues(array: HostArray): HostArray {
  const entries = entriesPerElement(array.dtype);
  const isNumber = (entry: number | bigint): boolean =>
    array.dtype === "float16" ? Number.isFinite(float16ToNumber(Number(entry))) : Number.isFinite(Number(entry));
  const size = itemSize(array.dtype);
  const bytes = bytesOf(array);
  const kept: Uint8Array[] = [];
  for (let i = 0; i < elementCount(array.shape); i++) {
    const element = [...array.data.subarray(i * entries, (i + 1) * entries)];
    if (element.every(isNumber)) kept.push(bytes.subarray(i * size, (i + 1) * size));
  }
  const { buffer, byteOffset, byteLength } = Uint8Array.from(kept.flatMap((element) => [...element]));
  return hostArray(viewAs(array.dtype, buffer, byteOffset, byteLength / size), { dtype: array.dtype });
}

/** An array's dtype, shape and every bit of its data, to be compared and to be read: `float32[2] 0000803f 00000040`. */
export function written(array: HostArray): string {
  const hex = Buffer.from(bytesOf(array)).toString("hex");
  const elements = hex.match(new RegExp(`.{${itemSize(array.dtype) * 2}}`, "g")) ?? [];
  return [`${array.dtype}[${array.shape.join(", ")}]`, ...elements].join(" ");
}
