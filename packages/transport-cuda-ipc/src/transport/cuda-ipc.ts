/** The transport `cuda_ipc`: arrays that stay in a GPU's memory between processes of one host. */
import {
  type CudaArray,
  type DeviceTransport,
  type EncodedMessage,
  type HostArray,
  type Peer,
  type ProbeResult,
  type Session,
  TesseractError,
} from "@tesseract-ts/core";
import { DeviceArray } from "../device-array.js";
import { Batch } from "../driver/batch.js";
import type { CudaDevice } from "../driver/device.js";
import { openDriver } from "../driver/driver.js";
import { probeDriver } from "../driver/probe.js";
import { Agreement, LASTING_HEADER, namesIn } from "./agreement.js";
import { readBytes } from "./check.js";
import { decodeArrays } from "./decode.js";
import { formatDescriptor } from "./descriptor.js";
import { encodeArrays } from "./encode.js";
import { type MappingLimits, Mappings } from "./mappings.js";

export interface CudaIpcOptions {
  /**
   * How much of a peer's memory stays mapped between messages, where the peer has agreed to keep it. 64 mappings of 8 GiB
   * together if left out; a count of 0 maps each message's memory anew.
   */
  readonly mappings?: Partial<MappingLimits>;
}

const DEFAULT_LIMITS: MappingLimits = { count: 64, bytes: 2 ** 33 };

/**
 * GPU arrays by reference: the receiver maps the sender's memory, copies each array into memory of its own on the same
 * device, and lets go. Both processes must be on one host and see the same GPU.
 *
 * Arrays that come are {@link DeviceArray}s, which their receiver disposes of. Arrays that go are any CUDA arrays; they
 * stay their owner's, and mustn't be written to before the call has ended. Those whose memory can't be shared, and
 * strided ones, are copied on the device first.
 *
 * @example
 * await using tess = await fromUrl(url, { gpuTransport: "cuda_ipc", transports: [cudaIpc(), host()] });
 * using x = await DeviceArray.fromHost(new Float32Array(1 << 20));
 * const { y } = await tess.apply({ x }); // y is a DeviceArray
 */
export function cudaIpc(options: CudaIpcOptions = {}): DeviceTransport {
  const limits = { ...DEFAULT_LIMITS, ...options.mappings };
  return {
    ...transport(new Mappings({ count: 0, bytes: 0 }), undefined),
    connect: (_: Peer): DeviceTransport & Session => {
      const mappings = new Mappings(limits);
      const agreement = new Agreement(mappings);
      return {
        ...transport(mappings, agreement),
        headers: () => agreement.headers(),
        receive: (headers) => agreement.receive(headers),
        takeLeave: () => agreement.takeLeave(),
        close: () => mappings.endAll(),
      };
    },
  };
}

/** @param agreement with the peer; without one, nothing is kept between messages */
function transport(mappings: Mappings, agreement: Agreement | undefined): DeviceTransport {
  return {
    name: "cuda_ipc",
    carries: "device",
    reach: "host",
    async probe(): Promise<ProbeResult> {
      const found = await probeDriver();
      return found.ok ? { ok: true } : { ok: false, reason: found.reason, hint: found.hint };
    },
    async encode(arrays, { signal }) {
      const announce = agreement === undefined ? () => ({}) : agreement.announce.bind(agreement);
      return encodeArrays(await openDriver(), arrays, { signal, announce });
    },
    async decode(encoded, { signal, headers }) {
      const lasting = new Set(namesIn(headers?.(LASTING_HEADER)));
      const lasts = (name: string): boolean => lasting.has(name);
      return decodeArrays(await openDriver(), encoded, { signal, mappings, lasts });
    },
    encodeCheck,
    decodeCheck: async (encoded) => readBytes(await openDriver(), encoded),
    async toDevice(array: HostArray, like?: CudaArray) {
      return DeviceArray.fromHost(array, like?.device === undefined ? {} : { device: like.device });
    },
  };
}

/** In memory of its own, since a check may run while messages are on their way. */
async function encodeCheck(bytes: Uint8Array): Promise<EncodedMessage> {
  const device = (await openDriver()).device();
  const batch = new Batch("exporting an array to check cuda_ipc");
  const memory = batch.alloc(bytes.length);
  batch.copyFromHost(memory, bytes.slice());
  const handle = batch.ipcHandle(memory);
  const results = await device.submit(batch);
  const buffer = formatDescriptor({
    uuid: device.uuid,
    handle: results.get(handle),
    offset: 0,
    size: bytes.length,
  });
  return {
    arrays: [{ object_type: "array", shape: [bytes.length], dtype: "uint8", data: { encoding: "cuda_ipc", buffer } }],
    lease: { release: () => free(device, results.get(memory)) },
  };
}

async function free(device: CudaDevice, pointer: Parameters<CudaDevice["free"]>[0]): Promise<void> {
  try {
    await device.free(pointer);
  } catch (error) {
    if (!(error instanceof TesseractError)) throw error;
    process.emitWarning(`The memory of a check of cuda_ipc couldn't be given back: ${error.message}`);
  }
}
