/** Replaces the encoded arrays of an answer by what their transports make of them. */
import type { CudaArray } from "../arrays/cuda-array.js";
import { dtypes, isDType } from "../arrays/dtype.js";
import { checkShape, type HostArray } from "../arrays/host-array.js";
import { TesseractError } from "../errors.js";
import type { DecodeContext, EncodedData, ReceivedArray, Transport } from "../transport.js";

interface Place {
  readonly encoded: ReceivedArray;
  put(array: HostArray | CudaArray): unknown;
}

/**
 * @param tree a freshly read tree, which is changed in place
 * @throws TesseractError DECODE_FAILED, UNSUPPORTED_DTYPE, TRANSPORT_MISSING, and what transports throw
 */
export async function decodeMessage(
  tree: unknown,
  transports: readonly Transport[],
  context: DecodeContext,
): Promise<unknown> {
  const root = { "": tree };
  const groups = new Map<Transport, Place[]>();
  collect(root, "", (place) => {
    const transport = transportFor(place.encoded, transports);
    const group = groups.get(transport);
    if (group === undefined) groups.set(transport, [place]);
    else group.push(place);
  });
  for (const [transport, places] of groups) {
    const arrays = await transport.decode(
      places.map(({ encoded }) => encoded),
      context,
    );
    places.forEach((place, index) => {
      const array = arrays[index];
      if (array === undefined) {
        throw new TesseractError(
          "DECODE_FAILED",
          `${place.encoded.path}: the transport "${transport.name}" returned no array`,
        );
      }
      place.put(array);
    });
  }
  return root[""];
}

/** Visits the encoded arrays of a tree whose depth the reader has bounded. */
function collect(parent: object, path: string, found: (place: Place) => void): void {
  const visit = (key: string | number, value: object, here: string): void => {
    if (isEncodedArray(value)) {
      // The key is that of an own member, and the reader admits no "__proto__", so this reaches nothing else.
      const put = (array: HostArray | CudaArray): unknown => Object.assign(parent, { [key]: array });
      found({ encoded: checkEncodedArray(value, here), put });
    } else {
      collect(value, here, found);
    }
  };
  if (Array.isArray(parent)) {
    parent.forEach((value: unknown, index) => {
      if (typeof value === "object" && value !== null) visit(index, value, `${path}.[${index}]`);
    });
    return;
  }
  for (const [key, value] of Object.entries(parent)) {
    if (typeof value === "object" && value !== null) visit(key, value, path === "" ? key : `${path}.${key}`);
  }
}

/** The reference tells an array from a dict by this member alone. */
export const isEncodedArray = (value: object): value is { readonly [key: string]: unknown } =>
  "object_type" in value && value.object_type === "array";

/** @throws TesseractError DECODE_FAILED, UNSUPPORTED_DTYPE */
export function checkEncodedArray(value: { readonly [key: string]: unknown }, path: string): ReceivedArray {
  const { shape, dtype, data } = value;
  if (!isDType(dtype)) {
    throw new TesseractError("UNSUPPORTED_DTYPE", `${path}: the answer has an array of dtype ${quoted(dtype)}`, {
      hint: `Known ones are ${dtypes.join(", ")}.`,
    });
  }
  try {
    checkShape(shape, dtype);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new TesseractError("DECODE_FAILED", `${path}: ${message}`, { cause: error });
  }
  if (!isEncodedData(data)) {
    throw new TesseractError("DECODE_FAILED", `${path}: the answer has an array without its data`);
  }
  if (data.compression !== undefined && data.compression !== null && data.compression !== "lz4") {
    throw new TesseractError("DECODE_FAILED", `${path}: the compression ${quoted(data.compression)} is unknown`);
  }
  const { encoding, buffer, compression } = data;
  const plain = compression === undefined || compression === null;
  return {
    object_type: "array",
    shape: shape as number[],
    dtype,
    data: plain ? { encoding, buffer } : { encoding, buffer, compression },
    path,
  };
}

/** For messages: of whatever an answer has where a name should be. */
function quoted(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

const isEncodedData = (data: unknown): data is EncodedData =>
  typeof data === "object" &&
  data !== null &&
  "encoding" in data &&
  typeof data.encoding === "string" &&
  "buffer" in data;

function transportFor({ path, data }: ReceivedArray, transports: readonly Transport[]): Transport {
  const { encoding } = data;
  const transport = transports.find(
    (candidate) =>
      candidate.name === encoding || (candidate.carries === "host" && candidate.aliases?.includes(encoding) === true),
  );
  if (transport !== undefined) return transport;
  throw new TesseractError(
    "TRANSPORT_MISSING",
    `${path}: the answer has an array in the encoding ${quoted(encoding)}`,
    {
      hint: `Pass a transport that carries it; there are ${transports.map(({ name }) => name).join(", ") || "none"}.`,
    },
  );
}
