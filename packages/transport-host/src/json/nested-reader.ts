/** Makes an array of the nested lists in a message. */
import {
  type DType,
  dtypeKind,
  elementCount,
  entriesPerElement,
  type HostArray,
  itemSize,
  makeHostArray,
  numberToFloat16,
  type ReceivedArray,
  TesseractError,
  type TypedArray,
  viewAs,
} from "@tesseract-ts/core";
import { allocate } from "../allocate.js";

export class NestedReader {
  readonly array: HostArray;
  private readonly data: TypedArray;
  private readonly put: (index: number, value: unknown) => boolean;
  private index = 0;

  /** @throws TesseractError DECODE_FAILED, before memory is taken for more elements than the lists can have */
  constructor(private readonly received: ReceivedArray) {
    const { shape, dtype } = received;
    const elements = elementCount(shape);
    if (elements > 0) this.checkFirstRows();
    this.data = viewAs(dtype, allocate(elements * itemSize(dtype), received.path).buffer);
    this.array = makeHostArray(dtype, shape, this.data);
    this.put = entryWriter(dtype, this.data);
  }

  /** Reads the elements, in steps. */
  *steps(): Generator<void> {
    yield* this.level(this.received.data.buffer, 0);
  }

  private *level(value: unknown, depth: number): Generator<void> {
    const { shape } = this.received;
    if (depth === shape.length) return this.element(value);
    const size = shape[depth] as number;
    const rows = this.rows(value, size);
    if (depth < shape.length - 1) {
      for (const row of rows) yield* this.level(row, depth + 1);
      return;
    }
    for (let i = 0; i < size; i++) {
      this.element(rows[i]);
      if ((i & 0xffff) === 0xffff) yield;
    }
    // One step for the many short rows of a large array, too.
    if ((this.index & 0xfff) < size) yield;
  }

  private element(value: unknown): void {
    if (!this.put(this.index, value)) {
      throw this.failed(`${describe(value)} is no ${this.received.dtype}`);
    }
    this.index++;
  }

  private rows(value: unknown, size: number): readonly unknown[] {
    if (Array.isArray(value) && value.length === size) return value;
    throw this.failed(`the lists don't have the shape [${this.received.shape.join(", ")}]`);
  }

  /** A list as long as the shape says is proof enough for each dimension: the rest of it is checked while reading. */
  private checkFirstRows(): void {
    let value = this.received.data.buffer;
    for (const size of this.received.shape) value = this.rows(value, size)[0];
  }

  private failed(problem: string): TesseractError {
    return new TesseractError("DECODE_FAILED", `${this.received.path}: ${problem}`);
  }
}

/** Puts a JSON value into element `index`; false if it is none of the dtype. */
function entryWriter(dtype: DType, data: TypedArray): (index: number, value: unknown) => boolean {
  const kind = dtypeKind(dtype);
  const set = (index: number, entry: number | bigint): true => {
    data[index] = entry as never;
    return true;
  };
  switch (kind) {
    case "bool":
      return (index, value) => typeof value === "boolean" && set(index, Number(value));
    case "complex":
      return (index, value) => {
        const parts = complexParts(value);
        return parts !== undefined && set(entriesPerElement(dtype) * index, parts[0]) && set(2 * index + 1, parts[1]);
      };
    case "float":
      return (index, value) => {
        const number = floatOf(value);
        return number !== undefined && set(index, dtype === "float16" ? numberToFloat16(number) : number);
      };
    default: {
      const width = itemSize(dtype) * 8;
      const inRange = kind === "int" ? BigInt.asIntN : BigInt.asUintN;
      const least = kind === "int" ? -(2 ** (width - 1)) : 0;
      const most = kind === "int" ? 2 ** (width - 1) - 1 : 2 ** width - 1;
      if (width < 64) {
        return (index, value) =>
          typeof value === "number" && Number.isInteger(value) && value >= least && value <= most && set(index, value);
      }
      return (index, value) => {
        if (typeof value === "number" && !Number.isInteger(value)) return false;
        if (typeof value !== "number" && typeof value !== "bigint") return false;
        const whole = BigInt(value);
        return inRange(64, whole) === whole && set(index, whole);
      };
    }
  }
}

/** The reference writes NaN and both infinities as null; others write them as Python's json does. */
function floatOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  return value === null ? Number.NaN : undefined;
}

// One way only to read any text, so that a hostile one doesn't take quadratic time.
const part = String.raw`(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|nan|inf|infinity)`;
const complexNumber = new RegExp(`^\\(?([+-]?${part})([+-]${part})j\\)?$`, "i");
const imaginaryNumber = new RegExp(`^([+-]?${part})j$`, "i");

/** Python's notation, such as `1+2j`, or `-0.5j` where there is no real part. */
function complexParts(value: unknown): readonly [number, number] | undefined {
  if (typeof value === "number") return [value, 0];
  if (value === null) return [Number.NaN, Number.NaN];
  if (typeof value !== "string") return undefined;
  const whole = complexNumber.exec(value);
  if (whole !== null) return [pythonFloat(whole[1] ?? ""), pythonFloat(whole[2] ?? "")];
  const imaginary = imaginaryNumber.exec(value);
  return imaginary === null ? undefined : [0, pythonFloat(imaginary[1] ?? "")];
}

function pythonFloat(text: string): number {
  const match = /^([+-]?)(nan|inf)/i.exec(text);
  if (match === null) return Number(text);
  if (match[2]?.toLowerCase() === "nan") return Number.NaN;
  return match[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}
