/**
 * Device memory that is kept for reuse. To allocate and free device memory waits for the device and can take tens of
 * milliseconds, and programs that iterate need the same sizes again and again.
 */
import { TesseractError } from "@tesseract-ts/core";
import { Batch } from "../driver/batch.js";
import type { CudaDevice } from "../driver/device.js";
import type { DevicePointer } from "../driver/handles.js";
import { type Block, Slab } from "./slab.js";

/**
 * Slabs are whole pages of the driver (2 MiB), since memory that is shared with another process is shared by the page
 * (CUDA C++ Programming Guide, "Interprocess Communication").
 */
const PAGE = 2 ** 21;
/** Blocks are at least so large, and begin at a multiple of it, as allocations of the driver do. */
const SMALLEST_BLOCK = 512;
/** Up to here a slab has several blocks. */
const LARGEST_SHARED_BLOCK = 2 ** 20;
/** A large slab serves arrays that leave no more than this part of it unused. */
const MOST_UNUSED = 1 / 8;
/** Of the device's memory, what is kept idle; the reference's default of the same setting. */
const DEFAULT_FRACTION = 0.25;

const memories = new WeakMap<CudaDevice, DeviceMemory>();

export class DeviceMemory {
  /** Idle bytes that are kept for reuse; what is beyond is freed, least recently used first. */
  limit: number;
  /** By the bytes of their blocks. */
  private readonly slabs = new Map<number, Set<Slab>>();
  /** By base; sorted when it is searched. */
  private index: Slab[] = [];
  /** Least recently used first. */
  private readonly idle = new Set<Slab>();
  private idleBytes = 0;
  /** By the bytes of their blocks, slabs that are being allocated, and how many of their blocks nobody waits for yet. */
  private readonly coming = new Map<number, { readonly slabs: Promise<void>; spare: number }>();
  /** What is being given back to the driver. */
  private readonly freeing = new Set<Promise<unknown>>();

  private constructor(readonly device: CudaDevice) {
    this.limit = Math.floor(device.info.totalMemory * fraction());
  }

  /** The memory that this environment keeps on a device. */
  static of(device: CudaDevice): DeviceMemory {
    let memory = memories.get(device);
    if (memory === undefined) {
      memory = new DeviceMemory(device);
      memories.set(device, memory);
      trimAtEnd(memory);
    }
    return memory;
  }

  /** What is allocated on this device through this object, in bytes. */
  get allocatedBytes(): number {
    return this.index.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /**
   * Blocks of at least these sizes, uninitialized. The caller owns them and gives them back with {@link release}.
   *
   * @throws TesseractError OUT_OF_DEVICE_MEMORY, after what was idle has been given back; CUDA_ERROR
   */
  async acquire(sizes: readonly number[], doing: string): Promise<Block[]> {
    const blocks: (Block | undefined)[] = sizes.map((bytes) => this.takeIdle(blockBytesFor(bytes)));
    try {
      for (const [index, bytes] of sizes.entries()) {
        blocks[index] ??= await this.takeNew(blockBytesFor(bytes), sizes.slice(index).map(blockBytesFor), doing);
      }
    } catch (error) {
      for (const block of blocks) if (block !== undefined) this.release(block);
      throw error;
    }
    return blocks.filter((block) => block !== undefined);
  }

  /** Gives a block back, once all work on it has ended. */
  release(block: Block): void {
    const { slab } = block;
    slab.giveBack(block);
    if (!slab.isIdle) return;
    this.idle.add(slab);
    this.idleBytes += slab.bytes;
    for (const oldest of this.idle) {
      if (this.idleBytes <= this.limit) break;
      this.forget(oldest);
      // Its failure is the driver's and was reported by the call that met it first; nobody waits for this one.
      this.end(oldest).catch(reportLater);
    }
  }

  /** The slab that an address is in, if it is of this memory. */
  find(pointer: DevicePointer): Slab | undefined {
    let low = 0;
    let high = this.index.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const slab = this.index[middle];
      if (slab !== undefined && slab.base <= pointer) low = middle + 1;
      else high = middle;
    }
    const slab = this.index[low - 1];
    return slab?.includes(pointer) === true ? slab : undefined;
  }

  /**
   * Frees what is idle. What other processes have mapped by agreement is freed when they have let go; with `wait` the
   * promise resolves only then.
   */
  async trim({ wait = true }: { readonly wait?: boolean } = {}): Promise<void> {
    const slabs = [...this.idle];
    for (const slab of slabs) this.forget(slab);
    const held = slabs.filter(({ holders }) => holders.size > 0);
    const freed = this.free(slabs.filter(({ holders }) => holders.size === 0));
    const later = Promise.all(held.map((slab) => this.end(slab)));
    if (wait) await later;
    else later.catch(reportLater);
    await freed;
    await Promise.allSettled(this.freeing);
  }

  private takeIdle(blockBytes: number): Block | undefined {
    for (const slab of this.candidates(blockBytes)) {
      if (slab.isFull) continue;
      if (this.idle.delete(slab)) this.idleBytes -= slab.bytes;
      return slab.take();
    }
    return undefined;
  }

