/**
 * Calls a Tesseract in this process with an array on the GPU, as often as it is told, and prints what the endpoint got.
 *
 *     inprocess-gpu.ts COUNT
 */
import { type CudaArray, TesseractError } from "@tesseract-ts/core";
import { array, defineTesseract, fromTesseractApi } from "@tesseract-ts/inprocess";
import { DeviceArray } from "@tesseract-ts/transport-cuda-ipc";
import { z } from "zod";

const calls = Number(process.argv[2]);
const kept: CudaArray[] = [];

const echo = defineTesseract({
  name: "echo",
  gpuArrays: true,
  inputs: z.object({ x: array("float64", [null]) }),
  outputs: z.object({ y: array("float64", [null]), readOnly: z.boolean() }),
  apply: ({ x }) => {
    if (!("cudaArrayInterface" in x)) throw new Error("The array came through the host");
    kept.push(x);
    return { y: x, readOnly: x.cudaArrayInterface.data[1] };
  },
});

const tess = await fromTesseractApi(echo, { gpuTransport: "cuda_ipc" });
const x = await DeviceArray.fromHost(Float64Array.of(1, 2, 3));
const seen = { same: 0, readOnly: 0, usableLater: 0 };
for (let call = 0; call < calls; call++) {
  const { y, readOnly } = (await tess.apply({ x })) as unknown as { readonly y: unknown; readonly readOnly: boolean };
  if (y === x) seen.same += 1;
  if (readOnly) seen.readOnly += 1;
}
for (const array of kept) {
  try {
    void array.cudaArrayInterface;
    seen.usableLater += 1;
  } catch (error) {
    if (!(error instanceof TesseractError && error.code === "DISPOSED")) throw error;
  }
}
const values = [...((await x.copyToHost()).data as Float64Array)];
x.dispose();
await tess.close();
console.log(JSON.stringify({ ...seen, values }));
