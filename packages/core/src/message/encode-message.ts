/** Makes a request's body of a tree: the arrays by their transports, the rest as JSON. */
import type { CudaArray } from "../arrays/cuda-array.js";
import { TesseractError } from "../errors.js";
import { JsonBody } from "../json/writer.js";
import type {
  Compression,
  DeviceTransport,
  EncodedArray,
  EncodedMessage,
  HostTransport,
  Transport,
} from "../transport.js";
import { type FindArray, type FoundArray, replaceArrays } from "./leaves.js";
import { MessageLease } from "./message-lease.js";

export interface EncodingPlan {
  /** Carries arrays in the host's memory. */
  readonly host: HostTransport;
  /** Carries GPU arrays; without it they go through the host. */
  readonly device?: DeviceTransport | undefined;
  readonly compression: Compression;
  /** What counts as an array. */
  readonly find: FindArray;
  readonly signal: AbortSignal;
}

export interface EncodedRequest {
  readonly body: JsonBody;
  /** Released when the server has read the request, or never will. */
  readonly lease: MessageLease;
  /** What the transports say with it. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Stands in the tree for an array until its transport has encoded it. */
type Placeholder = { -readonly [K in keyof EncodedArray]?: EncodedArray[K] };

/** @throws TesseractError; then nothing is left behind */
export async function encodeMessage(tree: unknown, plan: EncodingPlan): Promise<EncodedRequest> {
  const onHost: { readonly array: FoundArray; readonly place: Placeholder }[] = [];
  const onDevice: { readonly array: CudaArray; readonly place: Placeholder }[] = [];
  const filled = replaceArrays(tree, plan.find, (array) => {
    const place: Placeholder = {};
    if (array.cuda !== undefined && plan.device !== undefined) onDevice.push({ array: array.cuda, place });
    else onHost.push({ array, place });
    return place;
  });

  const context = { compression: plan.compression, signal: plan.signal };
  const lease = new MessageLease();
  const headers: Record<string, string> = {};
  const fill = (
    { name }: Transport,
    { arrays, lease: owned, headers: said }: EncodedMessage,
    places: readonly { readonly place: Placeholder }[],
  ): void => {
    if (owned !== undefined) lease.add(owned);
    Object.assign(headers, said);
    if (arrays.length !== places.length) {
      throw new TesseractError(
        "TRANSPORT_UNUSABLE",
        `The transport "${name}" encoded ${arrays.length} arrays of ${places.length}`,
      );
    }
    places.forEach(({ place }, index) => {
      Object.assign(place, arrays[index]);
    });
  };
  try {
    if (onDevice.length > 0 && plan.device !== undefined) {
      fill(
        plan.device,
        await plan.device.encode(
          onDevice.map(({ array }) => array),
          context,
        ),
        onDevice,
      );
    }
    if (onHost.length > 0) {
      // One after the other: each may be a copy from a device, and their peak memory would add up.
      const arrays = [];
      for (const { array } of onHost) arrays.push(await array.host());
      fill(plan.host, await plan.host.encode(arrays, context), onHost);
    }
    return { body: JsonBody.of(filled), lease, headers };
  } catch (error) {
    await lease.release();
    throw error;
  }
}

/** A tree with each array replaced by its shape and dtype, as `abstract_eval` takes it. */
export const toAbstract = (tree: unknown, find: FindArray): unknown =>
  replaceArrays(tree, find, ({ shape, dtype }) => ({ shape, dtype }));
