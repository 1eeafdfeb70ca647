/** One allocation of device memory, handed out in blocks of equal size. */
import { createHash } from "node:crypto";
import type { CudaDevice } from "../driver/device.js";
import type { DevicePointer, IpcHandle } from "../driver/handles.js";

/** Another process that may have a slab mapped, by agreement. */
export interface Holder {
  /** Resolves when the other process has let go of the slab, or no longer may have it. */
  retire(slab: Slab): Promise<void>;
}

/** A part of a slab that has one owner. */
export interface Block {
  readonly slab: Slab;
  readonly pointer: DevicePointer;
  readonly bytes: number;
}

export class Slab {
  /** Other processes that were told that this memory will last. */
  readonly holders = new Set<Holder>();
  private readonly free: number[];
  private exported: { readonly handle: IpcHandle; readonly name: string } | undefined;

  constructor(
    readonly device: CudaDevice,
    readonly base: DevicePointer,
    readonly bytes: number,
    readonly blockBytes: number,
  ) {
    this.free = Array.from({ length: Math.floor(bytes / blockBytes) }, (_, index) => index).reverse();
    this.blocks = this.free.length;
  }

  private readonly blocks: number;

  get isIdle(): boolean {
    return this.free.length === this.blocks;
  }

  get isFull(): boolean {
    return this.free.length === 0;
  }

  /** The handle of the whole slab, once another process has been given it. */
  get export(): { readonly handle: IpcHandle; readonly name: string } | undefined {
    return this.exported;
  }

  set handle(handle: IpcHandle) {
    this.exported = { handle, name: nameOfHandle(handle) };
  }

  take(): Block {
    const index = this.free.pop();
    if (index === undefined) throw new RangeError("The slab is full");
    const pointer = (this.base + BigInt(index * this.blockBytes)) as DevicePointer;
    return { slab: this, pointer, bytes: this.blockBytes };
  }

  giveBack({ pointer }: Block): void {
    this.free.push(Number(pointer - this.base) / this.blockBytes);
  }

  /** The block that an address is in. */
  blockAt(pointer: DevicePointer): { readonly base: DevicePointer; readonly bytes: number } {
    const index = Math.floor(Number(pointer - this.base) / this.blockBytes);
    return { base: (this.base + BigInt(index * this.blockBytes)) as DevicePointer, bytes: this.blockBytes };
  }

  includes(pointer: DevicePointer): boolean {
    return pointer >= this.base && pointer < this.base + BigInt(this.bytes);
  }
}

/** A short name of an allocation in headers, which both sides know from its handle. */
export const nameOfHandle = (handle: IpcHandle): string =>
  createHash("sha256").update(handle).digest("hex").slice(0, 16);
