/** Tensors of TensorFlow.js (https://github.com/tensorflow/tfjs), on any of its backends. */
import type { DType, TypedArray } from "../arrays/dtype.js";
import { hostArray } from "../arrays/host-array.js";
import { TesseractError } from "../errors.js";
import type { ArrayAdapter } from "./adapter.js";
import { boolEntries } from "./bool-entries.js";
import { isClassInstance, type Unchecked } from "./class-instance.js";
import { dtypeNamed } from "./dtype-names.js";

interface Tensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly isDisposed: boolean;
  /** The elements in C order; for complex64 real and imaginary parts in turn, for bool a byte each. */
  data(): Promise<TypedArray>;
  dataSync(): TypedArray;
  throwIfDisposed(): void;
}

const dtypes: ReadonlyMap<string, DType> = new Map([
  ["float32", "float32"],
  ["int32", "int32"],
  ["bool", "bool"],
  ["complex64", "complex64"],
]);

/**
 * Recognizes TensorFlow.js tensors and variables. Once `read()` has been called, the tensor may be disposed (by `tidy`,
 * say): its backend keeps the memory until the download is complete.
 */
export const tensorflow: ArrayAdapter = {
  name: "TensorFlow.js",
  adapt(value) {
    if (!isTensor(value)) return undefined;
    if (value.isDisposed) {
      throw new TesseractError("INVALID_ARRAY", "A TensorFlow.js tensor has been disposed", {
        hint: "Return it from tidy(), or keep() it, until the call has been made.",
      });
    }
    const dtype = dtypeNamed(value.dtype, dtypes, "A TensorFlow.js tensor");
    const shape = [...value.shape];
    return {
      dtype,
      shape,
      async read() {
        const data = await value.data();
        return hostArray(dtype === "bool" ? boolEntries(data as Uint8Array) : data, { dtype, shape });
      },
    };
  },
};

function isTensor(value: object): value is Tensor {
  if (!isClassInstance(value)) return false;
  const tensor = value as Unchecked<Tensor>;
  // The library's own test in `instanceof` are the three methods, as several copies of it may be loaded.
  return (
    typeof tensor.throwIfDisposed === "function" &&
    typeof tensor.data === "function" &&
    typeof tensor.dataSync === "function" &&
    typeof tensor.dtype === "string" &&
    Array.isArray(tensor.shape)
  );
}
