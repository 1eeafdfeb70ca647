/** Encoded arrays: whether a schema admits one, and what one in `json` holds. */
import {
  type DType,
  dtypeKind,
  elementCount,
  type HostArray,
  isDType,
  makeHostArray,
  type TypedArray,
} from "@tesseract-ts/core";
import type { ArrayTraits } from "../schema/array.js";
import { allocate, cast, expectedInteger, isCastable } from "./cast.js";
import { type Encodings, knownEncodings } from "./encodings.js";
import { isRecord } from "./forms.js";
import type { Fault } from "./issues.js";
import { flatten, inferDType, numbersOf, ragged } from "./nested.js";
import { pythonFloat } from "./scalars.js";

export interface EncodedArrayForm {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly data: { readonly encoding: string; readonly buffer: unknown; readonly compression?: "lz4" };
}

const members: ReadonlySet<string> = new Set(["object_type", "shape", "dtype", "data"]);
const dataMembers: ReadonlySet<string> = new Set(["encoding", "buffer", "compression"]);

/**
 * The encoded array that `value` is, if the schema admits its shape and dtype: sizes that can be broadcast, a dtype that
 * can be cast. Undefined if it isn't one.
 */
export function encodedArrayOf(
  value: object,
  traits: ArrayTraits,
  encodings: Encodings = knownEncodings,
): EncodedArrayForm | undefined {
  for (const key in value) if (!members.has(key)) return undefined;
  const { object_type: objectType, shape, dtype, data } = value as Readonly<Record<string, unknown>>;
  if (objectType !== undefined && objectType !== "array") return undefined;
  if (!isDType(dtype) || (traits.dtype !== "any dtype" && !isCastable(dtype, traits.dtype))) return undefined;
  const sizes = sizesOf(shape);
  if (sizes === undefined || !fitsShape(sizes, traits)) return undefined;
  if (!isRecord(data)) return undefined;
  for (const key in data) if (!dataMembers.has(key)) return undefined;
  const { encoding, buffer, compression } = data;
  const known = typeof encoding === "string" ? encodings.get(encoding) : undefined;
  if (known === undefined || !("buffer" in data)) return undefined;
  const { form, compresses } = known;
  if (form !== null && (typeof buffer !== "string" || !form.test(buffer))) return undefined;
  if (compression !== undefined && compression !== null && !(compression === "lz4" && compresses)) return undefined;
  const plain = { encoding: encoding as string, buffer };
  return { shape: sizes, dtype, data: compression === "lz4" ? { ...plain, compression } : plain };
}

function sizesOf(shape: unknown): number[] | undefined {
  if (!Array.isArray(shape)) return undefined;
  const sizes = shape.map((size: unknown) =>
    typeof size === "string" && /^\s*\d+\s*$/.test(size) ? Number(size) : size,
  );
  return sizes.every((size): size is number => Number.isSafeInteger(size) && Number(size) >= 0) ? sizes : undefined;
}

/** Whether an array of these sizes can be broadcast to the schema's shape. */
export const fitsShape = (sizes: readonly number[], { shape }: ArrayTraits): boolean =>
  shape === "any rank" ||
  (sizes.length === shape.length &&
    sizes.every((size, dimension) => {
      const wanted = shape[dimension];
      return wanted === null || size === wanted || size === 1;
    }));

export const decodeError = (encoding: string, reason: string): Fault => ({
  type: "array_decode_error",
  msg: `The array's buffer (${encoding}) can't be decoded: ${reason}`,
  ctx: { encoding, error: reason },
});

/** Reads an array encoded as `json`: numbers, null for NaN, text where a number doesn't do. */
export function decodeJson({ shape, dtype, data }: EncodedArrayForm): HostArray | Fault {
  const nested = flatten(data.buffer);
  if (nested === ragged) return decodeError("json", ragged.msg);
  const { items } = nested as Exclude<typeof nested, Fault>;
  const count = elementCount(shape);
  if (items.length !== count) {
    return decodeError("json", `there are ${items.length} elements, and the shape [${shape.join(", ")}] has ${count}`);
  }
  const values = elements(items, dtype);
  return "type" in values ? values : makeHostArray(dtype, shape, values);
}

function elements(items: readonly unknown[], dtype: DType): TypedArray | Fault {
  const kind = dtypeKind(dtype);
  const isNumber = (item: unknown): boolean =>
    typeof item === "number" || typeof item === "bigint" || typeof item === "boolean";
  if (kind === "bool") return Uint8Array.from(items, (item) => (item ? 1 : 0));
  if (kind === "int" || kind === "uint") {
    const odd = items.find((item) => !isNumber(item));
    if (odd !== undefined) return decodeError("json", `${JSON.stringify(odd)} is no whole number`);
    if (items.some((item) => typeof item === "number" && !Number.isInteger(item))) return expectedInteger(dtype);
    return cast(numbersOf(items), "float64", dtype);
  }
  if (kind === "complex") return complexElements(items, dtype);
  const numbers: (number | bigint)[] = [];
  for (const item of items) {
    const value =
      typeof item === "string" ? pythonFloat(item) : item === null ? Number.NaN : isNumber(item) ? item : undefined;
    if (value === undefined) return decodeError("json", `${JSON.stringify(item)} is no number`);
    numbers.push(typeof value === "boolean" ? Number(value) : (value as number | bigint));
  }
  return cast(numbers, inferDType(items) ?? "float64", dtype);
}

const number = "(?:(?:\\d+\\.?\\d*|\\.\\d+)(?:e[+-]?\\d+)?|nan|inf(?:inity)?)";
const complexNumber = new RegExp(`^(?:([+-]?${number})(?=$|[+-]))?(?:([+-]?)(${number})?j)?$`, "i");

function complexElements(items: readonly unknown[], dtype: DType): TypedArray | Fault {
  const parts = allocate("complex128", items.length);
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    const value =
      typeof item === "string"
        ? pythonComplex(item)
        : typeof item === "number" || typeof item === "bigint" || typeof item === "boolean"
          ? ([Number(item), 0] as const)
          : undefined;
    if (value === undefined) return decodeError("json", `${JSON.stringify(item)} is no complex number`);
    [parts[2 * index], parts[2 * index + 1]] = value;
  }
  return dtype === "complex128" ? parts : cast(parts as Float64Array, "complex128", dtype);
}

/** `1+2j`, `(1+2j)`, `2j`, `1`. */
function pythonComplex(text: string): readonly [re: number, im: number] | undefined {
  const bare = text.trim().replace(/^\((.*)\)$/s, "$1");
  const match = bare === "" ? null : complexNumber.exec(bare);
  if (match === null) return undefined;
  const [, re, sign, im] = match;
  const hasImaginary = /j$/i.test(bare);
  return [pythonFloat(re ?? "0") ?? 0, hasImaginary ? (pythonFloat(`${sign ?? ""}${im ?? "1"}`) ?? 0) : 0];
}
