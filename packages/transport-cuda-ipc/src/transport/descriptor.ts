/** How an array in device memory stands in a message: `uuid:base64(handle):offset:size`. */
import { elementCount, itemSize, type ReceivedArray, TesseractError } from "@tesseract-ts/core";
import { IPC_HANDLE_BYTES, type IpcHandle } from "../driver/handles.js";

export interface Descriptor {
  /** Of the device, lower case with hyphens; processes may number devices differently. */
  readonly uuid: string;
  /** Of a whole allocation. Undefined for an array without elements. */
  readonly handle: IpcHandle | undefined;
  /** Where in the allocation the array begins, in bytes. */
  readonly offset: number;
  /** Bytes of the allocation, as the sender knows it. */
  readonly size: number;
}

export const formatDescriptor = ({ uuid, handle, offset, size }: Descriptor): string =>
  `${uuid}:${handle === undefined ? "" : Buffer.from(handle).toString("base64")}:${offset}:${size}`;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** 64 bytes in base64. */
const HANDLE = /^[A-Za-z0-9+/]{86}==$/;
const COUNT = /^\d{1,16}$/;

/** Bytes of an array's elements. */
export const bytesOfArray = ({ shape, dtype }: Pick<ReceivedArray, "shape" | "dtype">): number =>
  elementCount(shape) * itemSize(dtype);

/**
 * Reads the descriptor of an array that came, which is untrusted. What it says of the allocation is checked again when
 * that is mapped.
 *
 * @throws TesseractError DECODE_FAILED, RUNTIME_TOO_OLD
 */
export function parseDescriptor(array: ReceivedArray): Descriptor {
  const { path, data } = array;
  const parts = typeof data.buffer === "string" && data.buffer.length < 300 ? data.buffer.split(":") : [];
  const [uuid = "", handle = "", offset = "", size = ""] = parts;
  if (parts.length !== 4) throw malformed(path, "it isn't uuid:handle:offset:size");
  if (COUNT.test(uuid)) {
    throw new TesseractError(
      "RUNTIME_TOO_OLD",
      `${path}: the array's device is number ${uuid} of the sender, which this process may number differently`,
      { hint: "Rebuild the Tesseract with runtime 1.15 or newer, which names devices by UUID." },
    );
  }
  if (!UUID.test(uuid)) throw malformed(path, "its device has no UUID");
  if (!COUNT.test(offset) || !COUNT.test(size)) throw malformed(path, "its offset or size is no number of bytes");
  const descriptor = { uuid, offset: Number(offset), size: Number(size) };
  if (!Number.isSafeInteger(descriptor.offset + descriptor.size))
    throw malformed(path, "its offset or size is too large");
  const bytes = bytesOfArray(array);
  if (handle === "") {
    if (bytes > 0) throw malformed(path, `it has no handle, but the array has ${bytes} bytes`);
    return { ...descriptor, handle: undefined };
  }
  if (!HANDLE.test(handle)) throw malformed(path, `its handle isn't ${IPC_HANDLE_BYTES} bytes in base64`);
  if (descriptor.offset + bytes > descriptor.size) {
    throw malformed(
      path,
      `the array needs ${bytes} bytes from ${descriptor.offset} on, but its storage has ${descriptor.size}`,
    );
  }
  return { ...descriptor, handle: new Uint8Array(Buffer.from(handle, "base64")) };
}

const malformed = (path: string, what: string): TesseractError =>
  new TesseractError("DECODE_FAILED", `${path}: the descriptor of an array in device memory can't be used: ${what}`);
