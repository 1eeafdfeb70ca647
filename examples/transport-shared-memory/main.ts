/** Calls a Tesseract in another process, with its arrays in shared memory. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { fromUrl, type HostArray } from "@tesseract-ts/core";
import { host } from "@tesseract-ts/transport-host";
import { sharedMemory } from "./shared-memory.js";

interface Scale {
  inputs: { x: Float64Array; factor?: number };
  outputs: { y: HostArray<"float64"> };
}

const server = fork(fileURLToPath(new URL("./server.ts", import.meta.url)));
const [url] = (await once(server, "message")) as [string];
{
  await using scale = await fromUrl<Scale>(url, { transports: [sharedMemory(), host()] });
  const { y } = await scale.apply({ x: new Float64Array([1, 2, 3]), factor: 10 });
  console.log(scale.currentEncoding.outputFormat, y.data); // json+shm Float64Array(3) [ 10, 20, 30 ]
}
server.disconnect();
