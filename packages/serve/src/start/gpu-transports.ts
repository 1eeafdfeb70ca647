/** The transports of those who name none. */
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { TesseractError, type Transport, type Transports } from "@tesseract-ts/core";
import { type BinrefOptions, host } from "@tesseract-ts/transport-host";

/** A plugin, which isn't a dependency of this package: it has native code. */
const CUDA_IPC = "@tesseract-ts/transport-cuda-ipc";

/**
 * `host()`, and before it the GPU transport, where it is one that is known here.
 *
 * @param gpuTransport "cuda_ipc", "none", or undefined for none
 * @param beside a file that the plugin may be installed for, beside this package
 * @throws TesseractError TRANSPORT_MISSING
 */
export async function transportsFor(
  gpuTransport: string | undefined,
  directories: BinrefOptions,
  beside?: string,
): Promise<Transports> {
  const hosts = host(directories);
  if (gpuTransport === undefined || gpuTransport === "none") return [...hosts];
  if (gpuTransport !== "cuda_ipc") {
    throw new TesseractError("TRANSPORT_MISSING", `No transport was passed for gpuTransport "${gpuTransport}"`, {
      hint: "Pass it in `transports`; and to a Tesseract in TypeScript, by a module of its own, as `serverTransports`.",
    });
  }
  return [await loadCudaIpc(beside), ...hosts];
}

async function loadCudaIpc(beside: string | undefined): Promise<Transport> {
  const places = [
    () => import(CUDA_IPC),
    ...[beside, `${process.cwd()}/`].flatMap((place) =>
      place === undefined ? [] : [() => import(pathToFileURL(createRequire(place).resolve(CUDA_IPC)).href)],
    ),
  ];
  const failures: unknown[] = [];
  for (const load of places) {
    try {
      const module: unknown = await load();
      if (isPlugin(module)) return module.cudaIpc();
    } catch (error) {
      failures.push(error);
    }
  }
  throw new TesseractError("TRANSPORT_MISSING", `${CUDA_IPC} can't be loaded: ${String(failures[0])}`, {
    cause: failures[0],
    hint: `npm install ${CUDA_IPC}`,
  });
}

const isPlugin = (module: unknown): module is { cudaIpc(): Transport } =>
  typeof module === "object" && module !== null && "cudaIpc" in module && typeof module.cudaIpc === "function";
