/** Copies the arrays of a message out of another process's memory. */
import { type ReceivedArray, TesseractError } from "@tesseract-ts/core";
import { DeviceArray } from "../device-array.js";
import { Batch } from "../driver/batch.js";
import type { CudaDevice } from "../driver/device.js";
import type { CudaDriver } from "../driver/driver.js";
import { CudaError } from "../driver/errors.js";
import { type DevicePointer, type IpcHandle, NULL_POINTER } from "../driver/handles.js";
import { DeviceMemory } from "../memory/device-memory.js";
import { type Block, nameOfHandle } from "../memory/slab.js";
import { bytesOfArray, type Descriptor, parseDescriptor } from "./descriptor.js";
import { allOrFirstFailure } from "./encode.js";
import { closeMappings, type Mapping, type Mappings } from "./mappings.js";

export interface DecodeOptions {
  readonly signal: AbortSignal | undefined;
  readonly mappings: Mappings;
  /** Whether the sender keeps the allocation of this name until this process has let go of it. */
  readonly lasts: (name: string) => boolean;
}

/** An array that came and has elements. */
interface Incoming {
  readonly array: ReceivedArray;
  /** Its place in the message. */
  readonly index: number;
  readonly bytes: number;
  readonly descriptor: Descriptor & { readonly handle: IpcHandle };
}

/**
 * Each array gets memory of its own, and is complete when this resolves; the sender's memory is no longer read then. The
 * copies of a device are waited for once.
 *
 * @throws TesseractError DECODE_FAILED, RUNTIME_TOO_OLD, CUDA_ERROR, OUT_OF_DEVICE_MEMORY; then nothing is kept
 */
export async function decodeArrays(
  driver: CudaDriver,
  encoded: readonly ReceivedArray[],
  options: DecodeOptions,
): Promise<DeviceArray[]> {
  const groups = new Map<CudaDevice, Incoming[]>();
  const decoded: DeviceArray[] = [];
  try {
    for (const [index, array] of encoded.entries()) {
      const descriptor = parseDescriptor(array);
      const device = deviceOf(driver, array.path, descriptor);
      const bytes = bytesOfArray(array);
      const { handle } = descriptor;
      if (handle === undefined || bytes === 0) {
        decoded[index] = emptyArray(array, device);
        continue;
      }
      const group = groups.get(device) ?? [];
      group.push({ array, index, bytes, descriptor: { ...descriptor, handle } });
      groups.set(device, group);
    }
    await allOrFirstFailure([...groups].map(([device, group]) => decodeOn(device, group, options, decoded)));
    options.signal?.throwIfAborted();
  } catch (error) {
    for (const array of decoded) array?.dispose();
    throw error;
  }
  return decoded;
}

async function decodeOn(
  device: CudaDevice,
  group: readonly Incoming[],
  { signal, mappings, lasts }: DecodeOptions,
  decoded: DeviceArray[],
): Promise<void> {
  const found = await mapAll(device, group, mappings, signal);
  const { used, opened } = found;
  const memory = DeviceMemory.of(device);
  const kept = opened.filter(({ name }) => lasts(name));
  let blocks: readonly Block[] = [];
  let closed = false;
  try {
    for (const { array, bytes, descriptor } of group) checkRange(array, bytes, descriptor, found.of(descriptor.handle));
    signal?.throwIfAborted();
    blocks = await memory.acquire(
      group.map(({ bytes }) => bytes),
      "making room for GPU arrays that came",
    );
    signal?.throwIfAborted();
    const batch = new Batch("decoding GPU arrays");
    group.forEach(({ array, bytes, descriptor }, index) => {
      const from = (found.of(descriptor.handle).base + BigInt(descriptor.offset)) as DevicePointer;
      batch.copy((blocks[index] as Block).pointer, from, bytes, { doing: `copying ${array.path}` });
    });
    for (const mapping of opened) if (!kept.includes(mapping)) batch.ipcClose(mapping.base);
    closed = true;
    await device.submit(batch);
  } catch (error) {
    for (const block of blocks) memory.release(block);
    await closeMappings(closed ? kept : opened);
    throw error;
  } finally {
    mappings.done(used);
  }
  for (const [at, { array, index, bytes }] of group.entries()) {
    const block = blocks[at] as Block;
    const { dtype, shape } = array;
    const release = (): void => memory.release(block);
    decoded[index] = DeviceArray.own({ pointer: block.pointer, bytes, dtype, shape, device, release });
  }
  await mappings.keep(kept);
}