  private *candidates(blockBytes: number): Iterable<Slab> {
    yield* this.slabs.get(blockBytes) ?? [];
    if (blockBytes <= LARGEST_SHARED_BLOCK) return;
    for (const slab of this.idle) {
      if (slab.blockBytes > blockBytes && slab.bytes * (1 - MOST_UNUSED) <= blockBytes) yield slab;
    }
  }

  /** Makes room for several blocks of one size at once, and gives the first. */
  private async takeNew(blockBytes: number, wanted: readonly number[], doing: string): Promise<Block> {
    const known = this.takeIdle(blockBytes);
    if (known !== undefined) return known;
    const coming = this.coming.get(blockBytes);
    if (coming !== undefined && coming.spare > 0) {
      coming.spare -= 1;
      // Whoever asked for it gets its failure; this one then asks again.
      await coming.slabs.catch(() => {});
    } else {
      await this.grow(blockBytes, wanted.filter((other) => other === blockBytes).length, doing);
    }
    return this.takeNew(blockBytes, wanted, doing);
  }

  /** Allocates slabs with this many blocks and more. */
  private async grow(blockBytes: number, blocks: number, doing: string): Promise<void> {
    const bytes = Math.ceil(blockBytes / PAGE) * PAGE;
    const perSlab = Math.floor(bytes / blockBytes);
    const count = Math.ceil(blocks / perSlab);
    const slabs = this.allocate(count, bytes, blockBytes, doing);
    const coming = { slabs, spare: count * perSlab - blocks };
    this.coming.set(blockBytes, coming);
    try {
      await slabs;
    } finally {
      if (this.coming.get(blockBytes) === coming) this.coming.delete(blockBytes);
    }
  }

  private async allocate(count: number, bytes: number, blockBytes: number, doing: string): Promise<void> {
    const allocate = async (slabs: number): Promise<void> => {
      const batch = new Batch(doing);
      const pointers = Array.from({ length: slabs }, () => batch.alloc(bytes, { doing: `allocating ${bytes} bytes` }));
      const results = await this.device.submit(batch);
      for (const pointer of pointers) this.add(new Slab(this.device, results.get(pointer), bytes, blockBytes));
    };
    try {
      await allocate(count);
    } catch (error) {
      if (!isOutOfMemory(error)) throw error;
      await this.trim({ wait: false });
      await allocate(count).catch((again) => {
        throw isOutOfMemory(again) ? this.full(again, count * bytes, doing) : again;
      });
    }
  }

  private full(cause: TesseractError, bytes: number, doing: string): TesseractError {
    const { ordinal, info } = this.device;
    return new TesseractError(
      "OUT_OF_DEVICE_MEMORY",
      `${doing}: GPU ${ordinal} (${info.name}) has no ${bytes} bytes left, although idle memory was given back`,
      { cause, hint: "Dispose of device arrays that are done with, or send smaller ones." },
    );
  }

  private add(slab: Slab): void {
    const set = this.slabs.get(slab.blockBytes) ?? new Set();
    this.slabs.set(slab.blockBytes, set.add(slab));
    this.index.push(slab);
    this.index.sort((a, b) => (a.base < b.base ? -1 : 1));
    this.idle.add(slab);
    this.idleBytes += slab.bytes;
  }

  /** It is handed out no more. */
  private forget(slab: Slab): void {
    if (this.idle.delete(slab)) this.idleBytes -= slab.bytes;
    this.slabs.get(slab.blockBytes)?.delete(slab);
    this.index = this.index.filter((other) => other !== slab);
  }

  private async end(slab: Slab): Promise<void> {
    await Promise.all([...slab.holders].map((holder) => holder.retire(slab)));
    await this.free([slab]);
  }

  private async free(slabs: readonly Slab[]): Promise<void> {
    if (slabs.length === 0) return;
    const batch = new Batch("giving device memory back");
    for (const { base } of slabs) batch.free(base);
    const freed = this.device.submit(batch);
    this.freeing.add(freed);
    try {
      await freed;
    } finally {
      this.freeing.delete(freed);
    }
  }
}

/** A program that ends by itself leaves nothing behind; what is mapped elsewhere ends with the process. */
function trimAtEnd(memory: DeviceMemory): void {
  process.once("beforeExit", () => {
    memory.trim({ wait: false }).catch(reportLater);
  });
}

/** The size of the blocks that an array of `bytes` gets one of. */
function blockBytesFor(bytes: number): number {
  if (bytes > LARGEST_SHARED_BLOCK) return Math.ceil(bytes / PAGE) * PAGE;
  let block = SMALLEST_BLOCK;
  while (block < bytes) block *= 2;
  return block;
}

/** The reference reads the same variables. */
function fraction(): number {
  const { TESSERACT_RUNTIME_CUDA_IPC_POOL_FRACTION, TESSERACT_CUDA_IPC_POOL_FRACTION } = process.env;
  const value = Number(TESSERACT_RUNTIME_CUDA_IPC_POOL_FRACTION ?? TESSERACT_CUDA_IPC_POOL_FRACTION ?? Number.NaN);
  return value >= 0 && value <= 1 ? value : DEFAULT_FRACTION;
}

const isOutOfMemory = (error: unknown): error is TesseractError =>
  error instanceof TesseractError && error.code === "OUT_OF_DEVICE_MEMORY";

const reportLater = (error: unknown): void => {
  process.emitWarning(`Device memory couldn't be given back: ${String(error)}`);
};
