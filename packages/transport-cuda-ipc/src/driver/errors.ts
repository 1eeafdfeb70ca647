/** Errors of the CUDA driver. */
import { TesseractError } from "@tesseract-ts/core";

export interface CudaFailure {
  /** The driver's `CUresult`. */
  readonly driverCode: number;
  /** `CUDA_ERROR_INVALID_VALUE`. */
  readonly driverName: string;
  /** The driver's own text. */
  readonly driverText: string;
  /** The function that returned it: `cuMemAlloc`. */
  readonly call: string;
  /** The place of the operation in its batch; undefined for calls outside of one. */
  readonly operation?: number | undefined;
  /** This package refused the call; the driver wasn't asked. */
  readonly ownRefusal?: boolean | undefined;
}

/**
 * A call of the driver failed. `code` is `OUT_OF_DEVICE_MEMORY` or `CUDA_ERROR`; `driverCode`, `driverName` and
 * `driverText` are the driver's own words, `call` its function.
 */
export class CudaError extends TesseractError implements CudaFailure {
  readonly driverCode: number;
  readonly driverName: string;
  readonly driverText: string;
  readonly call: string;
  declare readonly operation?: number;
  declare readonly ownRefusal?: boolean;
  /** What failed afterwards, while the batch let go of what it had. */
  readonly failures: readonly CudaFailure[];

  constructor(doing: string, failure: CudaFailure, failures: readonly CudaFailure[] = []) {
    const { driverCode, driverName, driverText, call, operation, ownRefusal } = failure;
    const what = ownRefusal === true ? `${call} is refused` : `${call} failed with ${driverName} (${driverCode})`;
    const message = `${capitalized(doing)}: ${what}: ${driverText}`;
    super(driverCode === 2 ? "OUT_OF_DEVICE_MEMORY" : "CUDA_ERROR", message, { hint: hintFor(failure) });
    this.driverCode = driverCode;
    this.driverName = driverName;
    this.driverText = driverText;
    this.call = call;
    this.failures = failures;
    if (operation !== undefined) this.operation = operation;
    if (ownRefusal !== undefined) this.ownRefusal = ownRefusal;
  }

  /** Whether the device is lost to this process: work on it failed, and every later call will, too. */
  get deviceLost(): boolean {
    return isLost(this.driverCode);
  }
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Errors of work on the device, after which its context is of no use any more. */
const lost: ReadonlySet<number> = new Set([214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999]);

const isLost = (code: number): boolean => lost.has(code);

function hintFor({ call, driverCode, ownRefusal }: CudaFailure): string | undefined {
  if (ownRefusal === true) return "It was given back before, or belongs to another thread or device.";
  if (driverCode === 2) return "Dispose of arrays that are no longer needed, or use a device with more memory.";
  if (isLost(driverCode)) {
    return "Work on the device failed, maybe that of another library; this process can't use it any more. Restart it.";
  }
  if (call === "cuIpcOpenMemHandle") return openingHints[driverCode] ?? otherOpening;
  if (driverCode === 802 || driverCode === 803) return "Look at `nvidia-smi`: the driver or the device isn't ready.";
  return undefined;
}

const otherOpening = 'The memory may have been freed, or its process may have ended. Use `gpuTransport: "none"`.';
const separated =
  "A process can't open its own memory, nor that of another container: share the host's IPC namespace (`--ipc=host`), " +
  "and the PID namespace (`--pid=host`) where the driver insists.";
const openingHints: Readonly<Record<number, string>> = {
  1: `${separated} It is also what comes of memory that was freed, or of a device that this process can't see.`,
  201: separated,
  217: "The memory is on another device than the one it was opened on, and the two are no peers.",
};

/** What native/result.cc rejects with. */
interface NativeError extends CudaFailure {
  readonly failures: readonly CudaFailure[];
}

/**
 * What the addon rejected with, as an error of this project.
 *
 * @param doing what the operation of this number was doing, or what the batch was for
 */
export function asCudaError(error: unknown, doing: (operation: number | undefined) => string): unknown {
  if (!(error instanceof Error && "driverCode" in error && "failures" in error)) return error;
  const native = error as Error & NativeError;
  return new CudaError(doing(native.operation), native, native.failures);
}
