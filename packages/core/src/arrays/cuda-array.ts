/**
 * Arrays in a GPU's memory, as Numba's CUDA array interface describes them
 * (https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html).
 */
import { TesseractError } from "../errors.js";
import type { DType } from "./dtype.js";
import type { HostArray } from "./host-array.js";

declare const devicePointer: unique symbol;

/** An address in a GPU's memory. Host code can't follow it. */
export type DevicePointer = bigint & { readonly [devicePointer]?: never };

export interface CudaArrayInterface {
  readonly shape: readonly number[];
  /** NumPy's type string, such as `<f8`. */
  readonly typestr: string;
  /** Where the first element is, and whether it must not be written to. 0 for an empty array. */
  readonly data: readonly [pointer: DevicePointer, readOnly: boolean];
  /** Bytes from one element to the next along each dimension; null or missing for C order. */
  readonly strides?: readonly number[] | null;
  readonly version: 3;
  /** The stream that the data becomes valid on: null or missing if it is valid now, 1 the legacy default stream. */
  readonly stream?: bigint | number | null;
}

/**
 * Any object that exposes device memory. The memory is the object's: whoever reads the interface keeps the object
 * alive for as long as the pointer is used.
 */
export interface CudaArray {
  readonly cudaArrayInterface: CudaArrayInterface;
  /** The UUID of the device it lives on, lower case with hyphens. */
  readonly device?: string;
  /** Copies the array to the host, once it is valid. */
  copyToHost?(options?: { readonly signal?: AbortSignal }): Promise<HostArray>;
}

/**
 * The CUDA array that `value` is, or undefined. The Python spelling, `__cuda_array_interface__`, is read too.
 */
export function asCudaArray(value: object): CudaArray | undefined {
  if ("cudaArrayInterface" in value && isInterface(value.cudaArrayInterface)) return value as CudaArray;
  if ("__cuda_array_interface__" in value && isInterface(value.__cuda_array_interface__)) {
    const python = value as { __cuda_array_interface__: CudaArrayInterface } & Omit<CudaArray, "cudaArrayInterface">;
    const array: CudaArray = {
      get cudaArrayInterface() {
        return python.__cuda_array_interface__;
      },
      ...(python.device === undefined ? {} : { device: python.device }),
      ...(python.copyToHost === undefined ? {} : { copyToHost: python.copyToHost.bind(python) }),
    };
    return array;
  }
  return undefined;
}

function isInterface(value: unknown): value is CudaArrayInterface {
  return typeof value === "object" && value !== null && "typestr" in value && "shape" in value && "data" in value;
}

const dtypeByTypestr: Readonly<Record<string, DType>> = {
  f2: "float16",
  f4: "float32",
  f8: "float64",
  i1: "int8",
  i2: "int16",
  i4: "int32",
  i8: "int64",
  u1: "uint8",
  u2: "uint16",
  u4: "uint32",
  u8: "uint64",
  b1: "bool",
  c8: "complex64",
  c16: "complex128",
};

/**
 * The dtype that a NumPy type string names. Only little-endian data (`<`) and single bytes (`|`) are known.
 *
 * @throws TesseractError UNSUPPORTED_DTYPE
 */
export function dtypeOfTypestr(typestr: string): DType {
  const order = typestr[0];
  const dtype = dtypeByTypestr[typestr.slice(1)];
  const single = typestr.endsWith("1");
  if (
    dtype !== undefined &&
    Object.hasOwn(dtypeByTypestr, typestr.slice(1)) &&
    (order === "<" || (order === "|" && single))
  ) {
    return dtype;
  }
  throw new TesseractError("UNSUPPORTED_DTYPE", `A CUDA array has the type string ${JSON.stringify(typestr)}`, {
    hint: `Known ones are ${Object.keys(dtypeByTypestr)
      .map((name) => `<${name}`)
      .join(", ")}.`,
  });
}
