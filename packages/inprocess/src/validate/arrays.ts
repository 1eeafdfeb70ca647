/** Takes what stands where a schema wants an array, as the reference does: broadcast, cast, or refused with the reason. */
import {
  asCudaArray,
  type CudaArray,
  type DType,
  dtypeOfTypestr,
  elementCount,
  entriesPerElement,
  type HostArray,
  hostArray,
  isHostArray,
  makeHostArray,
  type TypedArray,
} from "@tesseract-ts/core";
import { UndecodableArray } from "../runner/undecodable.js";
import type { ArrayTraits } from "../schema/array.js";
import { allocate, cast, dtypeMismatch, elementsOf, isCastable } from "./cast.js";
import { decodeError, decodeJson, encodedArrayOf, fitsShape } from "./encoded.js";
import { isRecord } from "./forms.js";
import type { Fault } from "./issues.js";
import { flatten, inferDType, numbersOf, ragged } from "./nested.js";

/** How an array is taken. */
export interface ArrayMode {
  /**
   * Whether arrays in memory stand for encoded ones, as in a request, which are checked against the schema before they
   * are decoded: what doesn't fit is no array at all then, which is a fault of another type.
   */
  readonly received: boolean;
  /** Neither broadcasts nor casts. */
  readonly strict: boolean;
  /** What is given on for a GPU array that fits; the array itself if left out. */
  readonly device?: (array: CudaArray) => CudaArray;
}

export const isFault = (value: HostArray | CudaArray | Fault): value is Fault => "msg" in value;

/** @param isFloat whether `value` is a number that was written as a float: `1.0` */
export function takeArray(
  value: unknown,
  traits: ArrayTraits,
  mode: ArrayMode,
  isFloat = false,
): HostArray | CudaArray | Fault {
  if (typeof value !== "object" || value === null) return takePlain(value, traits, mode, isFloat);
  if (Array.isArray(value)) return takePlain(value, traits, mode);
  if (ArrayBuffer.isView(value)) {
    return value instanceof DataView
      ? nonNumeric("it is a DataView")
      : takeHost(hostArray(value as TypedArray), traits, mode);
  }
  if (isHostArray(value)) return takeHost(value, traits, mode);
  if (value instanceof UndecodableArray) return decodeError(value.encoding, value.reason);
  const cuda = asCudaArray(value);
  if (cuda !== undefined) return takeCuda(cuda, traits, mode);
  if (!isRecord(value)) return nonNumeric(`it is a ${value.constructor?.name ?? "bare object"}`);
  return takeEncoded(value, traits, mode);
}

function takePlain(value: unknown, traits: ArrayTraits, mode: ArrayMode, isFloat = false): HostArray | Fault {
  const nested = flatten(value);
  if (nested === ragged) return ragged;
  const { shape, items, hasFloat } = nested as Exclude<typeof nested, Fault>;
  const dtype = inferDType(items, isFloat || hasFloat);
  if (dtype === undefined) return nonNumeric("it holds something else than numbers");
  // JSON's 1.0 and 1 are one number here, so whole numbers may have been written as floats.
  const ambiguous = mode.strict && traits.dtype === "float64" && (dtype === "int64" || dtype === "uint64");
  const fault = shapeFault(shape, traits, mode) ?? (ambiguous ? undefined : dtypeFault(dtype, traits, mode));
  if (fault !== undefined) return fault;
  const wanted = traits.dtype === "any dtype" ? dtype : traits.dtype;
  const data = cast(numbersOf(items), dtype, wanted);
  return "type" in data ? data : broadcast(makeHostArray(wanted, shape, data), traits);
}

function takeHost(array: HostArray, traits: ArrayTraits, mode: ArrayMode): HostArray | Fault {
  const { dtype, shape } = array;
  if (mode.received && !mode.strict) {
    if (traits.dtype !== "any dtype" && !isCastable(dtype, traits.dtype)) {
      return nonNumeric(`an array of ${dtype} can't be cast to ${traits.dtype}`);
    }
    if (!fitsShape(shape, traits)) return nonNumeric(`the shape ${show(shape)} doesn't fit ${show(traits.shape)}`);
  }
  const fault = shapeFault(shape, traits, mode) ?? dtypeFault(dtype, traits, mode);
  if (fault !== undefined) return fault;
  const wanted = traits.dtype === "any dtype" ? dtype : traits.dtype;
  if (wanted === dtype) return broadcast(array, traits);
  const data = cast(elementsOf(dtype, array.data), dtype, wanted);
  return "type" in data ? data : broadcast(makeHostArray(wanted, shape, data), traits);
}

