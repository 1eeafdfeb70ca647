/** Device memory that several arrays share: it goes back to its owner with the last of them. */
import { TesseractError } from "@tesseract-ts/core";
import type { CudaDevice } from "./driver/device.js";
import { type DevicePointer, NULL_POINTER } from "./driver/handles.js";
import { DeviceMemory } from "./memory/device-memory.js";

/** Device memory, and what is to be done with it in the end. */
export interface OwnedMemory {
  readonly pointer: DevicePointer;
  readonly bytes: number;
  readonly device: CudaDevice;
  /** Gives the memory back; it is called once, when nothing uses it any more. */
  readonly release: () => void | Promise<void>;
}

/** Memory that is counted by its users: arrays, and copies that are under way. */
export class Storage {
  private users = 0;
  private ended: Promise<void> | undefined;

  constructor(readonly memory: OwnedMemory) {}

  retain(): void {
    if (this.ended !== undefined) throw new TesseractError("DISPOSED", "Device memory is used after it was given back");
    this.users += 1;
  }

  /** The end of one use; with the last one the memory goes back. */
  letGo(): void {
    this.users -= 1;
    if (this.users > 0) return;
    this.ended = (async () => this.memory.release())();
    this.ended.catch((error: unknown) => process.emitWarning(`Device memory can't be given back: ${String(error)}`));
  }

  /** Resolves when the memory has gone back, if it is about to; rejects if that failed. */
  get end(): Promise<void> {
    return this.ended ?? Promise.resolve();
  }
}

/**
 * Memory of this environment's own on a device, uninitialized; none for 0 bytes.
 *
 * @throws TesseractError OUT_OF_DEVICE_MEMORY, CUDA_ERROR
 */
export async function allocate(device: CudaDevice, bytes: number, doing: string): Promise<OwnedMemory> {
  if (bytes === 0) return { pointer: NULL_POINTER, bytes, device, release: () => {} };
  const memory = DeviceMemory.of(device);
  const [block] = await memory.acquire([bytes], doing);
  if (block === undefined) throw new RangeError("One block was asked for, and none was given");
  return { pointer: block.pointer, bytes, device, release: () => memory.release(block) };
}
