// What both Tesseracts do with their input: read it where it is on the GPU, and put the result beside it.

import type { CudaArray, HostArray } from "@tesseract-ts/core";
import { Batch, DeviceArray, type DevicePointer, openDriver } from "@tesseract-ts/transport-cuda-ipc";

/** float32 (rows, columns), wherever it is. */
export type Field = HostArray<"float32"> | CudaArray;

/** The bytes of a float32. */
export const ITEM = 4;

interface Source {
  readonly pointer: DevicePointer;
  readonly rows: number;
  readonly columns: number;
}

/** Queues copies from `source` to `result`; `scratch` is as large as the source. */
export type Copies = (batch: Batch, source: Source, result: DevicePointer, scratch: DevicePointer) => void;

/**
 * A result of `shape` that is made by copies on the device. It goes back to where the field is: an array of the host is brought to the
 * device for it, and its result to the host.
 */
export async function byCopies(
  field: Field,
  shape: (rows: number, columns: number) => readonly [number, number],
  copies: Copies,
): Promise<DeviceArray | HostArray> {
  if ("cudaArrayInterface" in field) return onDevice(field, shape, copies);
  await using source = await DeviceArray.fromHost(field);
  await using result = await onDevice(source, shape, copies);
  return await result.copyToHost();
}

async function onDevice(
  field: CudaArray,
  shape: (rows: number, columns: number) => readonly [number, number],
  copies: Copies,
): Promise<DeviceArray> {
  const { shape: size, data, strides, stream } = field.cudaArrayInterface;
  if (strides !== undefined && strides !== null) throw new TypeError("The field must be in C order.");
  const [rows = 0, columns = 0] = size;
  const device = (await openDriver()).device(field.device);
  await using scratch = await DeviceArray.empty(size, "float32", { device });
  const result = await DeviceArray.empty(shape(rows, columns), "float32", { device });
  try {
    const batch = new Batch("moving a field");
    batch.waitForStream(stream);
    copies(batch, { pointer: data[0], rows, columns }, pointerOf(result), pointerOf(scratch));
    await device.submit(batch);
    return result;
  } catch (error) {
    result.dispose();
    throw error;
  }
}

const pointerOf = (array: DeviceArray): DevicePointer => array.cudaArrayInterface.data[0] as DevicePointer;

/** The address `bytes` further on. */
export const after = (pointer: DevicePointer, bytes: number): DevicePointer =>
  (pointer + BigInt(bytes)) as DevicePointer;
