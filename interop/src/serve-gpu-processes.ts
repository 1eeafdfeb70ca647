/** Serves `rotate` with cuda_ipc by two worker processes until its standard input ends, and prints the URL. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve } from "@tesseract-ts/serve";

const folder = mkdtempSync(join(tmpdir(), "gpu-processes-"));
const served = await serve(new URL("./rotate-tesseract.ts", import.meta.url), {
  port: 0,
  workers: 2,
  metrics: true,
  gpuTransport: "cuda_ipc",
  transports: new URL("./gpu-transports.ts", import.meta.url),
  inputPath: folder,
  outputPath: folder,
});
console.log(served.url);
for await (const _ of process.stdin);
await served.close();
rmSync(folder, { recursive: true, force: true });
console.log("{}");
