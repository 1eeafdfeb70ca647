/** A client process on a simulated machine: runs the functions that a test sends it. */
import * as core from "@tesseract-ts/core";
import * as cuda from "@tesseract-ts/transport-cuda-ipc";
import { host } from "@tesseract-ts/transport-host";
import { runFunctions } from "../../packages/transport-cuda-ipc/test/transport/functions.js";

export interface CudaClient {
  readonly core: typeof core;
  readonly cuda: typeof cuda;
  /** What functions leave for later ones. */
  readonly kept: Record<string, unknown>;
  /**
   * Connects, with `cuda_ipc` before the host's transports, for the time of `work`. Warnings go to `kept.warnings`.
   *
   * A function that comes from a test can't say `using`, which its compiler turns into imports.
   */
  connected<R>(
    url: string,
    options: Partial<core.FromUrlOptions>,
    work: (tess: core.Tesseract) => Promise<R>,
  ): Promise<R>;
  upload(values: readonly number[] | core.TypedArray, shape?: readonly number[]): Promise<cuda.DeviceArray>;
  /** The values of device arrays, which are then disposed of. */
  download(array: unknown): Promise<number[]>;
  /** What is in use besides what is kept for reuse, once that is given back. */
  held(): Promise<{ readonly allocations: number; readonly mappings: number; readonly pending: number }>;
}

const kept: Record<string, unknown> = {};
const context: CudaClient = {
  core,
  cuda,
  kept,
  async connected(url, options, work) {
    kept.warnings = [];
    await using tess = await core.fromUrl(url, {
      transports: [cuda.cudaIpc(), host()],
      onWarning: (warning) => (kept.warnings as core.TesseractWarning[]).push(warning),
      ...options,
    });
    return await work(tess);
  },
  upload: (values, shape) =>
    cuda.DeviceArray.fromHost(ArrayBuffer.isView(values) ? values : Float64Array.from(values), {
      ...(shape === undefined ? {} : { shape }),
    }),
  async download(array) {
    if (!(array instanceof cuda.DeviceArray)) throw new Error(`This isn't a DeviceArray: ${String(array)}`);
    const { data } = await array.copyToHost();
    array.dispose();
    return Array.from(data as Float64Array, Number);
  },
  async held() {
    const driver = await cuda.openDriver();
    await Promise.all(driver.devices.map((device) => cuda.DeviceMemory.of(device).trim()));
    const { allocations, mappings, pending } = driver.held();
    return { allocations, mappings, pending };
  },
};
runFunctions(context);
