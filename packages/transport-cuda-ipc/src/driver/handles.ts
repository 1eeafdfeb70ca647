/** What the driver hands out, as types that can't be mixed up. */
import type { DevicePointer } from "@tesseract-ts/core";

export type { DevicePointer } from "@tesseract-ts/core";

declare const streamHandle: unique symbol;
declare const eventHandle: unique symbol;

/** A `CUstream`. */
export type StreamHandle = bigint & { readonly [streamHandle]: never };

/** A `CUevent`. */
export type EventHandle = bigint & { readonly [eventHandle]: never };

/** A `CUipcMemHandle`: {@link IPC_HANDLE_BYTES} bytes, which another process opens. It names a whole allocation. */
export type IpcHandle = Uint8Array;

export const IPC_HANDLE_BYTES = 64;

/** The address of nothing: where an array without elements is. */
export const NULL_POINTER = 0n as DevicePointer;

/** Where an allocation begins, and how many bytes it has. */
export interface AddressRange {
  readonly base: DevicePointer;
  readonly bytes: number;
}

/** Memory of a device, in bytes, as all processes use it together. */
export interface MemoryInfo {
  readonly free: number;
  readonly total: number;
}

/** What the driver knows of an address. */
export interface PointerAttributes {
  /** `unknown`: no memory that the driver knows, such as ordinary host memory. Then the rest says nothing. */
  readonly memoryType: "host" | "device" | "unknown";
  /** The device that the memory is on, as this process numbers it; undefined for unknown memory. */
  readonly ordinal: number | undefined;
  /** Whether `ipcHandle` can give a handle for it: memory of virtual or stream-ordered allocation has none. */
  readonly legacyIpcCapable: boolean;
  /** The allocation that the address is in. */
  readonly range: AddressRange;
  readonly managed: boolean;
  /** Unique in the process for each allocation, also if a later one gets the same address. */
  readonly bufferId: bigint;
}

/**
 * How memory is allocated. `plain` (`cuMemAlloc`) is the one whose handles other processes can open; `virtual`
 * (`cuMemCreate`, `cuMemMap`) and `pool` (`cuMemAllocAsync`) have no legacy handle.
 */
export type MemoryKind = "plain" | "virtual" | "pool";
