// Starts a Tesseract with cuda_ipc, and calls it with an array of the GPU until it is killed: start-gpu-parent.mjs SOURCE
import { fromSource } from "@tesseract-ts/serve";
import { DeviceArray } from "@tesseract-ts/transport-cuda-ipc";

const tess = await fromSource(process.argv[2], { gpuTransport: "cuda_ipc", startTimeout: 300_000 });
const x = await DeviceArray.fromHost(new Float64Array(1 << 16));
while (true) {
  const { y } = await tess.apply({ x });
  console.log("called");
  y.dispose();
}
