/** Arrays of jax-js (https://github.com/ekzhang/jax-js), on any of its devices. */
import type { DType, TypedArray } from "../arrays/dtype.js";
import { numberToFloat16 } from "../arrays/float16.js";
import { type HostArray, hostArray, makeHostArray } from "../arrays/host-array.js";
import { TesseractError } from "../errors.js";
import type { ArrayAdapter } from "./adapter.js";
import { boolEntries } from "./bool-entries.js";
import { isClassInstance, type Unchecked } from "./class-instance.js";
import { dtypeNamed } from "./dtype-names.js";

/** A value of jax-js: an array, or what stands for one while `grad`, `jit` or `vmap` traces a function. */
interface Value {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly weakType: boolean;
  dispose(): void;
}

interface JaxArray extends Value {
  /** The array itself, with one more reference to it: only look whether it is there, unless you want one. */
  readonly ref: JaxArray;
  /** 0 once its memory is freed. */
  readonly refCount: number;
  /** The elements in C order, as a copy; for bool an Int32Array. Consumes a reference. */
  data(): Promise<TypedArray>;
  /** Consumes a reference. */
  astype(dtype: "float32"): JaxArray;
}

const dtypes: ReadonlyMap<string, DType> = new Map([
  ["float16", "float16"],
  ["float32", "float32"],
  ["float64", "float64"],
  ["int32", "int32"],
  ["uint32", "uint32"],
  ["bool", "bool"],
]);

/**
 * Recognizes jax-js arrays. Reading one takes a reference and consumes that, so the caller's stay what they were; once
 * `read()` has been called, the caller may dispose of the array or pass it on.
 *
 * What a function sees while it is traced has a shape and a dtype, but can't be read.
 */
export const jaxJs: ArrayAdapter = {
  name: "jax-js",
  adapt(value) {
    if (!isValue(value)) return undefined;
    const array = isArray(value) ? value : undefined;
    if (array !== undefined && array.refCount <= 0) {
      throw new TesseractError("INVALID_ARRAY", "A jax-js array has been freed", {
        hint: "What takes an array consumes it: pass array.ref where you still need it afterwards.",
      });
    }
    const dtype = dtypeNamed(value.dtype, dtypes, "A jax-js array");
    const shape = [...value.shape];
    return {
      dtype,
      shape,
      read() {
        if (array !== undefined) return readArray(array, dtype, shape);
        throw new TesseractError("INVALID_ARRAY", "A jax-js value of a function that is being traced has no elements", {
          hint: "Inside grad, jit and vmap, call the Tesseract with applyTesseract of @tesseract-ts/jax-bridge.",
        });
      },
    };
  },
};

function isValue(value: object): value is Value {
  if (!isClassInstance(value) || !("ref" in value)) return false;
  const candidate = value as Unchecked<Value>;
  return (
    typeof candidate.dispose === "function" &&
    typeof candidate.weakType === "boolean" &&
    typeof candidate.dtype === "string" &&
    Array.isArray(candidate.shape)
  );
}

function isArray(value: Value): value is JaxArray {
  const { data, refCount } = value as Unchecked<JaxArray>;
  return typeof data === "function" && typeof refCount === "number";
}

async function readArray(array: JaxArray, dtype: DType, shape: readonly number[]): Promise<HostArray> {
  // Without Float16Array jax-js frees the array before it fails to give its data; each float16 is a float32 too.
  if (dtype === "float16" && !("Float16Array" in globalThis)) {
    const data = await consume(array.ref.astype("float32"));
    return makeHostArray(dtype, shape, Uint16Array.from(data as Float32Array, numberToFloat16));
  }
  const data = await consume(array.ref);
  return hostArray(dtype === "bool" ? boolEntries(data as Int32Array) : data, { dtype, shape });
}

/** The data of an array, at the cost of one reference, also if it can't be had. */
async function consume(array: JaxArray): Promise<TypedArray> {
  const references = array.refCount;
  try {
    return await array.data();
  } catch (error) {
    // Where data() fails late it has released the reference, and where it fails early it hasn't.
    if (array.refCount >= references) array.dispose();
    throw error;
  }
}
