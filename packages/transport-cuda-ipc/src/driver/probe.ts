/** Whether this process can use CUDA at all, as data. */
import { isMainThread } from "node:worker_threads";
import { loadAddon, type NativeDevice, type NativeProbe } from "./addon.js";

/** A GPU, or an instance of one, as this process sees it. */
export interface DeviceInfo {
  /** As this process numbers it (`CUDA_VISIBLE_DEVICES`); another process may number it differently. */
  readonly ordinal: number;
  /** The same in every process: lower case with hyphens. An instance of a GPU (MIG) has its own. */
  readonly uuid: string;
  readonly name: string;
  /** In bytes. */
  readonly totalMemory: number;
  /** `0000:3b:00.0`. */
  readonly pciBusId: string;
  /** Whether it is an instance of a GPU (MIG) rather than a whole one. */
  readonly mig: boolean;
  readonly computeCapability: readonly [major: number, minor: number];
  /** Whether memory of kind `virtual` can be allocated. */
  readonly virtualMemory: boolean;
  /** Whether memory of kind `pool` can be allocated. */
  readonly memoryPools: boolean;
}

export type DriverProblem =
  | "unsupported-platform"
  | "no-addon"
  | "no-driver"
  | "symbol-missing"
  | "driver-too-old"
  | "no-device"
  | "driver-failed";

export type DriverProbe =
  | {
      readonly ok: true;
      /** The newest CUDA version that the driver supports: `12.4`. */
      readonly version: string;
      readonly devices: readonly DeviceInfo[];
    }
  | {
      readonly ok: false;
      readonly problem: DriverProblem;
      /** A sentence for people, without a full stop. */
      readonly reason: string;
      /** What to do next. */
      readonly hint: string;
    };

type Refusal = Extract<DriverProbe, { ok: false }>;

/** For an installed package. */
const REBUILD = "`npm rebuild --foreground-scripts @tesseract-ts/transport-cuda-ipc`";

/**
 * Looks for the driver and its devices. It never rejects, and may be asked again: a driver that wasn't there may be now.
 * The environment variable `TESSERACT_CUDA_DRIVER` names another library than `libcuda.so.1`. A process has one driver:
 * the first that could be opened.
 *
 * @example
 * const probe = await probeDriver();
 * if (!probe.ok) console.warn(`${probe.reason}. ${probe.hint}`);
 */
export async function probeDriver(): Promise<DriverProbe> {
  if (process.platform !== "linux") {
    const reason = `CUDA memory can be shared between processes on Linux only, and this is ${process.platform}`;
    return refusal("unsupported-platform", reason, "Use a transport that goes through the host.");
  }
  const library = process.env.TESSERACT_CUDA_DRIVER || "libcuda.so.1";
  let found: NativeProbe;
  try {
    const addon = loadAddon();
    found = await new Promise((resolve) => addon.probe(library, !isMainThread, resolve));
  } catch (error) {
    // node-gyp-build's message goes on with where it has looked.
    const [first = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
    const hint = `With a C++ compiler, make and Python, ${REBUILD} builds it; in a clone, \`npm run build:native\` does.`;
    return refusal("no-addon", `The native addon of @tesseract-ts/transport-cuda-ipc can't be loaded: ${first}`, hint);
  }
  if (found.problem !== undefined) return refusalOf(found.problem, found.detail, library);
  return { ok: true, version: versionText(found.version), devices: found.devices.map(infoOf) };
}

function refusalOf(problem: string, detail: string, library: string): Refusal {
  const install = "Install NVIDIA's driver; in a container, start it with the GPUs (`--gpus all`).";
  switch (problem) {
    case "no-driver":
      return refusal(problem, `There is no CUDA driver: ${detail}`, install);
    case "symbol-missing":
      return refusal(problem, `${library} isn't a whole CUDA driver: it has no ${detail}`, "Update NVIDIA's driver.");
    case "driver-too-old": {
      const reason = `The CUDA driver is too old: it supports CUDA ${versionText(Number(detail))}, and 11.4 is needed`;
      return refusal(problem, reason, "Update NVIDIA's driver to 470 or newer.");
    }
    case "no-device": {
      const hint = "Look at `nvidia-smi` and at CUDA_VISIBLE_DEVICES; a container has to be started with the GPUs.";
      return refusal(problem, `The CUDA driver sees no device (${detail})`, hint);
    }
    default: {
      const hint = "Look at `nvidia-smi`; after an update of the driver the machine may have to be restarted.";
      return refusal("driver-failed", `The CUDA driver can't be used: ${detail}`, hint);
    }
  }
}

const refusal = (problem: DriverProblem, reason: string, hint: string): Refusal => ({
  ok: false,
  problem,
  reason,
  hint,
});

/** 12040 is 12.4. */
const versionText = (version: number): string => `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;

function infoOf({ major, minor, ...device }: NativeDevice): DeviceInfo {
  return { ...device, computeCapability: [major, minor] };
}
