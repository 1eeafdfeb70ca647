/** Exports the arrays of one message to another process. */
import { type CudaArray, type EncodedArray, type EncodedMessage, type Lease, TesseractError } from "@tesseract-ts/core";
import { DeviceArray } from "../device-array.js";
import { Batch } from "../driver/batch.js";
import type { CudaDevice } from "../driver/device.js";
import type { CudaDriver } from "../driver/driver.js";
import type { AddressRange, IpcHandle, PointerAttributes } from "../driver/handles.js";
import type { Result } from "../driver/results.js";
import { DeviceMemory } from "../memory/device-memory.js";
import type { Block, Slab } from "../memory/slab.js";
import { formatDescriptor } from "./descriptor.js";
import { extentOf, readSource, type Source } from "./source.js";

/** Where an array's elements are, or are going to be, for another process to read. */
type Place =
  /** In memory that lasts. */
  | { readonly kind: "kept"; readonly slab: Slab; readonly offset: number }
  /** In the caller's own memory, whose handle the batch asks for. */
  | { readonly kind: "own"; readonly range: AddressRange; readonly handle: Result<IpcHandle> };

/** An array with the device that it lives on. */
interface Located {
  readonly source: Source;
  readonly device: CudaDevice;
  readonly name: string;
  /** Undefined if it is in memory of this package's. */
  readonly attributes: PointerAttributes | undefined;
}

export interface EncodeOptions {
  readonly signal: AbortSignal | undefined;
  /** Told of memory of this package's that the message names. */
  readonly announce: (slabs: ReadonlySet<Slab>) => Readonly<Record<string, string>>;
}

/**
 * Arrays that have no handle (virtual memory, pools, managed memory) and strided ones are first copied on the device. All
 * that must have happened before another process may read is waited for once per device.
 *
 * @throws TesseractError INVALID_ARRAY, UNSUPPORTED_DTYPE, DISPOSED, CUDA_ERROR, OUT_OF_DEVICE_MEMORY; then nothing is kept
 */
export async function encodeArrays(
  driver: CudaDriver,
  arrays: readonly CudaArray[],
  { signal, announce }: EncodeOptions,
): Promise<EncodedMessage> {
  const lease = new ExportLease();
  try {
    const sources = arrays.map((array, index) => {
      lease.keep(array);
      return readSource(array, `GPU array ${index + 1} of ${arrays.length}`);
    });
    const located = await locate(driver, sources);
    signal?.throwIfAborted();
    const encoded = new Map<Source, EncodedArray>();
    const slabs = new Set<Slab>();
    await allOrFirstFailure(
      byDevice(located).map(([device, group]) => exportFrom(device, group, lease, encoded, slabs)),
    );
    signal?.throwIfAborted();
    const inOrder = sources.map((source) => encoded.get(source) ?? emptyArray(driver, source));
    return { arrays: inOrder, lease, headers: announce(slabs) };
  } catch (error) {
    await lease.release();
    throw error;
  }
}

/** Owns what a message exports: the arrays, and the memory that they were copied to. */
class ExportLease implements Lease {
  private arrays: CudaArray[] = [];
  private readonly blocks: Block[] = [];

  /** A device array is kept even if its owner disposes of it meanwhile; others are only kept from the garbage collector. */
  keep(array: CudaArray): void {
    this.arrays.push(array instanceof DeviceArray ? array.reshape(array.shape) : array);
  }

  own(block: Block): void {
    this.blocks.push(block);
  }

  async release(): Promise<void> {
    for (const array of this.arrays.splice(0)) if (array instanceof DeviceArray) array.dispose();
    for (const block of this.blocks.splice(0)) DeviceMemory.of(block.slab.device).release(block);
  }
}

/** A source whose device is known, or what will tell it. */
interface Found {
  readonly source: Source;
  readonly name: string;
  /** Of this package's own memory. */
  readonly slab?: Slab;
  readonly attributes?: Result<PointerAttributes>;
}

/** The driver is asked about all the addresses that this package doesn't know, at once and without waiting for anything. */
async function locate(driver: CudaDriver, sources: readonly Source[]): Promise<Located[]> {
  const batch = new Batch("looking for the memory of GPU arrays");
  const found = sources.flatMap((source, index): Found[] => {
    if (source.bytes === 0) return [];
    const name = `GPU array ${index + 1} of ${sources.length}`;
    const slab = driver.devices.map((device) => DeviceMemory.of(device).find(source.pointer)).find((kept) => kept);
    if (slab !== undefined) return [{ source, name, slab }];
    return [
      { source, name, attributes: batch.attributes(source.pointer, { doing: `looking for the memory of ${name}` }) },
    ];
  });
  const results = batch.length === 0 ? undefined : await driver.device().submit(batch);
  return found.map(({ source, name, slab, attributes: asked }) => {
    if (slab !== undefined) {
      checkExtent(source, name, slab.blockAt(source.pointer));
      return { source, name, device: slab.device, attributes: undefined };
    }
    const attributes = asked === undefined ? undefined : results?.get(asked);
    if (attributes === undefined || attributes.memoryType !== "device" || attributes.ordinal === undefined) {
      throw new TesseractError("INVALID_ARRAY", `${name}: its address isn't one of device memory`, {
        hint: "Was its memory freed, or is it an array in the host's memory?",
      });
    }
    checkExtent(source, name, attributes.range);
    return { source, name, device: driver.device(attributes.ordinal), attributes };
  });
}

