/** What a run finds, as it stands in the JSON file. */
import type { DeviceInfo } from "@tesseract-ts/transport-cuda-ipc";

export type Status = "passed" | "failed" | "skipped";

export interface Finding {
  readonly group: string;
  readonly name: string;
  readonly status: Status;
  /** What was seen, what went wrong, or why it was skipped. */
  readonly detail: string;
  readonly milliseconds: number;
}

/** A time, or why there is none. */
export type Timing =
  | {
      /** In milliseconds. */
      readonly median: number;
      readonly least: number;
      readonly runs: number;
    }
  | { readonly skipped: string };

/** How arrays get from one process to another and back. */
export const paths = ["cuda_ipc", "json+base64", "json+binref"] as const;
export type Path = (typeof paths)[number];

/** What was measured with arrays of one size. */
export interface SizeRow {
  readonly bytes: number;
  /** One copy on the device, and the wait for it. */
  copy: Timing;
  /** A message from one process of this project to another: encoded, decoded, answered. */
  message: Timing;
  /** `apply` of the reference server, which hands the array back. */
  apply: { [P in Path]: Timing };
}

/** What of the machine matters to the figures. */
export interface DriverFound {
  readonly version: string;
  readonly devices: readonly DeviceInfo[];
}

export interface Results {
  readonly format: 1;
  /** Ran on the CUDA simulator: the figures say nothing about a GPU. */
  readonly simulated: boolean;
  readonly date: string;
  readonly node: string;
  readonly machine: { readonly kernel: string; readonly processors: number; readonly memory: number };
  readonly driver: DriverFound | undefined;
  readonly python: Readonly<Record<string, string>> | undefined;
  readonly findings: readonly Finding[];
  readonly sizes: readonly SizeRow[];
  /** Of copies on the device, in bytes per second: the best of all sizes. */
  readonly copyBandwidth: number | undefined;
  readonly seconds: number;
}

export const counted = (findings: readonly Finding[]): Readonly<Record<Status, number>> => {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { status } of findings) counts[status]++;
  return counts;
};

/** The simulator's devices are called so. */
export const isSimulator = (driver: DriverFound | undefined): boolean =>
  driver?.devices.some(({ name }) => name === "CUDA Simulator") === true;
