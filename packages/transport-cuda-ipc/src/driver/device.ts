/** One GPU, and the way to have work done on it. */
import { TesseractError } from "@tesseract-ts/core";
import type { Addon } from "./addon.js";
import { Batch, type OperationOptions } from "./batch.js";
import { asCudaError } from "./errors.js";
import type { DevicePointer, MemoryInfo, MemoryKind, StreamHandle } from "./handles.js";
import type { DeviceInfo } from "./probe.js";
import { BatchResults } from "./results.js";

export type SubmitOptions =
  /** On a stream of the native thread's own; the batch ends when all of its work is done. */
  | { readonly stream?: undefined; readonly wait?: true }
  /**
   * On this stream, behind what is queued there. Without `wait` the batch ends when its work is queued; then whoever
   * waits for it also learns of its failure, and host memory can't be copied.
   */
  | { readonly stream: StreamHandle; readonly wait?: boolean };

export class CudaDevice {
  /** @internal */
  constructor(
    private readonly addon: Addon,
    readonly info: DeviceInfo,
  ) {}

  get ordinal(): number {
    return this.info.ordinal;
  }

  get uuid(): string {
    return this.info.uuid;
  }

  /**
   * Has a batch done by a native thread; the event loop goes on. Batches run beside each other and in no particular
   * order: whoever needs one waits for the other first.
   *
   * Native work can't be interrupted, so there is no `signal`: check one before, and ignore the result after.
   *
   * @throws TesseractError CUDA_ERROR, OUT_OF_DEVICE_MEMORY (both as {@link CudaError}), INVALID_ARGUMENT
   */
  async submit(batch: Batch, { stream, wait = true }: SubmitOptions = {}): Promise<BatchResults> {
    const { words, views } = batch.take();
    if (!wait && views.length > 0) {
      throw new TesseractError("INVALID_ARGUMENT", "A batch that copies host memory has to be waited for");
    }
    if (words.length === 0) return new BatchResults(words);
    try {
      const results = await new Promise<BigUint64Array>((resolve, reject) => {
        this.addon.submit(this.ordinal, words, views, stream ?? 0n, wait, (error, found) => {
          if (error === undefined) resolve(found);
          else reject(error);
        });
      });
      return new BatchResults(results);
    } catch (error) {
      // Made here, so that its stack leads to whoever waits.
      throw asCudaError(error, (operation) => batch.textOf(operation));
    }
  }

  /** A batch of one `alloc`. */
  async alloc(bytes: number, options: OperationOptions & { readonly kind?: MemoryKind } = {}): Promise<DevicePointer> {
    const batch = new Batch();
    const pointer = batch.alloc(bytes, options);
    return (await this.submit(batch)).get(pointer);
  }

  /** A batch of one `free`. */
  async free(pointer: DevicePointer, options: OperationOptions = {}): Promise<void> {
    const batch = new Batch();
    batch.free(pointer, options);
    await this.submit(batch);
  }

  /** How much memory is free now. */
  async memoryInfo(): Promise<MemoryInfo> {
    const batch = new Batch();
    const info = batch.memoryInfo();
    return (await this.submit(batch)).get(info);
  }
}
