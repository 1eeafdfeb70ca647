/** Decodes the arrays of a request, each transport's at once. */
import {
  type CudaArray,
  elementCount,
  type Headers,
  type HostArray,
  isDType,
  itemSize,
  type ReceivedArray,
  TesseractError,
  type Transport,
} from "@tesseract-ts/core";
import { type EncodedPlace, UndecodableArray } from "@tesseract-ts/inprocess";
import { Refusal } from "../http/refusal.js";
import { type CallEnding, DecodingCall } from "./ending.js";
import type { ReceivedBuffers } from "./received-buffers.js";

export type DecodedArray = HostArray | CudaArray | UndecodableArray;

export interface DecodeOptions {
  /** By the name that stands in an array; undefined for an encoding that isn't offered here. */
  readonly transportFor: (encoding: string) => Transport | undefined;
  readonly buffers: ReceivedBuffers;
  /** The most that all arrays together may take up once they are decoded. */
  readonly maxArrayBytes: number;
  readonly headers: Headers;
  readonly ending: CallEnding;
}

interface Pending {
  readonly index: number;
  readonly encoded: ReceivedArray;
}

/**
 * @returns one for each place, in the same order
 * @throws Refusal 413; the reason of the call's end; what a transport throws that isn't a TesseractError
 */
export async function decodeArrays(
  places: readonly EncodedPlace[],
  options: DecodeOptions,
): Promise<readonly DecodedArray[]> {
  refuseTooLarge(places, options.maxArrayBytes);
  const arrays: DecodedArray[] = new Array(places.length);
  const groups = new Map<Transport, Pending[]>();
  places.forEach((place, index) => {
    const found = receive(place, options);
    if (found instanceof UndecodableArray) arrays[index] = found;
    else {
      const { transport, encoded } = found;
      const group = groups.get(transport);
      if (group === undefined) groups.set(transport, [{ index, encoded }]);
      else group.push({ index, encoded });
    }
  });
  for (const [transport, group] of groups) {
    const decoded = await decodeGroup(transport, group, options);
    group.forEach(({ index }, at) => {
      arrays[index] = decoded[at] as DecodedArray;
    });
  }
  return arrays;
}

function refuseTooLarge(places: readonly EncodedPlace[], maxArrayBytes: number): void {
  let bytes = 0;
  for (const { shape, dtype } of places) if (isDType(dtype)) bytes += elementCount(shape) * itemSize(dtype);
  if (bytes <= maxArrayBytes) return;
  throw new Refusal(413, `The arrays take up ${bytes} bytes, and this server takes ${maxArrayBytes}`);
}

function receive(
  { loc, shape, dtype, data }: EncodedPlace,
  { transportFor, buffers }: DecodeOptions,
): UndecodableArray | { readonly transport: Transport; readonly encoded: ReceivedArray } {
  const { encoding, buffer, compression } = data;
  const transport = transportFor(encoding);
  if (transport === undefined || !isDType(dtype)) {
    return new UndecodableArray(encoding, `the encoding "${encoding}" isn't enabled on this server`);
  }
  const path = loc.join(".");
  const held = buffers.at(buffer);
  let own = buffer;
  if (held !== undefined && transport.name === "base64") {
    const decoded = held.base64();
    if (!decoded.ok) return new UndecodableArray(encoding, decoded.error.message);
    own = decoded.buffer;
  } else if (held !== undefined) {
    own = held.text();
    if (own === undefined) return new UndecodableArray(encoding, "the buffer is too long");
  }
  return {
    transport,
    encoded: {
      object_type: "array",
      shape,
      dtype,
      path,
      data: { encoding, buffer: own, ...(compression === undefined ? {} : { compression }) },
    },
  };
}

async function decodeGroup(
  transport: Transport,
  group: readonly Pending[],
  { headers, ending }: DecodeOptions,
): Promise<readonly DecodedArray[]> {
  const context = new DecodingCall(ending, headers);
  const decode = (encoded: readonly ReceivedArray[]): Promise<readonly (HostArray | CudaArray)[]> =>
    transport.decode(encoded, context);
  try {
    return await decode(group.map(({ encoded }) => encoded));
  } catch (error) {
    refuseToHide(error, ending);
    if (group.length === 1) return [undecodable(transport, error)];
  }
  // One of them is at fault; the others don't matter any more, but the client is told which it is.
  const arrays: DecodedArray[] = [];
  for (const { encoded } of group) {
    try {
      arrays.push(...(await decode([encoded])));
    } catch (error) {
      refuseToHide(error, ending);
      arrays.push(undecodable(transport, error));
    }
  }
  return arrays;
}

/** A fault of the request is answered; that of a transport is an error of this server. */
function refuseToHide(error: unknown, ending: CallEnding): asserts error is TesseractError {
  ending.throwIfAborted();
  if (!(error instanceof TesseractError)) throw error;
}

const undecodable = ({ name }: Transport, error: TesseractError): UndecodableArray =>
  new UndecodableArray(name, error.message);
