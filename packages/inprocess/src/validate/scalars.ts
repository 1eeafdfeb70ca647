/** Numbers, strings and booleans by the rules of the reference's validation, which converts what stands for another. */
import type { LengthLimits, LiteralValue, NumberLimits } from "../schema/node.js";
import { type Fault, oneOf } from "./issues.js";

/** How well a value fits; a union takes the best of its options. */
export type Exactness = 0 | 1 | 2;

export type Scalar =
  | { readonly ok: true; readonly value: unknown; readonly exactness: Exactness }
  | { readonly ok: false; readonly fault: Fault };

const fits = (value: unknown, exactness: Exactness): Scalar => ({ ok: true, value, exactness });
const fails = (type: string, msg: string, ctx?: Fault["ctx"]): Scalar => ({
  ok: false,
  fault: { type, msg, ...(ctx === undefined ? {} : { ctx }) },
});

/** The number that a text is to Python's `float()`. */
export function pythonFloat(text: string): number | undefined {
  const trimmed = text.trim().replace(/(?<=\d)_(?=\d)/g, "");
  if (/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(trimmed)) return Number(trimmed);
  const word = /^([+-]?)(nan|inf|infinity)$/i.exec(trimmed);
  if (word === null) return undefined;
  const value = word[2]?.toLowerCase() === "nan" ? Number.NaN : Number.POSITIVE_INFINITY;
  return word[1] === "-" ? -value : value;
}

export function floatFrom(value: unknown): Scalar {
  switch (typeof value) {
    case "number":
      return fits(value, Number.isSafeInteger(value) ? 1 : 2);
    case "bigint":
      return fits(Number(value), 1);
    case "boolean":
      return fits(Number(value), 0);
    case "string": {
      const number = pythonFloat(value);
      return number === undefined ? fails("float_parsing", "The text is no number") : fits(number, 0);
    }
    default:
      return fails("float_type", "A number is wanted");
  }
}

/** Whole numbers as bigints: an `int` may be longer than any number of JavaScript's. */
function wholeFrom(value: unknown): { readonly whole: bigint; readonly exactness: Exactness } | Scalar {
  switch (typeof value) {
    case "bigint":
      return { whole: value, exactness: 2 };
    case "boolean":
      return { whole: BigInt(value), exactness: 0 };
    case "number":
      if (!Number.isFinite(value)) return fails("finite_number", "A finite number is wanted");
      if (!Number.isInteger(value))
        return fails("int_from_float", "The number has a fraction, and a whole one is wanted");
      if (Math.abs(value) >= 2 ** 63) return fails("int_parsing_size", "The number is too large for a whole number");
      return { whole: BigInt(value), exactness: Number.isSafeInteger(value) ? 2 : 0 };
    case "string": {
      const match = /^\s*([+-]?)(\d+(?:_\d+)*)(?:\.0+)?\s*$/.exec(value);
      if (match === null) return fails("int_parsing", "The text is no whole number");
      const digits = BigInt((match[2] ?? "").replaceAll("_", ""));
      return { whole: match[1] === "-" ? -digits : digits, exactness: 0 };
    }
    default:
      return fails("int_type", "A whole number is wanted");
  }
}

export function integerFrom(value: unknown): Scalar {
  const found = wholeFrom(value);
  if ("ok" in found) return found;
  const number = Number(found.whole);
  if (Number.isSafeInteger(number)) return fits(Object.is(number, -0) ? 0 : number, found.exactness);
  return fails("int_parsing_size", "The number is beyond 2^53; a schema with z.bigint() or an int64 array takes it");
}

export function bigintFrom(value: unknown): Scalar {
  const found = wholeFrom(value);
  return "ok" in found ? found : fits(found.whole, found.exactness);
}

const words: Readonly<Record<string, boolean>> = Object.assign(Object.create(null), {
  ...Object.fromEntries(["true", "t", "yes", "y", "on", "1"].map((word) => [word, true])),
  ...Object.fromEntries(["false", "f", "no", "n", "off", "0"].map((word) => [word, false])),
});

export function booleanFrom(value: unknown): Scalar {
  if (typeof value === "boolean") return fits(value, 2);
  const isWhole = typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
  if (isWhole && (Number(value) === 0 || Number(value) === 1)) return fits(Number(value) === 1, 0);
  const word = typeof value === "string" ? words[value.toLowerCase()] : undefined;
  if (word !== undefined) return fits(word, 0);
  if (isWhole || typeof value === "string") return fails("bool_parsing", "It can't be read as true or false");
  return fails("bool_type", "True or false is wanted");
}

export const stringFrom = (value: unknown): Scalar =>
  typeof value === "string" ? fits(value, 2) : fails("string_type", "A text is wanted");

export function literalFrom(value: unknown, values: readonly LiteralValue[]): Scalar {
  if (values.some((allowed) => allowed === value)) return fits(value, 2);
  // To Python, True is 1.
  if (typeof value === "boolean" && values.includes(Number(value))) return fits(Number(value), 2);
  const expected = oneOf(values);
  return fails("literal_error", `It is none of ${expected}`, { expected });
}

export const nullFrom = (value: unknown): Scalar =>
  value === null ? fits(null, 2) : fails("none_required", "null is wanted");

export function limitFault(value: number | bigint, { ge, gt, le, lt, multipleOf }: NumberLimits): Fault | undefined {
  if (multipleOf !== undefined && Number(value) % multipleOf !== 0) {
    return { type: "multiple_of", msg: `It is no multiple of ${multipleOf}`, ctx: { multiple_of: multipleOf } };
  }
  if (le !== undefined && !(value <= le)) return limit("less_than_equal", `It is more than ${le}`, { le });
  if (lt !== undefined && !(value < lt)) return limit("less_than", `It isn't less than ${lt}`, { lt });
  if (ge !== undefined && !(value >= ge)) return limit("greater_than_equal", `It is less than ${ge}`, { ge });
  if (gt !== undefined && !(value > gt)) return limit("greater_than", `It isn't more than ${gt}`, { gt });
  return undefined;
}

const limit = (type: string, msg: string, ctx: NonNullable<Fault["ctx"]>): Fault => ({ type, msg, ctx });

export function textLengthFault(text: string, { minLength, maxLength }: LengthLimits): Fault | undefined {
  // Python counts code points.
  const length = minLength === undefined && maxLength === undefined ? 0 : [...text].length;
  if (minLength !== undefined && length < minLength) {
    return limit("string_too_short", `The text is shorter than ${minLength}`, { min_length: minLength });
  }
  if (maxLength !== undefined && length > maxLength) {
    return limit("string_too_long", `The text is longer than ${maxLength}`, { max_length: maxLength });
  }
  return undefined;
}

export function listLengthFault(
  actual: number,
  { minLength, maxLength }: LengthLimits,
  type: string,
): Fault | undefined {
  const named = { field_type: type };
  if (minLength !== undefined && actual < minLength) {
    const ctx = { ...named, min_length: minLength, actual_length: actual };
    return { type: "too_short", msg: `There are ${actual} items, and at least ${minLength} are wanted`, ctx };
  }
  if (maxLength !== undefined && actual > maxLength) {
    const ctx = { ...named, max_length: maxLength, actual_length: actual };
    return { type: "too_long", msg: `There are ${actual} items, and at most ${maxLength} are wanted`, ctx };
  }
  return undefined;
}
