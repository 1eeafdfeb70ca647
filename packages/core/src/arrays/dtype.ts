/** The element types of Tesseract arrays, and the typed array that holds each. */

/**
 * The typed array that holds the elements of each dtype, in C order.
 *
 * - `float16` elements are IEEE 754 binary16 bit patterns (`float16ToNumber` reads one), on every platform alike:
 *   `Float16Array` is missing from Node 20 and 22.
 * - `bool` elements are one byte each, 0 or 1.
 * - complex elements are interleaved: two entries each, real part first.
 */
export interface TypedArrayOf {
  float16: Uint16Array;
  float32: Float32Array;
  float64: Float64Array;
  int8: Int8Array;
  int16: Int16Array;
  int32: Int32Array;
  int64: BigInt64Array;
  uint8: Uint8Array;
  uint16: Uint16Array;
  uint32: Uint32Array;
  uint64: BigUint64Array;
  bool: Uint8Array;
  complex64: Float32Array;
  complex128: Float64Array;
}

export type DType = keyof TypedArrayOf;

export type TypedArray = TypedArrayOf[DType];

type Kind = "float" | "int" | "uint" | "bool" | "complex";

interface DTypeTraits<D extends DType> {
  /** Bytes of one element. */
  readonly itemSize: number;
  readonly kind: Kind;
  /** Entries of the typed array that make one element: 2 for complex dtypes. */
  readonly entries: 1 | 2;
  readonly TypedArray: new (buffer: ArrayBufferLike, byteOffset?: number, length?: number) => TypedArrayOf[D];
}

const traits: { readonly [D in DType]: DTypeTraits<D> } = {
  float16: { itemSize: 2, kind: "float", entries: 1, TypedArray: Uint16Array },
  float32: { itemSize: 4, kind: "float", entries: 1, TypedArray: Float32Array },
  float64: { itemSize: 8, kind: "float", entries: 1, TypedArray: Float64Array },
  int8: { itemSize: 1, kind: "int", entries: 1, TypedArray: Int8Array },
  int16: { itemSize: 2, kind: "int", entries: 1, TypedArray: Int16Array },
  int32: { itemSize: 4, kind: "int", entries: 1, TypedArray: Int32Array },
  int64: { itemSize: 8, kind: "int", entries: 1, TypedArray: BigInt64Array },
  uint8: { itemSize: 1, kind: "uint", entries: 1, TypedArray: Uint8Array },
  uint16: { itemSize: 2, kind: "uint", entries: 1, TypedArray: Uint16Array },
  uint32: { itemSize: 4, kind: "uint", entries: 1, TypedArray: Uint32Array },
  uint64: { itemSize: 8, kind: "uint", entries: 1, TypedArray: BigUint64Array },
  bool: { itemSize: 1, kind: "bool", entries: 1, TypedArray: Uint8Array },
  complex64: { itemSize: 8, kind: "complex", entries: 2, TypedArray: Float32Array },
  complex128: { itemSize: 16, kind: "complex", entries: 2, TypedArray: Float64Array },
};

/** Every dtype, in the reference's order. */
export const dtypes = Object.keys(traits) as readonly DType[];

export const isDType = (name: unknown): name is DType => typeof name === "string" && Object.hasOwn(traits, name);

/** Bytes of one element: 8 for `float64`, 16 for `complex128`. */
export const itemSize = (dtype: DType): number => traits[dtype].itemSize;

/** Whether elements are `float`, `int`, `uint`, `bool` or `complex`. */
export const dtypeKind = (dtype: DType): Kind => traits[dtype].kind;

/** Entries of the typed array that make one element: 2 for complex dtypes, else 1. */
export const entriesPerElement = (dtype: DType): 1 | 2 => traits[dtype].entries;

/**
 * The typed array for `dtype` over existing memory; nothing is copied.
 *
 * @param elements how many elements (not entries) there are; the rest of the buffer if left out
 */
export function viewAs<D extends DType>(
  dtype: D,
  buffer: ArrayBufferLike,
  byteOffset = 0,
  elements?: number,
): TypedArrayOf[D] {
  const { TypedArray, entries } = traits[dtype] as DTypeTraits<D>;
  return elements === undefined
    ? new TypedArray(buffer, byteOffset)
    : new TypedArray(buffer, byteOffset, elements * entries);
}

const dtypeByTag: Readonly<Record<string, DType>> = {
  Float16Array: "float16",
  Float32Array: "float32",
  Float64Array: "float64",
  Int8Array: "int8",
  Int16Array: "int16",
  Int32Array: "int32",
  BigInt64Array: "int64",
  Uint8Array: "uint8",
  Uint8ClampedArray: "uint8",
  Uint16Array: "uint16",
  Uint32Array: "uint32",
  BigUint64Array: "uint64",
};

/**
 * The dtype that a typed array's class stands for, or undefined for anything that isn't a typed array.
 * It goes by the class's tag, so that arrays of other realms (an iframe, a vm context) are recognized.
 */
export function dtypeOfTypedArray(value: unknown): DType | undefined {
  if (!ArrayBuffer.isView(value)) return undefined;
  return dtypeByTag[(value as { readonly [Symbol.toStringTag]?: string })[Symbol.toStringTag] ?? ""];
}
