/** Arrays in a GPU's memory that this process owns. */
import {
  bytesOf,
  type CudaArray,
  type CudaArrayInterface,
  type DType,
  dtypeKind,
  elementCount,
  type HostArray,
  hostArray,
  isDType,
  itemSize,
  makeHostArray,
  TesseractError,
  type TypedArray,
  viewAs,
} from "@tesseract-ts/core";
import { Batch } from "./driver/batch.js";
import { CudaDevice } from "./driver/device.js";
import { openDriver } from "./driver/driver.js";
import type { DevicePointer } from "./driver/handles.js";
import { unwatch, watch } from "./forgotten-arrays.js";
import { allocate, type OwnedMemory, Storage } from "./storage.js";

export interface DeviceOptions {
  /** Which GPU: its UUID, its ordinal in this process, or itself. The first if left out. */
  readonly device?: string | number | CudaDevice | undefined;
}

export interface FromHostOptions extends DeviceOptions {
  /** Of as many elements as there are; one dimension for a typed array if left out. */
  readonly shape?: readonly number[] | undefined;
  /** Where the typed array's class doesn't say it: `bool`, `float16`, complex dtypes. */
  readonly dtype?: DType | undefined;
}

/** Memory that becomes a {@link DeviceArray}'s, and what is in it. */
export interface OwnedArray extends OwnedMemory {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/**
 * An array in a GPU's memory, in C order. It owns its memory, together with the views that were made of it: the memory is
 * given back when the last of them is disposed of. One that is forgotten is given back when it is garbage collected,
 * with a warning.
 *
 * @example
 * using x = await DeviceArray.fromHost(new Float32Array([1, 2, 3, 4]), { shape: [2, 2] });
 * using row = x.slice(1); // shares the memory of x
 * (await row.copyToHost()).data; // Float32Array [3, 4]
 */
export class DeviceArray implements CudaArray, Disposable, AsyncDisposable {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Bytes of all elements. */
  readonly byteLength: number;
  private disposed = false;

  private constructor(
    private readonly storage: Storage,
    private readonly offset: number,
    dtype: DType,
    shape: readonly number[],
  ) {
    this.dtype = dtype;
    this.shape = Object.freeze([...shape]);
    this.byteLength = byteLengthOf(dtype, shape);
    storage.retain();
    watch(this, { storage, array: this.description, byteLength: this.byteLength });
  }

  /**
   * A copy of an array of the host: a typed array, or a {@link HostArray}. It must not be written to, transferred or
   * detached before the promise settles.
   *
   * @throws TesseractError CUDA_UNAVAILABLE, OUT_OF_DEVICE_MEMORY, CUDA_ERROR, INVALID_ARRAY, UNSUPPORTED_DTYPE,
   *   INVALID_ARGUMENT for an unknown device or a resizable buffer
   */
  static async fromHost(values: TypedArray | HostArray, options: FromHostOptions = {}): Promise<DeviceArray> {
    const host = hostArrayOf(values, options);
    const bytes = plainBytesOf(host);
    const array = await DeviceArray.empty(host.shape, host.dtype, options);
    try {
      const batch = new Batch();
      batch.copyFromHost(array.pointer, bytes, { doing: `copying ${array.description} to the device` });
      await array.storage.memory.device.submit(batch);
      return array;
    } catch (error) {
      array.dispose();
      throw error;
    }
  }

  /**
   * An array whose elements are whatever the memory holds.
   *
   * @throws TesseractError CUDA_UNAVAILABLE, OUT_OF_DEVICE_MEMORY, CUDA_ERROR, INVALID_ARRAY, UNSUPPORTED_DTYPE,
   *   INVALID_ARGUMENT for an unknown device
   */
  static async empty(shape: readonly number[], dtype: DType, { device }: DeviceOptions = {}): Promise<DeviceArray> {
    const bytes = byteLengthOf(dtype, shape);
    const found = device instanceof CudaDevice ? device : (await openDriver()).device(device);
    const doing = `allocating ${describe(dtype, shape)} (${bytes} bytes)`;
    return DeviceArray.own({ ...(await allocate(found, bytes, doing)), dtype, shape });
  }

  /**
   * Takes over memory that exists. Its `release` is called once, when the array and all its views are disposed of and no
   * copy of them is under way; it may give the memory to something else.
   *
   * @throws TesseractError INVALID_ARRAY if the shape needs more bytes than there are; then nothing is taken over
   */
  static own({ dtype, shape, ...memory }: OwnedArray): DeviceArray {
    const needed = byteLengthOf(dtype, shape);
    if (needed > memory.bytes) {
      throw invalidArray(`${describe(dtype, shape)} needs ${needed} bytes, but its memory has ${memory.bytes}`);
    }
    return new DeviceArray(new Storage(memory), 0, dtype, shape);
  }

  /** The UUID of the GPU that it is on. */
  get device(): string {
    return this.storage.memory.device.uuid;
  }

  /** The GPU that it is on, as this process numbers it. */
  get ordinal(): number {
    return this.storage.memory.device.ordinal;
  }

  get isDisposed(): boolean {
    return this.disposed;
  }

  /**
   * Where its memory is, for whoever reads it while the array is kept and isn't disposed of. Its elements are there: no
   * stream has to be waited for.
   *
   * @throws TesseractError DISPOSED
   */
  get cudaArrayInterface(): CudaArrayInterface {
    const { dtype, shape } = this;
    return { shape, typestr: typestrOf(dtype), data: [this.pointer, false], strides: null, version: 3, stream: null };
  }

