/**
 * A GPU transport without a GPU: arrays are numbers in a table, which this process and its worker processes reach by
 * files. It counts what lives, so that tests see that nothing is left.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  bytesOf,
  type CudaArray,
  type CudaArrayInterface,
  type DeviceTransport,
  dtypeOfTypestr,
  type EncodedMessage,
  elementCount,
  type Headers,
  type HostArray,
  hostArray,
  itemSize,
  type ReceivedArray,
  type Session,
  TesseractError,
  viewAs,
} from "@tesseract-ts/core";

const DEVICE = "00000000-0000-0000-0000-000000000001";

let nextPointer = 0x1000n;

/** What lives in this process. */
export const living = { arrays: 0, leases: 0, sessions: 0 };

export class FakeGpuArray implements CudaArray, Disposable {
  readonly device = DEVICE;
  readonly cudaArrayInterface: CudaArrayInterface;
  private isDisposed = false;

  constructor(
    readonly bytes: Uint8Array,
    shape: readonly number[],
    typestr: string,
  ) {
    nextPointer += 0x1000n;
    this.cudaArrayInterface = { shape, typestr, data: [nextPointer, false], version: 3 };
    living.arrays += 1;
  }

  static of(...values: number[]): FakeGpuArray {
    return new FakeGpuArray(bytesOf(hostArray(values)).slice(), [values.length], "<f8");
  }

  read(): Uint8Array {
    if (this.isDisposed) throw new TesseractError("DISPOSED", "The array was disposed of");
    return this.bytes;
  }

  async copyToHost(): Promise<HostArray> {
    const dtype = dtypeOfTypestr(this.cudaArrayInterface.typestr);
    const { shape } = this.cudaArrayInterface;
    const { buffer } = this.read().slice();
    return hostArray(viewAs(dtype, buffer), { dtype, shape });
  }

  [Symbol.dispose](): void {
    if (this.isDisposed) return;
    this.isDisposed = true;
    living.arrays -= 1;
  }
}

const typestrOf: Readonly<Record<string, string>> = { float64: "<f8", uint8: "|u1" };

const handleOf = (number: string): string => Buffer.from(number.padEnd(64, ".")).toString("base64");

/** @param folder in which exports are files, so that other processes find them */
export function fakeGpu(folder: string): DeviceTransport {
  mkdirSync(folder, { recursive: true });
  let exported = 0;

  const exportBytes = (bytes: Uint8Array): { readonly buffer: string; readonly file: string } => {
    exported += 1;
    const name = `${process.pid}-${exported}-${Math.random().toString(36).slice(2, 8)}`;
    const file = join(folder, name);
    writeFileSync(file, bytes);
    return { buffer: `${DEVICE}:${handleOf(name)}:0:${bytes.length}`, file };
  };
  const message = (
    arrays: readonly { bytes: Uint8Array; shape: readonly number[]; dtype: string }[],
  ): EncodedMessage => {
    living.leases += 1;
    const files: string[] = [];
    const encoded = arrays.map(({ bytes, shape, dtype }) => {
      const { buffer, file } = exportBytes(bytes);
      files.push(file);
      return { object_type: "array", shape, dtype, data: { encoding: "cuda_ipc", buffer } } as const;
    });
    return {
      arrays: encoded as unknown as EncodedMessage["arrays"],
      lease: {
        async release() {
          living.leases -= 1;
          for (const file of files) rmSync(file, { force: true });
        },
      },
    };
  };
  const imported = ({ data, shape, dtype }: ReceivedArray): Uint8Array => {
    const name = Buffer.from(String(data.buffer).split(":")[1] ?? "", "base64")
      .toString()
      .replace(/\.+$/, "");
    try {
      return Uint8Array.from(readFileSync(join(folder, name))).subarray(0, elementCount(shape) * itemSize(dtype));
    } catch (error) {
      throw new TesseractError("DECODE_FAILED", "There is no such allocation", { cause: error });
    }
  };
  const transport: DeviceTransport = {
    name: "cuda_ipc",
    carries: "device",
    reach: "host",
    probe: async () => ({ ok: true }),
    async encode(arrays, { signal }) {
      signal?.throwIfAborted();
      return message(
        arrays.map((array) => {
          const { shape, typestr } = array.cudaArrayInterface;
          return { bytes: (array as FakeGpuArray).read(), shape, dtype: dtypeOfTypestr(typestr) };
        }),
      );
    },
    async decode(encoded) {
      const all = encoded.map((each) => ({ each, bytes: imported(each) }));
      return all.map(({ each, bytes }) => new FakeGpuArray(bytes, each.shape, typestrOf[each.dtype] ?? ""));
    },
    encodeCheck: async (bytes) => message([{ bytes, shape: [bytes.length], dtype: "uint8" }]),
    decodeCheck: async (encoded) => imported(encoded),
  };
  return transport;
}

/** One that greets: it has agreed on something with each client, and ends when the client takes leave. */
export function greetingGpu(folder: string, heard: string[]): DeviceTransport {
  const transport = fakeGpu(folder);
  return {
    ...transport,
    connect({ name }): DeviceTransport & Session {
      living.sessions += 1;
      let left = false;
      return {
        ...transport,
        headers: (): Record<string, string> => (left ? {} : { "tesseract-fake": `hello ${name}` }),
        async receive(headers: Headers) {
          const said = headers("tesseract-fake");
          if (said !== undefined) heard.push(said);
          if (said === "goodbye") left = true;
        },
        async takeLeave() {
          left = true;
        },
        async close() {
          living.sessions -= 1;
        },
      };
    },
  };
}
