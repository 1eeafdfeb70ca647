/** A client process on a simulated machine that builds and runs programs of GPU Tesseracts. */
import type { numpy as np } from "@jax-js/jax";
import { type CudaArray, fromUrl, type Tesseract } from "@tesseract-ts/core";
import { applyTesseract, jit, makeProgram, type ProgramExplanation, vjp } from "@tesseract-ts/jax-bridge";
import { cudaIpc, DeviceArray, DeviceMemory, openDriver } from "@tesseract-ts/transport-cuda-ipc";
import { host } from "@tesseract-ts/transport-host";
import { runFunctions } from "../../packages/transport-cuda-ipc/test/transport/functions.js";

type Outputs = { readonly y: np.Array };

const cuda = { device: "cuda" } as const;

export interface JaxCudaClient {
  /** Connects, and checks the transports; `work` gets the Tesseracts. */
  open(urls: readonly string[]): Promise<void>;
  /** Uploads 0, 1, 2, …; gives the device's UUID. */
  upload(length: number, device?: number): Promise<string>;
  /** The second of the first, each rotating; then its pullback. Implicit copies to the host are errors. */
  chain(): Promise<ProgramExplanation>;
  /** The same with a stage of jax-js between: three times, and the sum with itself. */
  stageBetween(): Promise<ProgramExplanation>;
  /** The second one's arrays go through the host. */
  throughTheHost(): Promise<ProgramExplanation>;
  /** The values of the results, which end. */
  download(): Promise<{ readonly values: number[][]; readonly devices: string[] }>;
  close(): Promise<void>;
  /** What is in use besides what is kept for reuse, once that is given back. */
  held(): Promise<{ readonly allocations: number; readonly mappings: number; readonly pending: number }>;
}

let tesseracts: readonly [Tesseract, Tesseract] | undefined;
let argument: DeviceArray | undefined;
const results: unknown[] = [];

function opened(): readonly [Tesseract, Tesseract, np.Array] {
  if (tesseracts === undefined || argument === undefined) throw new Error("Nothing is open");
  // A program takes any array where its function has one of jax-js.
  return [...tesseracts, argument as unknown as np.Array];
}

const rotated = (tesseract: Tesseract, x: np.Array, by: number): np.Array =>
  (applyTesseract(tesseract, { x, by }) as unknown as Outputs).y;

async function explained(f: (x: np.Array) => np.Array, x: np.Array): Promise<ProgramExplanation> {
  const { device, stages, calls, hostCopies } = (await makeProgram(f, cuda)(x)).explain();
  return { device, stages, calls, hostCopies };
}

/** Compiled and run twice. */
async function runTwice(f: (x: np.Array) => np.Array, x: np.Array): Promise<ProgramExplanation> {
  const program = jit(f, cuda);
  results.push(await program(x), await program(x));
  program.dispose();
  return explained(f, x);
}

const context: JaxCudaClient = {
  async open(urls) {
    const connect = (url: string): Promise<Tesseract> =>
      fromUrl(url, { transports: [cudaIpc(), host()], onWarning: () => {} });
    const [first = "", second = ""] = urls;
    tesseracts = [await connect(first), await connect(second)];
    for (const tesseract of tesseracts) await tesseract.resolveGpuTransport();
  },
  async upload(length, device = 0) {
    argument = await DeviceArray.fromHost(
      Float64Array.from({ length }, (_, i) => i),
      { device },
    );
    return argument.device;
  },
  async chain() {
    process.env.TESSERACT_FORBID_DEVICE_HOST_COPY = "1";
    const [first, second, x] = opened();
    const f = (x: np.Array): np.Array => rotated(second, rotated(first, x, 1), 2);
    const explanation = await runTwice(f, x);
    const [value, pull] = await vjp(f, [x]);
    const [cotangent] = await pull(x);
    pull.dispose();
    results.push(value, cotangent);
    return explanation;
  },
  async stageBetween() {
    delete process.env.TESSERACT_FORBID_DEVICE_HOST_COPY;
    const [first, second, x] = opened();
    return runTwice((x) => {
      const y = rotated(first, x, 1);
      return rotated(second, y.ref.mul(2).add(y), 2);
    }, x);
  },
  async throughTheHost() {
    delete process.env.TESSERACT_FORBID_DEVICE_HOST_COPY;
    const [first, second, x] = opened();
    return runTwice((x) => {
      const y = rotated(first, x, 1);
      return (applyTesseract(second, { x: y, w: y.ref }) as unknown as Outputs).y;
    }, x);
  },
  async download() {
    const values: number[][] = [];
    const devices: string[] = [];
    for (const result of results.splice(0)) {
      if (!(result instanceof DeviceArray)) throw new Error(`This isn't a DeviceArray: ${String(result)}`);
      devices.push((result as CudaArray).device ?? "");
      values.push(Array.from((await result.copyToHost()).data as Float64Array));
      result.dispose();
    }
    return { values, devices };
  },
  async close() {
    argument?.dispose();
    for (const tesseract of tesseracts ?? []) await tesseract.close();
  },
  async held() {
    const driver = await openDriver();
    await Promise.all(driver.devices.map((device) => DeviceMemory.of(device).trim()));
    const { allocations, mappings, pending } = driver.held();
    return { allocations, mappings, pending };
  },
};
runFunctions(context);
