/** A small, right transport through files, and what it does wrong when it is told to. */
import { randomUUID } from "node:crypto";
import { appendFileSync, closeSync, openSync, readSync, rmSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  bytesOf,
  checkHostArray,
  type EncodedArray,
  elementCount,
  type HostArray,
  type HostTransport,
  itemSize,
  makeHostArray,
  type ReceivedArray,
  type Session,
  TesseractError,
  viewAs,
} from "@tesseract-ts/core";

export type FileFault =
  | "a name in capitals"
  | "a probe that throws"
  | "a probe that refuses"
  | "swaps arrays of long messages"
  | "calls bool uint8"
  | "makes scalars of complex128 lists"
  | "makes all NaNs of float16 alike"
  | "writes no more than 64 KiB"
  | "writes the memory around an array too"
  | "refuses a message without arrays"
  | "refuses an array that stands in a message twice"
  | "reverses the bytes of inputs in place"
  | "gives the sender's own arrays"
  | "reads into memory that it uses again"
  | "ends a message when the next is encoded"
  | "never removes files"
  | "fails when a lease is released again"
  | "uses a file again that was released twice"
  | "writes to a file that was abandoned"
  | "leaves a file of an aborted call"
  | "has a reason of its own for aborting"
  | "leaves a descriptor of an aborted call"
  | "takes any buffer for a string"
  | "opens any path"
  | "takes memory before it looks at the file"
  | "takes what there is for the array"
  | "keeps the file of the last message in a variable"
  | "ends its messages with its session"
  | "chokes on a header"
  | "says what no header can"
  | "keeps the files of long messages"
  | "keeps a descriptor of long messages";

