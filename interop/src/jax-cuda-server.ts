/** A process on a simulated machine that serves `rotate` in TypeScript with cuda_ipc, until a test lets it end. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve } from "@tesseract-ts/serve";
import { cudaIpc } from "@tesseract-ts/transport-cuda-ipc";
import { host } from "@tesseract-ts/transport-host";
import { runFunctions } from "../../packages/transport-cuda-ipc/test/transport/functions.js";
import { rotate } from "./gpu-tesseracts.js";

export interface JaxCudaServer {
  readonly url: string;
  close(): Promise<void>;
}

const folder = mkdtempSync(join(tmpdir(), "jax-cuda-server-"));
const served = await serve(rotate, {
  port: 0,
  gpuTransport: "cuda_ipc",
  transports: [cudaIpc(), host()],
  inputPath: folder,
  outputPath: folder,
});
const context: JaxCudaServer = {
  url: served.url,
  async close() {
    await served.close();
    rmSync(folder, { recursive: true, force: true });
  },
};
runFunctions(context);
