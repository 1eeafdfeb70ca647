/** Serves `rotate` or `echo` with cuda_ipc until its standard input ends: prints the URL, and what it still holds at the end. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve } from "@tesseract-ts/serve";
import { cudaIpc, DeviceMemory, openDriver } from "@tesseract-ts/transport-cuda-ipc";
import { host } from "@tesseract-ts/transport-host";
import { echo, rotate } from "./gpu-tesseracts.js";

const folder = mkdtempSync(join(tmpdir(), "gpu-tesseract-"));
const [name, exportTimeLimit = "300000"] = process.argv.slice(2);
const served = await serve(name === "echo" ? echo : rotate, {
  port: 0,
  gpuTransport: "cuda_ipc",
  transports: [cudaIpc(), host()],
  inputPath: folder,
  outputPath: folder,
  exportTimeLimit: Number(exportTimeLimit),
});
console.log(served.url);
for await (const line of process.stdin) {
  const driver = await openDriver();
  const command = String(line).trim();
  // What is kept for reuse goes as well, once no client can have it mapped.
  if (command === "trim") await Promise.all(driver.devices.map((device) => DeviceMemory.of(device).trim()));
  if (command === "held" || command === "trim") console.log(JSON.stringify(driver.held()));
}
await served.close();
const driver = await openDriver();
await Promise.all(driver.devices.map((device) => DeviceMemory.of(device).trim({ wait: false })));
console.log(JSON.stringify(driver.held()));
rmSync(folder, { recursive: true, force: true });
