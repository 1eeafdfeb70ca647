// Serves a Tesseract that takes GPU arrays until its standard input ends, and prints the address.

import { serve } from "@tesseract-ts/serve";
import { cudaIpc } from "@tesseract-ts/transport-cuda-ipc";
import { host } from "@tesseract-ts/transport-host";
import onGpu from "./on-gpu.mjs";

const served = await serve(onGpu, { port: 0, gpuTransport: "cuda_ipc", transports: [cudaIpc(), host()] });
console.log(served.url);
for await (const _ of process.stdin);
await served.close();