const registry = new Map<string, HostArray>();
const scratch = new ArrayBuffer(2400);
let lastFile = "";
/** What descriptors a broken one keeps, so that a test can close them. */
export const kept: number[] = [];

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export function files(folder: string, fault?: FileFault): HostTransport {
  const is = (one: FileFault): boolean => fault === one;
  const name = is("a name in capitals") ? "FILES" : "files";
  const free: string[] = [];
  const live = new Set<string>();
  let previous: string | undefined;

  const newFile = (): string => free.pop() ?? join(folder, randomUUID());

  async function encode(arrays: readonly HostArray[], { signal }: { readonly signal?: AbortSignal }) {
    if (is("refuses a message without arrays") && arrays.length === 0) throw new Error("There is nothing to send");
    if (is("refuses an array that stands in a message twice") && new Set(arrays).size < arrays.length) {
      throw new TesseractError("INVALID_ARRAY", "An array stands in the message twice");
    }
    if (is("ends a message when the next is encoded") && previous !== undefined) rmSync(previous, { force: true });
    let file = newFile();
    previous = file;
    if (is("keeps the file of the last message in a variable")) lastFile = file;
    const parts: Uint8Array[] = [];
    const encoded: EncodedArray[] = [];
    let offset = 0;
    try {
      writeFileSync(file, "");
      for (const array of arrays) {
        if (is("has a reason of its own for aborting") && signal?.aborted === true) throw new Error("aborted");
        signal?.throwIfAborted();
        if (is("keeps the file of the last message in a variable")) file = lastFile;
        const part = partOf(array);
        parts.push(part);
        appendFileSync(file, part);
        await turn();
        const id = `${file.slice(folder.length + 1)}:${offset}`;
        if (is("gives the sender's own arrays") && array.data.length === 50) registry.set(id, array);
        encoded.push({ object_type: "array", ...formOf(array), data: { encoding: name, buffer: id } });
        offset += part.length;
      }
    } catch (error) {
      if (!is("leaves a file of an aborted call")) rmSync(file, { force: true });
      throw error;
    }
    if (is("swaps arrays of long messages") && encoded.length > 100) encoded.reverse();
    live.add(file);
    return { arrays: encoded, lease: leaseOf(file, arrays.length) };
  }

  function leaseOf(file: string, count: number) {
    let ended = false;
    const remove = async (): Promise<void> => {
      live.delete(file);
      if (is("never removes files") || (is("keeps the files of long messages") && count > 100)) return;
      if (is("uses a file again that was released twice")) {
        free.push(file);
        return rmSync(file, { force: true });
      }
      if (is("fails when a lease is released again")) return unlinkSync(file);
      if (ended) return;
      ended = true;
      rmSync(file, { force: !is("ends its messages with its session") });
    };
    const abandon = async (): Promise<void> => {
      if (!is("writes to a file that was abandoned")) return remove();
      ended = true;
      free.push(file);
    };
    return { release: remove, abandon };
  }

  function partOf(array: HostArray): Uint8Array {
    const bytes = bytesOf(array);
    if (is("writes no more than 64 KiB")) return bytes.subarray(0, 1 << 16);
    if (is("writes the memory around an array too")) return new Uint8Array(array.data.buffer);
    if (is("reverses the bytes of inputs in place") && array.data.length === 40)
      return bytes.reverse().slice().reverse();
    if (is("makes all NaNs of float16 alike") && array.dtype === "float16") {
      return new Uint8Array(Uint16Array.from(array.data, (bits) => ((bits & 0x7fff) > 0x7c00 ? 0x7e00 : bits)).buffer);
    }
    return bytes;
  }

  function formOf({ dtype, shape }: HostArray): Pick<EncodedArray, "dtype" | "shape"> {
    if (is("calls bool uint8") && dtype === "bool") return { dtype: "uint8", shape };
    if (is("makes scalars of complex128 lists") && dtype === "complex128" && shape[0] === 1)
      return { dtype, shape: [] };
    return { dtype, shape };
  }

  async function decode(encoded: readonly ReceivedArray[], { signal }: { readonly signal?: AbortSignal }) {
    const arrays: HostArray[] = [];
    for (const array of encoded) arrays.push(await read(array, signal));
    if (is("keeps a descriptor of long messages") && encoded.length > 100)
      kept.push(openSync(join(folder, "log"), "w"));
    return arrays;
  }

  async function read(
    { data, dtype, shape, path }: ReceivedArray,
    signal: AbortSignal | undefined,
  ): Promise<HostArray> {
    signal?.throwIfAborted();
    const refuse = (what: string): TesseractError => new TesseractError("DECODE_FAILED", `${path}: ${what}`);
    const { buffer } = data;
    if (is("takes any buffer for a string")) (buffer as string).slice(1);
    const [, file = "", offset = ""] =
      (typeof buffer === "string" &&
        (is("opens any path") ? /^(.+?)(?::(\d{1,9}))?$/ : /^([\da-f-]{36}):(\d{1,9})$/).exec(buffer)) ||
      [];
    if (file === "") throw refuse("this is no reference to a file");
    const count = elementCount(shape);
    const bytes = count * itemSize(dtype);
    if (is("takes memory before it looks at the file")) new Uint8Array(bytes);
    const known = registry.get(String(buffer));
    if (known !== undefined) return known;
    const at = Number(offset);
    const where = file.startsWith("/") ? file : join(folder, file);
    try {
      const { size } = statSync(where);
      if (at + bytes > size && !is("takes what there is for the array")) throw refuse(`its file has ${size} bytes`);
      const handle = openSync(where, "r");
      await turn();
      let leak = false;
      try {
        const memory =
          is("reads into memory that it uses again") && bytes === scratch.byteLength
            ? new Uint8Array(scratch)
            : new Uint8Array(is("takes what there is for the array") ? Math.max(0, Math.min(bytes, size - at)) : bytes);
        if (memory.length > 0) readSync(handle, memory, 0, memory.length, at);
        leak = is("leaves a descriptor of an aborted call") && signal?.aborted === true;
        signal?.throwIfAborted();
        if (is("takes what there is for the array")) {
          return makeHostArray(
            dtype,
            shape,
            viewAs(dtype, memory.buffer, 0, Math.floor(memory.length / itemSize(dtype))),
          );
        }
        const result = makeHostArray(dtype, shape, viewAs(dtype, memory.buffer, 0, count));
        checkHostArray(result);
        return result;
      } finally {
        if (leak) kept.push(handle);
        else closeSync(handle);
      }
    } catch (error) {
      if (error instanceof TesseractError || signal?.aborted === true) throw error;
      throw refuse(`its file can't be read: ${String(error)}`);
    }
  }

  const transport: HostTransport = {
    name,
    carries: "host",
    reach: "host",
    async probe() {
      if (is("a probe that throws")) throw new Error("No");
      return is("a probe that refuses") ? { ok: false, reason: "it can't" } : { ok: true };
    },
    encode,
    decode,
  };
  return {
    ...transport,
    connect: (): HostTransport & Session => ({
      ...transport,
      headers: () => ({ "tesseract-files": is("says what no header can") ? "a\nb" : "a" }),
      async receive(headers) {
        if (is("chokes on a header"))
          JSON.parse(headers("tesseract-files") === "a" ? "1" : (headers("tesseract-files") ?? "1"));
      },
      async close() {
        if (!is("ends its messages with its session")) return;
        for (const file of live) rmSync(file, { force: true });
      },
    }),
  };
}
