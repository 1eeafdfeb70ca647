/** The CUDA driver, opened when it is first needed. */
import { TesseractError } from "@tesseract-ts/core";
import { type Addon, loadAddon } from "./addon.js";
import { CudaDevice } from "./device.js";
import { probeDriver } from "./probe.js";

/** What this environment (the main thread, or one worker thread) has of the driver and hasn't given back. */
export interface Held {
  readonly allocations: number;
  readonly allocatedBytes: number;
  /** Open mappings of other processes' memory, each as often as it was opened. */
  readonly mappings: number;
  readonly streams: number;
  readonly events: number;
  /** Batches that were submitted and haven't ended. */
  readonly pending: number;
}

export class CudaDriver {
  /** @internal */
  constructor(
    private readonly addon: Addon,
    /** The newest CUDA version that the driver supports: `12.4`. */
    readonly version: string,
    /** By ordinal. There is at least one. */
    readonly devices: readonly CudaDevice[],
  ) {}

  /**
   * A device by its UUID or ordinal; the first if left out.
   *
   * @throws TesseractError INVALID_ARGUMENT if this process can't see it
   */
  device(which: string | number = 0): CudaDevice {
    const found = typeof which === "number" ? this.devices[which] : this.find(which);
    if (found !== undefined) return found;
    const seen = this.devices.map(({ ordinal, uuid }) => `${ordinal} (${uuid})`).join(", ");
    throw new TesseractError("INVALID_ARGUMENT", `This process sees no CUDA device ${which}`, {
      hint: `It sees ${seen}; CUDA_VISIBLE_DEVICES chooses which.`,
    });
  }

  /** The device of this UUID, or undefined if this process can't see it. */
  find(uuid: string): CudaDevice | undefined {
    return this.devices.find((device) => device.uuid === uuid);
  }

  held(): Held {
    return this.addon.held();
  }
}

let opened: Promise<CudaDriver> | undefined;

/**
 * The driver of this environment, opened once; a failure isn't kept.
 *
 * @throws TesseractError CUDA_UNAVAILABLE with what {@link probeDriver} says
 *
 * @example
 * const device = (await openDriver()).device();
 * const pointer = await device.alloc(1024);
 * await device.free(pointer);
 */
export function openDriver(): Promise<CudaDriver> {
  opened ??= open().catch((error: unknown) => {
    opened = undefined;
    throw error;
  });
  return opened;
}

async function open(): Promise<CudaDriver> {
  const probe = await probeDriver();
  if (!probe.ok) throw new TesseractError("CUDA_UNAVAILABLE", probe.reason, { hint: probe.hint });
  const addon = loadAddon();
  return new CudaDriver(
    addon,
    probe.version,
    probe.devices.map((info) => new CudaDevice(addon, info)),
  );
}
