/** Vectors of Apache Arrow (https://arrow.apache.org): columns of numbers, and of lists of a fixed size, which are tensors. */
import { type DType, type TypedArray, viewAs } from "../arrays/dtype.js";
import { checkShape, elementCount, type HostArray, hostArray } from "../arrays/host-array.js";
import { TesseractError } from "../errors.js";
import type { ArrayAdapter } from "./adapter.js";
import { isClassInstance, type Unchecked } from "./class-instance.js";

/** Of the format's own numbering of types (Schema.fbs). */
const TYPE = { int: 2, float: 3, bool: 6, fixedSizeList: 16 } as const;

interface ArrowType {
  readonly typeId: number;
  readonly bitWidth?: number;
  readonly isSigned?: boolean;
  /** 0 for half, 1 for single, 2 for double. */
  readonly precision?: number;
  /** Of a list of fixed size. */
  readonly listSize?: number;
  readonly children?: readonly { readonly type: ArrowType }[] | null;
  toString(): string;
}

/** A chunk of a column. */
interface Data {
  readonly length: number;
  /** Of booleans, whose bits aren't moved; the values of other types begin at the first element. */
  readonly offset: number;
  readonly nullCount: number;
  readonly values: TypedArray | undefined;
  readonly children: readonly Data[];
}

interface Vector {
  readonly type: ArrowType;
  readonly length: number;
  readonly data: readonly Data[];
  readonly nullCount: number;
  getChildAt(index: number): unknown;
}

const floats: readonly DType[] = ["float16", "float32", "float64"];

/**
 * Recognizes Arrow vectors of numbers and booleans, and of fixed-size lists of them, nested to any depth: `n` lists of 3
 * lists of 4 have the shape `[n, 3, 4]`. A vector of one chunk is read in place; several chunks are put together, and
 * booleans, which Arrow keeps as bits, become bytes. Nulls are refused.
 */
export const arrow: ArrayAdapter = {
  name: "Apache Arrow",
  adapt(value) {
    if (!isVector(value)) return undefined;
    const { dtype, inner } = elementsOf(value.type);
    const shape = [value.length, ...inner];
    checkShape(shape, dtype);
    return { dtype, shape, read: () => readVector(value, dtype, shape) };
  },
};

function isVector(value: object): value is Vector {
  if (!isClassInstance(value)) return false;
  const vector = value as Unchecked<Vector>;
  return (
    typeof vector.getChildAt === "function" &&
    typeof vector.length === "number" &&
    typeof vector.nullCount === "number" &&
    Array.isArray(vector.data) &&
    typeof (vector.type as Unchecked<ArrowType> | undefined)?.typeId === "number"
  );
}

/** @throws TesseractError UNSUPPORTED_DTYPE */
function elementsOf(type: ArrowType): { readonly dtype: DType; readonly inner: readonly number[] } {
  const inner: number[] = [];
  let element = type;
  while (element.typeId === TYPE.fixedSizeList) {
    const [field] = element.children ?? [];
    if (field === undefined || inner.length === 64) break;
    inner.push(element.listSize ?? Number.NaN);
    element = field.type;
  }
  const { typeId, bitWidth, isSigned, precision } = element;
  if (typeId === TYPE.bool) return { dtype: "bool", inner };
  if (typeId === TYPE.int) return { dtype: `${isSigned === true ? "" : "u"}int${bitWidth}` as DType, inner };
  const dtype = typeId === TYPE.float ? floats[precision ?? -1] : undefined;
  if (dtype !== undefined) return { dtype, inner };
  throw new TesseractError("UNSUPPORTED_DTYPE", `An Apache Arrow vector has elements of type ${String(element)}`, {
    hint: "What can be sent are numbers, booleans, and lists of them that all have one fixed size.",
  });
}

function readVector({ data, type }: Vector, dtype: DType, shape: readonly number[]): HostArray {
  const chunks = data.filter(({ length }) => length > 0).map((chunk) => elementsIn(chunk, type));
  const count = elementCount(shape);
  if (dtype === "bool") return hostArray(bytesOfBits(chunks, count), { dtype, shape });
  const [first] = chunks;
  if (chunks.length === 1 && first?.values !== undefined)
    return hostArray(first.values.subarray(0, count), { dtype, shape });
  const all = viewAs(dtype, new ArrayBuffer(count * (first?.values?.BYTES_PER_ELEMENT ?? 0)));
  let at = 0;
  for (const { values, length } of chunks) {
    if (values === undefined) throw invalidArray("has no values");
    all.set(values.subarray(0, length) as never, at);
    at += length;
  }
  return hostArray(all, { dtype, shape });
}

/** The innermost chunk, which has the elements of the lists around it. */
function elementsIn(chunk: Data, type: ArrowType): Data {
  if (chunk.nullCount > 0) {
    throw new TesseractError("INVALID_ARRAY", `An Apache Arrow vector has ${chunk.nullCount} nulls`, {
      hint: "Fill them first: Tesseract arrays have a value everywhere.",
    });
  }
  if (type.typeId !== TYPE.fixedSizeList) return chunk;
  const [child] = chunk.children;
  const element = type.children?.[0]?.type;
  if (child === undefined || element === undefined) throw invalidArray("has lists without elements");
  const count = chunk.length * (type.listSize ?? 0);
  if (child.length < count) throw invalidArray(`needs ${count} elements, but its lists have ${child.length}`);
  return elementsIn({ ...ownFields(child), length: count }, element);
}

/** A chunk's fields are partly getters of its class. */
const ownFields = ({ length, offset, nullCount, values, children }: Data): Data => ({
  ...{ length, offset, nullCount, values, children },
});

/** Arrow packs eight booleans into a byte, the first into its lowest bit. */
function bytesOfBits(chunks: readonly Data[], count: number): Uint8Array {
  const bytes = new Uint8Array(count);
  let at = 0;
  for (const { values, offset, length } of chunks) {
    for (let index = offset; index < offset + length; index++) {
      bytes[at++] = (Number(values?.[index >> 3]) >> (index & 7)) & 1;
    }
  }
  return bytes;
}

const invalidArray = (what: string): TesseractError =>
  new TesseractError("INVALID_ARRAY", `An Apache Arrow vector ${what}`);
