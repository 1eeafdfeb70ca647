/** How the cases' arrays get to a device and back. */
import {
  type CudaArray,
  entriesPerElement,
  type HostArray,
  itemSize,
  makeHostArray,
  type Transport,
  viewAs,
} from "@tesseract-ts/core";

export interface DeviceArrays {
  toDevice(array: HostArray): Promise<CudaArray>;
  toHost(array: CudaArray): Promise<HostArray>;
  dispose(array: CudaArray): void | Promise<void>;
}

/** By `toDevice` of the transport, and `copyToHost()` and `dispose()` of the arrays. */
export const deviceArraysOf = (transport: Transport): DeviceArrays => ({
  async toDevice(array) {
    const device = transport.carries === "device" ? await transport.toDevice?.(array) : undefined;
    if (device !== undefined) return device;
    throw new Error(`The transport "${transport.name}" has no toDevice(): pass \`deviceArrays\` to its side`);
  },
  async toHost(array) {
    const host = await array.copyToHost?.();
    if (host !== undefined) return host;
    throw new Error("A device array has no copyToHost(): pass `deviceArrays` to the side");
  },
  async dispose(array) {
    const disposable = array as { dispose?(): unknown };
    await disposable.dispose?.();
  },
});

/** An array that stands on others: a strided view, with the array whose memory it shows. */
interface View extends CudaArray {
  readonly owner: CudaArray;
}

/** The arrays on the device; with `strided`, as views whose elements lie in reverse order of dimensions. */
export async function placed(
  device: DeviceArrays,
  arrays: readonly HostArray[],
  strided: boolean,
): Promise<CudaArray[]> {
  const made: CudaArray[] = [];
  for (const array of arrays) {
    if (!strided) made.push(await device.toDevice(array));
    else made.push(transposedView(await device.toDevice(transposed(array)), array));
  }
  return made;
}

function transposedView(owner: CudaArray, { shape, dtype }: HostArray): View {
  const strides: number[] = [];
  shape.reduce((step, size) => {
    strides.push(step);
    return step * size;
  }, itemSize(dtype));
  const view = { cudaArrayInterface: { ...owner.cudaArrayInterface, shape, strides }, owner };
  return owner.device === undefined ? view : { ...view, device: owner.device };
}

/** The same elements in Fortran order, as an array of the reversed shape. */
function transposed(array: HostArray): HostArray {
  const { shape, dtype, data } = array;
  const entries = entriesPerElement(dtype);
  const count = data.length / entries;
  const out = viewAs(dtype, new ArrayBuffer(count * itemSize(dtype)));
  const steps: number[] = [];
  shape.reduce((step, size) => {
    steps.push(step);
    return step * size;
  }, 1);
  for (let index = 0; index < count; index++) {
    let rest = index;
    let at = 0;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const size = shape[axis] as number;
      at += (rest % size) * (steps[axis] as number);
      rest = Math.floor(rest / size);
    }
    for (let entry = 0; entry < entries; entry++) out[at * entries + entry] = data[index * entries + entry] as never;
  }
  return makeHostArray(dtype, [...shape].reverse(), out);
}

export const readBack = (device: DeviceArrays, array: unknown): Promise<HostArray> => device.toHost(array as CudaArray);

export async function disposeOf(device: DeviceArrays, arrays: readonly unknown[]): Promise<void> {
  for (const array of arrays) await device.dispose((array as Partial<View>).owner ?? (array as CudaArray));
}
