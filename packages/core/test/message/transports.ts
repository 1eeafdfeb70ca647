/** Small transports for tests, which carry arrays by number: the buffer is where in `sent` the array is. */
import type { CudaArray } from "../../src/arrays/cuda-array.js";
import { dtypeOfTypestr } from "../../src/arrays/cuda-array.js";
import type { HostArray } from "../../src/arrays/host-array.js";
import type {
  DeviceTransport,
  EncodeContext,
  EncodedMessage,
  HostTransport,
  Lease,
  MessageContext,
  ReceivedArray,
} from "../../src/transport.js";

/** Counts how often it was released. */
export class CountedLease implements Lease {
  released = 0;
  async release(): Promise<void> {
    this.released++;
  }
}

/** One that can be taken away under a reader. */
class HarmlessLease extends CountedLease {
  abandon(): Promise<void> {
    return this.release();
  }
}

export interface Recorded<A> {
  readonly sent: A[];
  readonly leases: CountedLease[];
  readonly contexts: (EncodeContext | MessageContext)[];
}

/** The lease of the message that `recorded` encoded last. */
export function leaseOf({ leases }: Recorded<unknown>): CountedLease {
  const lease = leases[leases.length - 1];
  if (lease === undefined) throw new Error("Nothing was encoded");
  return lease;
}

function numbered<A>(
  name: string,
  newLease: () => CountedLease,
  formOf: (array: A) => Pick<ReceivedArray, "shape" | "dtype">,
) {
  const sent: A[] = [];
  const leases: CountedLease[] = [];
  const contexts: (EncodeContext | MessageContext)[] = [];
  return {
    name,
    sent,
    leases,
    contexts,
    async probe() {
      return { ok: true } as const;
    },
    async encode(arrays: readonly A[], context: EncodeContext): Promise<EncodedMessage> {
      contexts.push(context);
      const lease = newLease();
      leases.push(lease);
      return {
        arrays: arrays.map((array) => ({
          object_type: "array",
          ...formOf(array),
          data: { encoding: name, buffer: sent.push(array) - 1 },
        })),
        lease,
      };
    },
    async decode(encoded: readonly ReceivedArray[], context: MessageContext): Promise<A[]> {
      contexts.push(context);
      return encoded.flatMap(({ data }) => sent[Number(data.buffer)] ?? []);
    },
  };
}

export const numberedHost = (name = "numbered"): HostTransport & Recorded<HostArray> => ({
  ...numbered(
    name,
    () => new HarmlessLease(),
    ({ shape, dtype }: HostArray) => ({ shape, dtype }),
  ),
  carries: "host",
  reach: "process",
});

/** Its check carries the bytes by number as well. */
export function numberedDevice(name = "numbered_gpu"): DeviceTransport & Recorded<CudaArray> {
  const device = numbered(
    name,
    () => new CountedLease(),
    ({ cudaArrayInterface: { shape, typestr } }: CudaArray) => ({ shape, dtype: dtypeOfTypestr(typestr) }),
  );
  const checks: Uint8Array[] = [];
  return {
    ...device,
    carries: "device",
    reach: "process",
    async encodeCheck(bytes) {
      const lease = new CountedLease();
      device.leases.push(lease);
      const data = { encoding: name, buffer: checks.push(bytes) - 1 };
      return { arrays: [{ object_type: "array", shape: [bytes.length], dtype: "uint8", data }], lease };
    },
    async decodeCheck({ data }) {
      return checks[Number(data.buffer)] ?? new Uint8Array(0);
    },
  };
}