/** Opens what isn't open yet, each allocation once, and learns how large it is. */
async function mapAll(
  device: CudaDevice,
  group: readonly Incoming[],
  mappings: Mappings,
  signal: AbortSignal | undefined,
): Promise<{ readonly used: Mapping[]; readonly opened: Mapping[]; of(handle: IpcHandle): Mapping }> {
  signal?.throwIfAborted();
  const byName = new Map<string, Mapping>();
  const used: Mapping[] = [];
  const batch = new Batch("mapping another process's device memory");
  const opening: { name: string; base: ReturnType<Batch["ipcOpen"]>; range: ReturnType<Batch["addressRange"]> }[] = [];
  for (const { array, descriptor } of group) {
    const name = nameOfHandle(descriptor.handle);
    if (byName.has(name) || opening.some((other) => other.name === name)) continue;
    const known = mappings.use(device, descriptor.handle);
    if (known !== undefined) {
      used.push(known);
      byName.set(name, known);
      continue;
    }
    const base = batch.ipcOpen(descriptor.handle, {
      doing: `opening the memory of ${array.path} from another process`,
    });
    opening.push({ name, base, range: batch.addressRange(base) });
  }
  const opened: Mapping[] = [];
  if (opening.length > 0) {
    try {
      const results = await device.submit(batch);
      for (const { name, base, range } of opening) {
        opened.push({ device, name, base: results.get(base), bytes: results.get(range).bytes });
      }
    } catch (error) {
      mappings.done(used);
      throw explained(error);
    }
    for (const mapping of opened) byName.set(mapping.name, mapping);
  }
  return { used, opened, of: (handle) => byName.get(nameOfHandle(handle)) as Mapping };
}

/** @throws TesseractError DECODE_FAILED */
export function checkRange({ path }: ReceivedArray, bytes: number, { offset }: Descriptor, mapping: Mapping): void {
  if (offset + bytes <= mapping.bytes) return;
  throw new TesseractError(
    "DECODE_FAILED",
    `${path}: the array needs ${bytes} bytes from ${offset} on, but the allocation that it names has ${mapping.bytes}`,
  );
}

/** @throws TesseractError DECODE_FAILED */
export function deviceOf(driver: CudaDriver, path: string, { uuid }: Descriptor): CudaDevice {
  const device = driver.find(uuid);
  if (device !== undefined) return device;
  throw new TesseractError("DECODE_FAILED", `${path}: the array lives on GPU ${uuid}, which this process can't see`, {
    hint:
      "Give both processes that GPU (--gpus, CUDA_VISIBLE_DEVICES). This one sees " +
      `${driver.devices.map((visible) => visible.uuid).join(", ")}.`,
  });
}

/** Results of `cuIpcOpenMemHandle` that have more to do with how the processes were started than with the call. */
const INVALID_VALUE = 1;
const INVALID_CONTEXT = 201;

/** An error of opening, with what it usually means. */
export function explained(error: unknown): unknown {
  if (!(error instanceof CudaError) || (error.driverCode !== INVALID_VALUE && error.driverCode !== INVALID_CONTEXT)) {
    return error;
  }
  return new TesseractError("CUDA_ERROR", error.message, {
    cause: error,
    hint:
      "The driver says so where the memory is the opening process's own, where it was freed meanwhile, and where the two " +
      "processes don't share an IPC or PID namespace: containers need --ipc=host, and some drivers --pid=host too.",
  });
}

const emptyArray = ({ shape, dtype }: ReceivedArray, device: CudaDevice): DeviceArray =>
  DeviceArray.own({ pointer: NULL_POINTER, bytes: 0, dtype, shape, device, release: () => {} });
