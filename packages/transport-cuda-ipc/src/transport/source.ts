/** Reads and checks what a CUDA array says of itself. */
import { type CudaArray, type DType, dtypeOfTypestr, itemSize, TesseractError } from "@tesseract-ts/core";
import { type DevicePointer, NULL_POINTER } from "../driver/handles.js";

/** An array that is to be sent. */
export interface Source {
  readonly array: CudaArray;
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** Bytes of its elements in C order. */
  readonly bytes: number;
  readonly pointer: DevicePointer;
  /** Undefined where the elements stand in C order without gaps. */
  readonly strides: readonly number[] | undefined;
  /** What must have ended before the elements are there; null if they are. */
  readonly stream: bigint | number | null;
}

const KNOWN_VERSION = 3;

/**
 * @param name of the array, for error messages
 * @throws TesseractError INVALID_ARRAY, UNSUPPORTED_DTYPE, DISPOSED
 */
export function readSource(array: CudaArray, name: string): Source {
  const { shape, typestr, data, strides = null, version, stream = null, ...rest } = array.cudaArrayInterface;
  const refuse = (what: string, hint?: string): TesseractError =>
    new TesseractError("INVALID_ARRAY", `${name}: ${what}`, { hint });
  if (version !== KNOWN_VERSION) {
    throw refuse(`its cudaArrayInterface has version ${String(version)}; version ${KNOWN_VERSION} is known`);
  }
  if ("mask" in rest && rest.mask !== null && rest.mask !== undefined)
    throw refuse("it has a mask, which can't be sent");
  const dtype = dtypeOfTypestr(typestr);
  if (!Array.isArray(shape) || !shape.every((size) => Number.isSafeInteger(size) && size >= 0)) {
    throw refuse(`its shape [${String(shape)}] isn't one`);
  }
  const item = itemSize(dtype);
  const bytes = shape.reduce<number>((product, size) => product * size, item);
  if (!Number.isSafeInteger(bytes)) throw refuse(`its shape [${shape.join(", ")}] is too large`);
  const pointer = pointerOf(data, refuse);
  if (bytes > 0 && pointer === NULL_POINTER) {
    throw refuse(`its pointer is 0, but it has ${bytes} bytes`, "Was its memory freed?");
  }
  if (strides !== null && (strides.length !== shape.length || !strides.every(Number.isSafeInteger))) {
    throw refuse(`its strides [${strides.join(", ")}] don't fit its shape [${shape.join(", ")}]`);
  }
  if (stream !== null && (stream === 0 || stream === 0n)) {
    throw refuse("its stream is 0, which could be either default stream", "Use 1 for the legacy default stream.");
  }
  const strided = strides !== null && bytes > 0 && !isContiguous(shape, strides, item);
  return { array, shape, dtype, bytes, pointer, strides: strided ? strides : undefined, stream };
}

function pointerOf(data: unknown, refuse: (what: string) => TesseractError): DevicePointer {
  const [pointer] = Array.isArray(data) ? (data as readonly unknown[]) : [];
  if (typeof pointer === "bigint" && pointer >= 0n && pointer < 2n ** 64n) return pointer as DevicePointer;
  // Frameworks may give null for an array without elements.
  if (pointer === null) return NULL_POINTER;
  if (typeof pointer === "number" && Number.isSafeInteger(pointer) && pointer >= 0)
    return BigInt(pointer) as DevicePointer;
  throw refuse("its pointer isn't an address (a bigint)");
}

/** Strides along dimensions of size 1 mean nothing. */
function isContiguous(shape: readonly number[], strides: readonly number[], item: number): boolean {
  let expected = item;
  for (let dimension = shape.length - 1; dimension >= 0; dimension--) {
    const size = shape[dimension] ?? 1;
    if (size !== 1 && strides[dimension] !== expected) return false;
    expected *= size;
  }
  return true;
}

/** The bytes that an array's elements are among, relative to its address. */
export function extentOf({ shape, strides, bytes }: Source): { readonly from: number; readonly to: number } {
  if (strides === undefined) return { from: 0, to: bytes };
  const item = bytes / shape.reduce((product, size) => product * size, 1);
  let from = 0;
  let to = item;
  for (const [dimension, size] of shape.entries()) {
    const reach = (size - 1) * (strides[dimension] ?? 0);
    if (reach < 0) from += reach;
    else to += reach;
  }
  return { from, to };
}
