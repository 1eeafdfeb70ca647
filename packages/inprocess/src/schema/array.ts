/** Arrays in a schema: `array(dtype, shape)` and `differentiable(...)`. */
import {
  type CudaArray,
  type DType,
  type HostArray,
  isDType,
  isHostArray,
  type NestedList,
  TesseractError,
  type TypedArray,
} from "@tesseract-ts/core";
import { z } from "zod";

/** Sizes, with null for a dimension of any size; or "any rank". `[]` is a scalar. */
export type SchemaShape = readonly (number | null)[] | "any rank";

/** What a schema says of an array. */
export interface ArrayTraits {
  readonly dtype: DType | "any dtype";
  readonly shape: SchemaShape;
  readonly differentiable: boolean;
}

/** Every dtype, in the order in which the reference lists them. */
export const listedDtypes: readonly DType[] = [
  "float16",
  "float32",
  "float64",
  "int8",
  "int16",
  "int32",
  "int64",
  "bool",
  "uint8",
  "uint16",
  "uint32",
  "uint64",
  "complex64",
  "complex128",
];

/** An array of another library, such as jax-js; it is found by its form. */
export interface ForeignArray {
  readonly shape: readonly number[];
  readonly dtype: unknown;
}

/** What is taken where a schema wants an array. A typed array has one dimension, a number none. */
export type ArrayLike = HostArray | TypedArray | NestedList | CudaArray | ForeignArray;

declare const differentiableBrand: unique symbol;

/** The Zod type of an array. Endpoints get a `HostArray`, and may return anything that makes one. */
export type ZodTesseractArray<D extends DType = DType> = z.ZodType<HostArray<D>, ArrayLike>;

/** How the types tell a differentiable array: by a member that no value has. */
export interface DifferentiableBrand<D extends DType = DType> {
  readonly [differentiableBrand]: D;
}

/** The Zod type of a differentiable array. */
export type Differentiable<D extends DType = DType> = ZodTesseractArray<D> & DifferentiableBrand<D>;

/** Shared by every copy of this module, and carried along when Zod copies a definition: `.describe()`, `.meta()`. */
const traitsKey = Symbol.for("@tesseract-ts/inprocess/array");

interface WithTraits {
  readonly [traitsKey]?: ArrayTraits;
}

/**
 * An array in a schema.
 *
 * Inputs are broadcast and cast to it as the reference does: dimensions of size 1 are repeated, and a dtype is cast if
 * no value is lost. GPU arrays never are.
 *
 * @param dtype a dtype, or "any dtype"
 * @param shape sizes, null for any size, `[]` for a scalar; or "any rank"
 * @throws TesseractError UNSUPPORTED_DTYPE, INVALID_ARGUMENT
 *
 * @example
 * z.object({ points: array("float64", [null, 3]), weight: array("float32", []), image: array("uint8", "any rank") });
 */
export function array<D extends DType>(dtype: D, shape: SchemaShape): ZodTesseractArray<D>;
export function array(dtype: "any dtype", shape: SchemaShape): ZodTesseractArray;
export function array(dtype: DType | "any dtype", shape: SchemaShape): ZodTesseractArray {
  if (dtype !== "any dtype" && !isDType(dtype)) {
    throw new TesseractError("UNSUPPORTED_DTYPE", `Tesseract arrays have no dtype ${JSON.stringify(dtype)}`);
  }
  if (shape !== "any rank") checkSizes(shape);
  return withTraits({ dtype, shape: shape === "any rank" ? shape : [...shape], differentiable: false });
}

/**
 * Marks an array as one that derivatives can be taken of: of an output, or with respect to an input.
 *
 * @throws TesseractError INVALID_ARGUMENT if `schema` is no array: mark the array, and then make it optional
 *
 * @example
 * z.object({ x: differentiable(array("float64", [null])).optional() });
 */
export function differentiable<D extends DType>(schema: ZodTesseractArray<D>): Differentiable<D> {
  const traits = arrayTraitsOf(schema);
  if (traits === undefined) {
    throw new TesseractError("INVALID_ARGUMENT", "Only an array can be differentiable", {
      hint: 'Write differentiable(array("float64", [null])).optional(), not differentiable(array(…).optional()).',
    });
  }
  return withTraits({ ...traits, differentiable: true }) as Differentiable<D>;
}

/** What a Zod type says of an array; undefined if it isn't one. */
export const arrayTraitsOf = (schema: z.core.$ZodType): ArrayTraits | undefined =>
  (schema._zod.def as WithTraits)[traitsKey];

function withTraits(traits: ArrayTraits): ZodTesseractArray {
  const schema = z.custom<HostArray>((value) => isHostArray(value), "Expected an array");
  Object.assign(schema._zod.def, { [traitsKey]: traits } satisfies WithTraits);
  return schema as unknown as ZodTesseractArray;
}

function checkSizes(shape: readonly unknown[]): void {
  if (Array.isArray(shape) && shape.every((size) => size === null || (Number.isSafeInteger(size) && Number(size) >= 0)))
    return;
  throw new TesseractError("INVALID_ARGUMENT", `${JSON.stringify(shape)} is no shape of a schema`, {
    hint: 'Give a list of whole numbers, with null for a dimension of any size, or "any rank".',
  });
}