function takeEncoded(value: object, traits: ArrayTraits, mode: ArrayMode): HostArray | Fault {
  const encoded = encodedArrayOf(value, traits);
  if (encoded === undefined) return nonNumeric("it is an object, but no encoded array that fits");
  const { encoding } = encoded.data;
  if (encoding !== "json") {
    const fault = encoding === "cuda_ipc" ? noCastFault(encoded.shape, encoded.dtype, traits) : undefined;
    return fault ?? decodeError(encoding, "it hasn't been decoded");
  }
  const array = decodeJson(encoded);
  return "type" in array ? array : takeHost(array, traits, { ...mode, received: false });
}

function takeCuda(array: CudaArray, traits: ArrayTraits, { device }: ArrayMode): CudaArray | Fault {
  const { shape, typestr } = array.cudaArrayInterface;
  return noCastFault(shape, dtypeOfTypestr(typestr), traits) ?? device?.(array) ?? array;
}

/** A GPU array is given on as it is. */
export function noCastFault(shape: readonly number[], dtype: DType, traits: ArrayTraits): Fault | undefined {
  const fits =
    traits.shape === "any rank" ||
    (shape.length === traits.shape.length &&
      traits.shape.every((size, index) => size === null || size === shape[index]));
  if (!fits) return shapeMismatch(shape, traits.shape);
  if (traits.dtype === "any dtype" || traits.dtype === dtype) return undefined;
  return dtypeMismatch(dtype, traits.dtype, "a GPU array is never cast");
}

function dtypeFault(dtype: DType, { dtype: wanted }: ArrayTraits, { strict }: ArrayMode): Fault | undefined {
  if (wanted === "any dtype" || dtype === wanted) return undefined;
  return strict || !isCastable(dtype, wanted) ? dtypeMismatch(dtype, wanted) : undefined;
}

function shapeFault(shape: readonly number[], traits: ArrayTraits, { strict }: ArrayMode): Fault | undefined {
  if (traits.shape === "any rank") return undefined;
  if (shape.length !== traits.shape.length) {
    return {
      type: "array_dimensionality_mismatch",
      msg: `The array has ${shape.length} dimensions, and ${traits.shape.length} are wanted`,
      ctx: { actual_dims: shape.length, expected_dims: traits.shape.length },
    };
  }
  const wanted = traits.shape.map((size, dimension) => size ?? (shape[dimension] as number));
  const fits = wanted.every((size, dimension) => shape[dimension] === size || (!strict && shape[dimension] === 1));
  return fits ? undefined : shapeMismatch(shape, wanted);
}

const shapeMismatch = (shape: readonly number[], wanted: ArrayTraits["shape"]): Fault => ({
  type: "array_shape_mismatch",
  msg: `The array has the shape ${show(shape)}, which doesn't fit ${show(wanted)}`,
  ctx: { actual_shape: shape, expected_shape: wanted },
});

const nonNumeric = (reason: string): Fault => ({
  type: "array_non_numeric",
  msg: `It can't be read as an array of numbers: ${reason}`,
  ctx: {},
});

const show = (shape: ArrayTraits["shape"]): string =>
  shape === "any rank" ? shape : `[${shape.map((size) => size ?? "any").join(", ")}]`;

/** Repeats dimensions of size 1 to the schema's sizes. The caller has made sure that it fits. */
function broadcast(array: HostArray, { shape: wanted }: ArrayTraits): HostArray {
  if (wanted === "any rank") return array;
  const { dtype, shape } = array;
  const target = wanted.map((size, dimension) => size ?? (shape[dimension] as number));
  if (target.every((size, dimension) => size === shape[dimension])) return array;
  const entries = entriesPerElement(dtype);
  const data = allocate(dtype, elementCount(target));
  // How far one step along each dimension goes in the source: not at all where it is repeated.
  const strides = new Array<number>(shape.length).fill(0);
  let stride = entries;
  for (let dimension = shape.length - 1; dimension >= 0; dimension--) {
    if (shape[dimension] !== 1) strides[dimension] = stride;
    stride *= shape[dimension] as number;
  }
  let written = 0;
  const fill = (dimension: number, from: number): void => {
    if (dimension === target.length) {
      for (let entry = 0; entry < entries; entry++) data[written++] = array.data[from + entry] as never;
      return;
    }
    for (let index = 0; index < (target[dimension] as number); index++) {
      fill(dimension + 1, from + index * (strides[dimension] as number));
    }
  };
  fill(0, 0);
  return makeHostArray(dtype, target, data);
}
