/** Reads the array of a check: another process's memory, straight to the host. */
import { type ReceivedArray, TesseractError } from "@tesseract-ts/core";
import { Batch } from "../driver/batch.js";
import type { CudaDriver } from "../driver/driver.js";
import type { DevicePointer } from "../driver/handles.js";
import { nameOfHandle } from "../memory/slab.js";
import { checkRange, deviceOf, explained } from "./decode.js";
import { bytesOfArray, parseDescriptor } from "./descriptor.js";
import { closeMappings } from "./mappings.js";

/** More isn't read: the arrays of checks have 256 bytes, and this one comes from outside. */
const MOST_BYTES = 1 << 16;

/** @throws TesseractError DECODE_FAILED, CUDA_ERROR */
export async function readBytes(driver: CudaDriver, array: ReceivedArray): Promise<Uint8Array> {
  const descriptor = parseDescriptor(array);
  const bytes = bytesOfArray(array);
  if (bytes > MOST_BYTES) {
    throw new TesseractError("DECODE_FAILED", `${array.path}: an array of ${bytes} bytes is no check's`);
  }
  const device = deviceOf(driver, array.path, descriptor);
  const { handle, offset } = descriptor;
  const found = new Uint8Array(bytes);
  if (handle === undefined || bytes === 0) return found;
  const opening = new Batch("mapping another process's device memory for a check");
  const base = opening.ipcOpen(handle, { doing: `opening the memory of ${array.path} from another process` });
  const range = opening.addressRange(base);
  const results = await device.submit(opening).catch((error: unknown) => {
    throw explained(error);
  });
  const mapping = { device, name: nameOfHandle(handle), base: results.get(base), bytes: results.get(range).bytes };
  try {
    checkRange(array, bytes, descriptor, mapping);
    const reading = new Batch("reading the array of a check");
    reading.copyToHost(found, (mapping.base + BigInt(offset)) as DevicePointer);
    await device.submit(reading);
  } finally {
    await closeMappings([mapping]);
  }
  return found;
}
