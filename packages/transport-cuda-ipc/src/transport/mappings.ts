/** Allocations of one peer that are mapped here: for one message, or by agreement until the peer wants them back. */
import { Batch } from "../driver/batch.js";
import type { CudaDevice } from "../driver/device.js";
import type { DevicePointer, IpcHandle } from "../driver/handles.js";
import { nameOfHandle } from "../memory/slab.js";

export interface Mapping {
  readonly device: CudaDevice;
  /** The base of the allocation, as this process sees it. */
  readonly base: DevicePointer;
  readonly bytes: number;
  readonly name: string;
}

interface Kept extends Mapping {
  /** Messages that read from it at this moment. */
  users: number;
  lastUsed: number;
  /** Closed as soon as nobody uses it. */
  closing: Promise<void> | undefined;
  close: (() => void) | undefined;
}

export interface MappingLimits {
  /** How many mappings are kept open. */
  readonly count: number;
  /** How many bytes the allocations that they map may have together. */
  readonly bytes: number;
}

/**
 * A mapping that hasn't been used for so long is closed. The peer counts on it: what it was promised to keep for someone
 * who has been silent for much longer, it may free.
 */
export const IDLE_MS = 60_000;

export class Mappings {
  private readonly kept = new Map<string, Kept>();
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly limits: MappingLimits) {}

  /** How many are open, and what they map. */
  get open(): { readonly count: number; readonly bytes: number } {
    let bytes = 0;
    for (const mapping of this.kept.values()) bytes += mapping.bytes;
    return { count: this.kept.size, bytes };
  }

  /** A mapping that is open already; {@link done} must follow. */
  use(device: CudaDevice, handle: IpcHandle): Mapping | undefined {
    const mapping = this.kept.get(nameOfHandle(handle));
    if (mapping === undefined || mapping.device !== device || mapping.closing !== undefined) return undefined;
    mapping.users += 1;
    return mapping;
  }

  done(mappings: Iterable<Mapping>): void {
    for (const { name } of mappings) {
      const kept = this.kept.get(name);
      if (kept === undefined) continue;
      kept.users -= 1;
      kept.lastUsed = Date.now();
      if (kept.users === 0) kept.close?.();
    }
  }

  /** Keeps mappings open. Those that can't be kept, since there is one already or no room, are closed. */
  async keep(mappings: readonly Mapping[]): Promise<void> {
    const surplus: Mapping[] = [];
    for (const mapping of mappings) {
      if (this.kept.has(mapping.name) || mapping.bytes > this.limits.bytes || this.limits.count === 0) {
        surplus.push(mapping);
        continue;
      }
      this.kept.set(mapping.name, { ...mapping, users: 0, lastUsed: Date.now(), closing: undefined, close: undefined });
    }
    const oldest = [...this.kept.values()].sort((a, b) => a.lastUsed - b.lastUsed);
    let { count, bytes } = this.open;
    for (const mapping of oldest) {
      if (count <= this.limits.count && bytes <= this.limits.bytes) break;
      if (mapping.users > 0) continue;
      count -= 1;
      bytes -= mapping.bytes;
      this.kept.delete(mapping.name);
      surplus.push(mapping);
    }
    this.watch();
    await closeMappings(surplus);
  }

  /** Closes those of these names that are open, once nobody uses them. */
  async end(names: Iterable<string>): Promise<void> {
    await Promise.all([...names].map((name) => this.endOne(name)));
    this.watch();
  }

  endAll(): Promise<void> {
    return this.end([...this.kept.keys()]);
  }

  private endOne(name: string): Promise<void> {
    const mapping = this.kept.get(name);
    if (mapping === undefined) return Promise.resolve();
    mapping.closing ??= (async () => {
      if (mapping.users > 0) {
        await new Promise<void>((resolve) => {
          mapping.close = resolve;
        });
      }
      this.kept.delete(name);
      await closeMappings([mapping]);
    })();
    return mapping.closing;
  }

  private watch(): void {
    if (this.kept.size === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
      return;
    }
    this.timer ??= setInterval(() => {
      const limit = Date.now() - IDLE_MS;
      const unused = [...this.kept.values()].filter(({ users, lastUsed }) => users === 0 && lastUsed <= limit);
      this.end(unused.map(({ name }) => name)).catch((error: unknown) => {
        process.emitWarning(`A mapping of another process's device memory couldn't be closed: ${String(error)}`);
      });
    }, IDLE_MS / 4).unref();
  }
}

/** One batch for each device. */
export async function closeMappings(mappings: readonly Mapping[]): Promise<void> {
  const batches = new Map<CudaDevice, Batch>();
  for (const { device, base } of mappings) {
    const batch = batches.get(device) ?? new Batch("closing mappings of another process's device memory");
    batch.ipcClose(base);
    batches.set(device, batch);
  }
  await Promise.all([...batches].map(([device, batch]) => device.submit(batch)));
}
