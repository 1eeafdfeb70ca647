// Starts a Tesseract with cuda_ipc, and calls it with an array of the GPU: start-gpu.mjs SOURCE [PYTHON]
import { fromSource } from "@tesseract-ts/serve";
import { DeviceArray } from "@tesseract-ts/transport-cuda-ipc";

// Here and in what is started, no array may reach the host by itself.
process.env.TESSERACT_FORBID_DEVICE_HOST_COPY = "1";

const [source, pythonExecutable] = process.argv.slice(2);
const interpreter = pythonExecutable === undefined ? {} : { pythonExecutable };

const tess = await fromSource(source, { gpuTransport: "cuda_ipc", startTimeout: 300_000, ...interpreter });
const gpuTransport = await tess.resolveGpuTransport();
const x = await DeviceArray.fromHost(new Float64Array([1, 2, 3]));
const { y } = await tess.apply({ x });
const isOnDevice = "cudaArrayInterface" in y;
const { data } = await y.copyToHost();
y.dispose();
x.dispose();
await tess.close();

const offered = await fromSource(source, { offerGpuTransport: "cuda_ipc", startTimeout: 300_000, ...interpreter });
const requested = offered.currentEncoding.gpuTransport ?? "nothing";
const found = await offered.resolveGpuTransport();
await offered.close();
console.log(JSON.stringify({ gpuTransport, isOnDevice, y: [...data], requested, found }));
