/** Makes an answer's body of an endpoint's outputs: the arrays by their transports, the rest as JSON. */
import {
  asCudaArray,
  type Compression,
  type CudaArray,
  type DeviceTransport,
  dtypeOfTypestr,
  type EncodedArray,
  type EncodedMessage,
  elementCount,
  type HostArray,
  type HostTransport,
  isHostArray,
  itemSize,
  type Lease,
  TesseractError,
} from "@tesseract-ts/core";
import { JsonBody, MessageLease, mapArrays } from "@tesseract-ts/core/message";
import type { HeldExports } from "../exchange/held-exports.js";
import { type CallEnding, EncodingCall } from "./ending.js";

export interface AnswerPlan {
  readonly host: HostTransport;
  /** Carries GPU arrays; without it they go through the host. */
  readonly device: DeviceTransport | undefined;
  readonly compression: Compression;
  readonly ending: CallEnding;
  /** Where bytes of GPU memory are reserved before they are exported. */
  readonly exports: Pick<HeldExports, "reserve" | "cancel">;
}

export interface EncodedAnswer {
  readonly body: JsonBody;
  /** Undefined where nothing has to stay alive until the client has read the answer. */
  readonly lease: Lease | undefined;
  /** Bytes of GPU memory that are exported, and reserved. */
  readonly exportedBytes: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Stands in the tree for an array until its transport has encoded it. */
type Placeholder = { -readonly [K in keyof EncodedArray]?: EncodedArray[K] };

interface Found<A> {
  readonly array: A;
  readonly place: Placeholder;
}

/**
 * @param outputs plain values, `HostArray`s and CUDA arrays. A number that JSON hasn't becomes null, as in the reference.
 * @throws TesseractError; then nothing is left behind
 */
export async function encodeAnswer(outputs: unknown, plan: AnswerPlan): Promise<EncodedAnswer> {
  const onHost: Found<HostArray | CudaArray>[] = [];
  const onDevice: Found<CudaArray>[] = [];
  const tree = withPlaceholders(outputs, (array) => {
    const place: Placeholder = {};
    if ("cudaArrayInterface" in array && plan.device !== undefined) onDevice.push({ array, place });
    else onHost.push({ array, place });
    return place;
  });
  const context = new EncodingCall(plan.ending, plan.compression);
  const lease = new MessageLease();
  const headers: Record<string, string> = {};
  let leased = false;
  let exportedBytes = 0;
  const fill = (name: string, message: EncodedMessage, places: readonly Found<unknown>[]): void => {
    if (message.lease !== undefined) {
      lease.add(message.lease);
      leased = true;
    }
    Object.assign(headers, message.headers);
    if (message.arrays.length !== places.length) {
      const counts = `${message.arrays.length} arrays of ${places.length}`;
      throw new TesseractError("TRANSPORT_UNUSABLE", `The transport "${name}" encoded ${counts}`);
    }
    places.forEach(({ place }, index) => {
      Object.assign(place, message.arrays[index]);
    });
  };
  try {
    const { device, host } = plan;
    if (device !== undefined && onDevice.length > 0) {
      const arrays = onDevice.map(({ array }) => array);
      const bytes = arrays.reduce((sum, array) => sum + deviceBytes(array), 0);
      plan.exports.reserve(bytes);
      exportedBytes = bytes;
      fill(device.name, await device.encode(arrays, context), onDevice);
    }
    if (onHost.length > 0) {
      const arrays: HostArray[] = [];
      for (const { array } of onHost) arrays.push(await onTheHost(array));
      fill(host.name, await host.encode(arrays, context), onHost);
    }
    const body = JsonBody.of(tree);
    if (leased) return { body, lease, exportedBytes, headers };
    plan.exports.cancel(exportedBytes);
    return { body, lease: undefined, exportedBytes: 0, headers };
  } catch (error) {
    await lease.release();
    plan.exports.cancel(exportedBytes);
    throw error;
  }
}

function withPlaceholders(value: unknown, replace: (array: HostArray | CudaArray) => Placeholder): unknown {
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withPlaceholders(item, replace));
  if (isHostArray(value)) return replace(value);
  const cuda = asCudaArray(value);
  if (cuda !== undefined) return replace(cuda);
  // fromEntries defines own members, so that a key "__proto__" stays a key.
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withPlaceholders(member, replace)]));
}

/** A copy that the program may have forbidden: core knows the rule. */
async function onTheHost(array: HostArray | CudaArray): Promise<HostArray> {
  if (!("cudaArrayInterface" in array)) return array;
  const copies: Promise<HostArray>[] = [];
  mapArrays(array, [], (found) => copies.push(Promise.resolve(found.host())));
  const [copy] = await Promise.all(copies);
  if (copy === undefined) throw new TesseractError("INVALID_ARRAY", "A GPU array couldn't be copied to the host");
  return copy;
}

export const deviceBytes = ({ cudaArrayInterface: { shape, typestr } }: CudaArray): number =>
  elementCount(shape) * itemSize(dtypeOfTypestr(typestr));