  /**
   * A copy of it in the host's memory, which is the caller's. The array may be disposed of meanwhile. An abort ends the wait,
   * not the copy, which can't be interrupted.
   *
   * @throws TesseractError DISPOSED, ABORTED, CUDA_ERROR
   */
  async copyToHost({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<HostArray> {
    const { pointer, dtype, shape, storage } = this;
    if (signal?.aborted === true) throw this.aborted(signal);
    const bytes = new Uint8Array(this.byteLength);
    const batch = new Batch();
    batch.copyToHost(bytes, pointer, { doing: `copying ${this.description} to the host` });
    storage.retain();
    const copied = storage.memory.device.submit(batch).finally(() => storage.letGo());
    await (signal === undefined ? copied : orAborted(copied, signal, () => this.aborted(signal)));
    return makeHostArray(dtype, shape, viewAs(dtype, bytes.buffer));
  }

  /**
   * A view of the elements from `start` up to `end` along the first dimension, which count from the end if negative, as in
   * a typed array's `subarray`. It shares the memory, and has to be disposed of as well.
   *
   * @throws TesseractError DISPOSED, INVALID_ARGUMENT for a scalar
   */
  slice(start = 0, end?: number): DeviceArray {
    this.check();
    const [length, ...rest] = this.shape;
    if (length === undefined) throw new TesseractError("INVALID_ARGUMENT", "A scalar has no dimension to slice");
    const from = clamped(start, length);
    const to = Math.max(from, end === undefined ? length : clamped(end, length));
    const step = byteLengthOf(this.dtype, rest);
    return new DeviceArray(this.storage, this.offset + from * step, this.dtype, [to - from, ...rest]);
  }

  /**
   * A view with another shape of as many elements. It shares the memory, and has to be disposed of as well.
   *
   * @throws TesseractError DISPOSED, INVALID_ARRAY
   */
  reshape(shape: readonly number[]): DeviceArray {
    this.check();
    byteLengthOf(this.dtype, shape); // that it is one
    if (elementCount(shape) !== elementCount(this.shape)) {
      throw invalidArray(`An array of shape [${this.shape.join(", ")}] can't have the shape [${shape.join(", ")}]`);
    }
    return new DeviceArray(this.storage, this.offset, this.dtype, shape);
  }

  /** Ends its use of the memory; a second time does nothing. Views, and copies under way, keep what they share. */
  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    unwatch(this);
    this.storage.letGo();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Disposes of it, and waits until the memory has gone back if nothing else shares it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.dispose();
    await this.storage.end;
  }

  private get pointer(): DevicePointer {
    this.check();
    return (this.storage.memory.pointer + BigInt(this.offset)) as DevicePointer;
  }

  private get description(): string {
    return describe(this.dtype, this.shape);
  }

  private check(): void {
    if (!this.disposed) return;
    throw new TesseractError("DISPOSED", `A DeviceArray (${this.description}) was used after it was disposed of`, {
      hint: "Keep it, or a view of it (`reshape`), until its last use has ended.",
    });
  }

  private aborted(signal: AbortSignal): TesseractError {
    return new TesseractError("ABORTED", `Copying ${this.description} to the host was aborted`, {
      cause: signal.reason,
    });
  }
}

async function orAborted<T>(work: Promise<T>, signal: AbortSignal, error: () => Error): Promise<T> {
  let abort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(error());
    signal.addEventListener("abort", abort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function hostArrayOf(values: TypedArray | HostArray, { shape, dtype }: FromHostOptions): HostArray {
  const own = ArrayBuffer.isView(values) ? undefined : values;
  const options = { dtype: dtype ?? own?.dtype, shape: shape ?? own?.shape };
  return hostArray(own?.data ?? (values as TypedArray), {
    ...(options.dtype === undefined ? {} : { dtype: options.dtype }),
    ...(options.shape === undefined ? {} : { shape: options.shape }),
  });
}

/** An array's bytes in memory that native code can read while JavaScript goes on: shared memory is copied first. */
function plainBytesOf(host: HostArray): Uint8Array {
  try {
    const bytes = bytesOf(host);
    return bytes.buffer instanceof ArrayBuffer ? bytes : bytes.slice();
  } catch (cause) {
    throw new TesseractError("INVALID_ARGUMENT", "The buffer of an array was transferred or detached", { cause });
  }
}

/** @throws TesseractError INVALID_ARRAY, UNSUPPORTED_DTYPE */
function byteLengthOf(dtype: DType, shape: readonly number[]): number {
  if (!isDType(dtype)) throw new TesseractError("UNSUPPORTED_DTYPE", `Device arrays have no dtype ${String(dtype)}`);
  const isShape = Array.isArray(shape) && shape.every((size) => Number.isSafeInteger(size) && size >= 0);
  if (!isShape) throw invalidArray(`[${String(shape)}] is no shape: it has whole numbers from 0 on`);
  const bytes = elementCount(shape) * itemSize(dtype);
  if (!Number.isSafeInteger(bytes)) throw invalidArray(`The shape [${shape.join(", ")}] has too many elements`);
  return bytes;
}

/** NumPy's type string: `<f8`, and `|u1` for single bytes, which have no order. */
function typestrOf(dtype: DType): string {
  const letters = { float: "f", int: "i", uint: "u", bool: "b", complex: "c" } as const;
  const bytes = itemSize(dtype);
  return `${bytes === 1 ? "|" : "<"}${letters[dtypeKind(dtype)]}${bytes}`;
}

const describe = (dtype: DType, shape: readonly number[]): string => `${dtype} [${shape.join(", ")}]`;

const clamped = (index: number, length: number): number =>
  Math.trunc(index < 0 ? Math.max(0, length + index) : Math.min(index, length));

const invalidArray = (message: string): TesseractError => new TesseractError("INVALID_ARRAY", message);
