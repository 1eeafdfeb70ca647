/** The Tesseracts of the simulator's tests, `rotate` and `echo`, once more in TypeScript: their arrays stay on the GPU. */
import { type CudaArray, dtypes, type HostArray } from "@tesseract-ts/core";
import { array, defineTesseract, differentiable } from "@tesseract-ts/inprocess";
import { Batch, DeviceArray, type DevicePointer, openDriver } from "@tesseract-ts/transport-cuda-ipc";
import { z } from "zod";

const BYTES = 8;

/** An array of an endpoint, which this Tesseract takes from the GPU only. */
function onDevice(given: HostArray | CudaArray): CudaArray {
  if ("cudaArrayInterface" in given) return given;
  throw new Error("This array is in the host's memory");
}

const pointerOf = (given: CudaArray): DevicePointer => given.cudaArrayInterface.data[0] as DevicePointer;
const at = (pointer: DevicePointer, bytes: number): DevicePointer => (pointer + BigInt(bytes)) as DevicePointer;

/** y = x, rotated to the left by `by` places. */
async function rotated(given: HostArray | CudaArray, by: number): Promise<CudaArray> {
  const x = onDevice(given);
  const [n = 0] = x.cudaArrayInterface.shape;
  const device = (await openDriver()).device(x.device);
  const y = await DeviceArray.empty([n], "float64", { device });
  const shift = n === 0 ? 0 : ((by % n) + n) % n;
  const batch = new Batch("rotating");
  if (n > shift) batch.copy(pointerOf(y), at(pointerOf(x), shift * BYTES), (n - shift) * BYTES);
  if (shift > 0) batch.copy(at(pointerOf(y), (n - shift) * BYTES), pointerOf(x), shift * BYTES);
  await device.submit(batch);
  return y;
}

/** The derivative of rotating: a permutation. */
async function permutation(given: HostArray | CudaArray, by: number): Promise<CudaArray> {
  const [n = 0] = onDevice(given).cudaArrayInterface.shape;
  const matrix = new Float64Array(n * n);
  for (let row = 0; row < n; row++) matrix[row * n + ((row + by) % n)] = 1;
  return DeviceArray.fromHost(matrix, { shape: [n, n], device: onDevice(given).device });
}

const vector = () => differentiable(array("float64", [null]));

export const rotate = defineTesseract({
  name: "rotate",
  gpuArrays: true,
  inputs: z.object({
    x: vector(),
    by: z.int().default(1),
    memory: z.enum(["plain", "virtual", "pool"]).default("plain"),
  }),
  outputs: z.object({ y: vector() }),
  apply: async ({ x, by }) => ({ y: await rotated(x, by) }),
  abstractEval: ({ x }) => ({ y: { shape: x.shape, dtype: "float64" } }),
  jacobian: async ({ inputs }) => ({ y: { x: await permutation(inputs.x, inputs.by) } }),
  jacobianVectorProduct: async ({ inputs, tangents }) => ({ y: await rotated(tangents.x as CudaArray, inputs.by) }),
  vectorJacobianProduct: async ({ inputs, cotangents }) => ({
    x: await rotated(cotangents.y as CudaArray, -inputs.by),
  }),
});

const anyOf = (dtype: (typeof dtypes)[number]) => array(dtype, "any rank").optional();

/** Hands arrays of every dtype and any shape back as they came. */
export const echo = defineTesseract({
  name: "echo",
  gpuArrays: true,
  inputs: z.object(Object.fromEntries(dtypes.map((dtype) => [dtype, anyOf(dtype)]))),
  outputs: z.object({
    ...Object.fromEntries(dtypes.map((dtype) => [dtype, anyOf(dtype)])),
    devices: z.record(z.string(), z.int()),
  }),
  apply: async (inputs) => {
    const { devices } = await openDriver();
    const ordinals = Object.entries(inputs).map(([name, given]) => {
      const { device } = onDevice(given as CudaArray);
      return [name, devices.find(({ uuid }) => uuid === device)?.ordinal ?? -1];
    });
    return { ...inputs, devices: Object.fromEntries(ordinals) };
  },
});