/** @param range the memory that its address is in */
function checkExtent(source: Source, name: string, { base, bytes }: AddressRange): void {
  const { from, to } = extentOf(source);
  const offset = Number(source.pointer - base);
  if (offset + from >= 0 && offset + to <= bytes) return;
  throw new TesseractError(
    "INVALID_ARRAY",
    `${name}: its elements reach from ${from} to ${to} bytes behind its address, but its memory from ${-offset} to ${bytes - offset}`,
  );
}

function byDevice(located: readonly Located[]): [CudaDevice, Located[]][] {
  const groups = new Map<CudaDevice, Located[]>();
  for (const each of located) groups.set(each.device, [...(groups.get(each.device) ?? []), each]);
  return [...groups];
}

/** Exports the arrays of one device, with one batch. */
async function exportFrom(
  device: CudaDevice,
  group: readonly Located[],
  lease: ExportLease,
  encoded: Map<Source, EncodedArray>,
  slabs: Set<Slab>,
): Promise<void> {
  const memory = DeviceMemory.of(device);
  const staged = group.filter(needsCopy);
  const blocks = await memory.acquire(
    staged.map(({ source }) => source.bytes),
    "copying GPU arrays to memory that can be shared",
  );
  for (const block of blocks) lease.own(block);

  const batch = new Batch("exporting GPU arrays");
  for (const stream of new Set(group.map(({ source }) => source.stream))) batch.waitForStream(stream);
  for (const [index, each] of staged.entries()) copyInto(batch, blocks[index] as Block, each);
  const asked = new Map<Slab, Result<IpcHandle>>();
  const places = group.map((each): Place => {
    const staging = blocks[staged.indexOf(each)];
    const slab = staging?.slab ?? memory.find(each.source.pointer);
    if (slab !== undefined) {
      if (slab.export === undefined && !asked.has(slab)) asked.set(slab, batch.ipcHandle(slab.base));
      const pointer = staging?.pointer ?? each.source.pointer;
      return { kind: "kept", slab, offset: Number(pointer - slab.base) };
    }
    const { range } = each.attributes as PointerAttributes;
    return {
      kind: "own",
      range,
      handle: batch.ipcHandle(range.base, { doing: `exporting the memory of ${each.name}` }),
    };
  });
  const results = batch.length === 0 ? undefined : await device.submit(batch);

  for (const [slab, handle] of asked) if (results !== undefined) slab.handle = results.get(handle);
  group.forEach(({ source }, index) => {
    const place = places[index] as Place;
    if (place.kind === "kept") slabs.add(place.slab);
    const { handle, offset, size } =
      place.kind === "kept"
        ? { handle: place.slab.export?.handle, offset: place.offset, size: place.slab.bytes }
        : {
            handle: results?.get(place.handle),
            offset: Number(source.pointer - place.range.base),
            size: place.range.bytes,
          };
    encoded.set(source, arrayOf(source, formatDescriptor({ uuid: device.uuid, handle, offset, size })));
  });
}

const needsCopy = ({ source, attributes }: Located): boolean =>
  source.strides !== undefined || (attributes !== undefined && (!attributes.legacyIpcCapable || attributes.managed));

function copyInto(batch: Batch, { pointer }: Block, { source, name }: Located): void {
  const { strides, shape, bytes } = source;
  const doing = `copying ${name} to memory that can be shared`;
  if (strides === undefined) {
    batch.copy(pointer, source.pointer, bytes, { doing });
    return;
  }
  const elements = shape.reduce((product, size) => product * size, 1);
  batch.copyStrided(pointer, source.pointer, { shape, strides, itemSize: bytes / elements }, { doing });
}

const arrayOf = ({ shape, dtype }: Source, buffer: string): EncodedArray => ({
  object_type: "array",
  shape,
  dtype,
  data: { encoding: "cuda_ipc", buffer },
});

/** An array without elements has no memory; it is said to be on the device that it says, or on the first. */
function emptyArray(driver: CudaDriver, source: Source): EncodedArray {
  const { device } = source.array;
  const uuid = (device === undefined ? undefined : driver.find(device))?.uuid ?? driver.device().uuid;
  return arrayOf(source, formatDescriptor({ uuid, handle: undefined, offset: 0, size: 0 }));
}

/** Waits for all, so that nothing is still going on when one has failed. */
export async function allOrFirstFailure(work: readonly Promise<void>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(work)) if (outcome.status === "rejected") throw outcome.reason;
}
