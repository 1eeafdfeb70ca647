/** A small, right transport for the memory of a device that is made up, and what it does wrong when it is told to. */
import {
  bytesOf,
  type CudaArray,
  type DeviceTransport,
  type DType,
  dtypeOfTypestr,
  elementCount,
  type HostArray,
  itemSize,
  makeHostArray,
  type ReceivedArray,
  TesseractError,
  viewAs,
} from "@tesseract-ts/core";

export type DeviceFault =
  | "doesn't look at strides"
  | "copies through memory that it forgets"
  | "checks with other bytes"
  | "checks one at a time"
  | "takes anything for a check";

const typestrs: Readonly<Record<DType, string>> = {
  ...{ float16: "<f2", float32: "<f4", float64: "<f8", int8: "|i1", int16: "<i2", int32: "<i4", int64: "<i8" },
  ...{ uint8: "|u1", uint16: "<u2", uint32: "<u4", uint64: "<u8", bool: "|b1", complex64: "<c8", complex128: "<c16" },
};

/** The memory of the device: allocations by their addresses. */
export class FakeDevice {
  readonly memory = new Map<bigint, Uint8Array>();
  private next = 4096n;

  alloc(bytes: Uint8Array): bigint {
    const pointer = this.next;
    this.next += BigInt(bytes.length) + 4096n;
    this.memory.set(pointer, bytes.slice());
    return pointer;
  }

  array({ dtype, shape }: { readonly dtype: DType; readonly shape: readonly number[] }, bytes: Uint8Array): CudaArray {
    const pointer = bytes.length === 0 ? 0n : this.alloc(bytes);
    const { memory } = this;
    const array = {
      cudaArrayInterface: { shape, typestr: typestrs[dtype], data: [pointer, false], version: 3 } as const,
      async copyToHost(): Promise<HostArray> {
        const found = pointer === 0n ? new Uint8Array(0) : memory.get(pointer);
        if (found === undefined) throw new TesseractError("DISPOSED", "Its memory was freed");
        return makeHostArray(dtype, shape, viewAs(dtype, found.slice().buffer));
      },
      dispose: () => void memory.delete(pointer),
    };
    return array;
  }
}

export function onDevice(device: FakeDevice, fault?: DeviceFault): DeviceTransport {
  const is = (one: DeviceFault): boolean => fault === one;
  let checked: bigint | undefined;

  function refOf(array: CudaArray): { readonly pointer: bigint; readonly own: boolean } {
    const { shape, typestr, strides, data } = array.cudaArrayInterface;
    const size = itemSize(dtypeOfTypestr(typestr));
    if (strides === undefined || strides === null || is("doesn't look at strides"))
      return { pointer: data[0], own: false };
    const from = device.memory.get(data[0]) ?? new Uint8Array(0);
    const out = new Uint8Array(elementCount(shape) * size);
    for (let index = 0; index < out.length / size; index++) {
      let rest = index;
      let at = 0;
      for (let axis = shape.length - 1; axis >= 0; axis--) {
        at += (rest % (shape[axis] as number)) * (strides[axis] as number);
        rest = Math.floor(rest / (shape[axis] as number));
      }
      out.set(from.subarray(at, at + size), index * size);
    }
    return { pointer: device.alloc(out), own: true };
  }

  function bytesAt({ path, data, dtype, shape }: ReceivedArray): Uint8Array {
    const bytes = elementCount(shape) * itemSize(dtype);
    const pointer = typeof data.buffer === "string" && /^\d{1,18}$/.test(data.buffer) ? BigInt(data.buffer) : undefined;
    const found = pointer === 0n && bytes === 0 ? new Uint8Array(0) : device.memory.get(pointer ?? -1n);
    if (found !== undefined && found.length >= bytes) return found.slice(0, bytes);
    throw new TesseractError("DECODE_FAILED", `${path}: there is no such memory`);
  }

  return {
    name: "fake_gpu",
    carries: "device",
    reach: "process",
    probe: async () => ({ ok: true }),
    async encode(arrays, { signal }) {
      signal?.throwIfAborted();
      const refs = arrays.map(refOf);
      const encoded = arrays.map(({ cudaArrayInterface: { shape, typestr } }, index) => ({
        shape,
        dtype: dtypeOfTypestr(typestr),
        data: { encoding: "fake_gpu", buffer: String(refs[index]?.pointer) },
      }));
      const release = async (): Promise<void> => {
        if (is("copies through memory that it forgets")) return;
        for (const { pointer, own } of refs) if (own) device.memory.delete(pointer);
      };
      return { arrays: encoded, lease: { release } };
    },
    async decode(encoded, { signal }) {
      signal?.throwIfAborted();
      const all = encoded.map(bytesAt);
      return encoded.map((array, index) => device.array(array, all[index] as Uint8Array));
    },
    async encodeCheck(bytes) {
      const pointer = device.alloc(is("checks with other bytes") ? bytes.map((byte) => byte ^ 1) : bytes);
      if (is("checks one at a time")) {
        if (checked !== undefined) device.memory.delete(checked);
        checked = pointer;
      }
      const data = { encoding: "fake_gpu", buffer: String(pointer) };
      return {
        arrays: [{ object_type: "array", shape: [bytes.length], dtype: "uint8", data }],
        lease: { release: async () => void device.memory.delete(pointer) },
      };
    },
    async decodeCheck(encoded) {
      await new Promise(setImmediate);
      return is("takes anything for a check") && typeof encoded.data.buffer !== "string"
        ? new Uint8Array(256)
        : bytesAt(encoded);
    },
    toDevice: async (array) => device.array(array, bytesOf(array)),
  };
}
