/**
 * A program on a simulated machine with a GPU: starts the Tesseract `rotate` from an image, and rotates an array on the GPU. Its
 * argument is JSON; it prints JSON.
 */
import { TesseractError } from "@tesseract-ts/core";
import { type FromImageOptions, fromImage } from "@tesseract-ts/serve";
import { DeviceArray } from "@tesseract-ts/transport-cuda-ipc";

const { image, options } = JSON.parse(process.argv[2] ?? "{}") as {
  readonly image: string;
  readonly options: FromImageOptions;
};

async function rotated(): Promise<unknown> {
  await using rotate = await fromImage(image, { ...options, gpuTransport: "cuda_ipc" });
  try {
    const transport = await rotate.resolveGpuTransport();
    using x = await DeviceArray.fromHost(Float64Array.of(1, 2, 3, 4));
    const { y } = await rotate.apply({ x, by: 1 });
    if (!(y instanceof DeviceArray)) throw new Error("The answer isn't on the GPU");
    const values = Array.from((await y.copyToHost()).data as Float64Array);
    y.dispose();
    return { transport, values };
  } catch (error) {
    if (!(error instanceof TesseractError)) throw error;
    const { checks } = await rotate.explainGpuTransport();
    const { code, message, hint } = error;
    return { code, message, hint, checks };
  }
}

console.log(JSON.stringify(await rotated()));
