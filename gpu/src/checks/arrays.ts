/** Checks of one process: the driver, its memory, and device arrays. */
import {
  bytesOf,
  type DType,
  dtypes,
  elementCount,
  type HostArray,
  itemSize,
  makeHostArray,
  viewAs,
} from "@tesseract-ts/core";
import { Batch, DeviceArray, DeviceMemory, type MemoryKind, openDriver } from "@tesseract-ts/transport-cuda-ipc";
import { sizeText } from "../options.js";
import { Skipped } from "../remote.js";
import { type Check, expectEqual } from "./check.js";

export const memoryKinds: readonly MemoryKind[] = ["plain", "virtual", "pool"];

/** Distinct bytes; of zeros and ones for `bool`. */
export function valuesOf(dtype: DType, shape: readonly number[]): HostArray {
  const bytes = new Uint8Array(elementCount(shape) * itemSize(dtype));
  const modulus = dtype === "bool" ? 2 : 251;
  bytes.forEach((_, at) => {
    bytes[at] = (at * 7 + 1) % modulus;
  });
  return makeHostArray(dtype, shape, viewAs(dtype, bytes.buffer));
}

export async function supports(kind: MemoryKind): Promise<boolean> {
  const { info } = (await openDriver()).device();
  return kind === "plain" || (kind === "virtual" ? info.virtualMemory : info.memoryPools);
}

export const driverChecks: Readonly<Record<string, Check>> = {
  "driver and devices": async () => {
    const { version, devices } = await openDriver();
    const texts = devices.map(({ info }) => {
      const capability = info.computeCapability.join(".");
      return `${info.ordinal}: ${info.name}, ${sizeText(info.totalMemory)}, ${capability}${info.mig ? ", MIG" : ""}, ${info.uuid}`;
    });
    return `CUDA ${version}; ${texts.join("; ")}`;
  },

  "memory kinds, and which have IPC handles": async () => {
    const device = (await openDriver()).device();
    const found: string[] = [];
    for (const kind of memoryKinds) {
      if (!(await supports(kind))) {
        found.push(`${kind}: not on this device`);
        continue;
      }
      const batch = new Batch(`looking at ${kind} memory`);
      const pointer = batch.alloc(4096, { kind });
      const attributes = batch.attributes(pointer);
      batch.free(pointer);
      const { memoryType, legacyIpcCapable } = (await device.submit(batch)).get(attributes);
      expectEqual(memoryType, "device", `${kind} memory`);
      expectEqual(legacyIpcCapable, kind === "plain", `${kind} memory has a handle`);
      found.push(`${kind}: ${legacyIpcCapable ? "has one" : "has none"}`);
    }
    return found.join(", ");
  },
};

export const arrayChecks: Readonly<Record<string, Check>> = {
  "round trip of every dtype": async () => {
    for (const dtype of dtypes) {
      const values = valuesOf(dtype, [3, 5]);
      const array = await DeviceArray.fromHost(values);
      expectEqual(bytesOf(await array.copyToHost()), bytesOf(values), dtype);
      array.dispose();
    }
    return `${dtypes.length} dtypes`;
  },

  "slices and reshaped views": async () => {
    const whole = await DeviceArray.fromHost(
      Float64Array.from({ length: 12 }, (_, index) => index),
      { shape: [6, 2] },
    );
    const rows = whole.slice(2, 4);
    const flat = rows.reshape([4]);
    whole.dispose();
    expectEqual([...(await flat.copyToHost()).data], [4, 5, 6, 7], "rows 2 and 3");
    rows.dispose();
    flat.dispose();
    return "of 6 rows, after the whole was disposed of";
  },

  "empty arrays and scalars": async () => {
    for (const shape of [[0, 3], []]) {
      const values = valuesOf("float32", shape);
      const array = await DeviceArray.fromHost(values);
      expectEqual(bytesOf(await array.copyToHost()), bytesOf(values), `[${shape}]`);
      array.dispose();
    }
    return "[0, 3] and []";
  },

  "strided copies on the device": async () => {
    const array = await DeviceArray.fromHost(
      Float32Array.from({ length: 6 }, (_, index) => index),
      { shape: [2, 3] },
    );
    const device = (await openDriver()).device();
    const batch = new Batch("transposing");
    const to = batch.alloc(24);
    const [pointer] = array.cudaArrayInterface.data;
    batch.copyStrided(to, pointer, { shape: [3, 2], strides: [4, 12], itemSize: 4 });
    const found = new Uint8Array(24);
    batch.copyToHost(found, to);
    batch.free(to);
    await device.submit(batch);
    array.dispose();
    expectEqual([...new Float32Array(found.buffer)], [0, 3, 1, 4, 2, 5], "a transposed matrix");
    return "a transposed matrix";
  },

  "too much memory is refused, and the device works on": async () => {
    const device = (await openDriver()).device();
    const error = await DeviceArray.empty([device.info.totalMemory * 2], "uint8").then(
      (array) => array.dispose(),
      (failure: { code?: string }) => failure,
    );
    expectEqual(error?.code, "OUT_OF_DEVICE_MEMORY", "twice the device's memory");
    await device.free(await device.alloc(1024));
    return "OUT_OF_DEVICE_MEMORY";
  },

  "nothing is left": async () => {
    const driver = await openDriver();
    await Promise.all(driver.devices.map((device) => DeviceMemory.of(device).trim()));
    const { allocations, mappings, pending } = driver.held();
    expectEqual({ allocations, mappings, pending }, { allocations: 0, mappings: 0, pending: 0 }, "held");
    return "no allocation, no mapping";
  },
};

/** For each kind of memory: an array in it, at an offset of 512 bytes. */
export async function inMemory<T>(
  kind: MemoryKind,
  values: HostArray,
  use: (array: { readonly cudaArrayInterface: DeviceArray["cudaArrayInterface"] }) => Promise<T>,
): Promise<T> {
  if (!(await supports(kind))) throw new Skipped(`the device has no ${kind} memory`);
  const device = (await openDriver()).device();
  const own = await DeviceArray.fromHost(values); // for its typestr
  const { typestr, shape } = own.cudaArrayInterface;
  const bytes = bytesOf(values);
  const batch = new Batch(`making an array in ${kind} memory`);
  const base = batch.alloc(512 + bytes.length, { kind });
  batch.copyFromHost(base.at(512), bytes);
  const pointer = (await device.submit(batch)).get(base);
  own.dispose();
  try {
    return await use({ cudaArrayInterface: { shape, typestr, data: [pointer + 512n, false], version: 3 } });
  } finally {
    await device.free(pointer);
  }
}
