/** From host arrays to TensorFlow.js' tensors. */
import type { HostArray } from "../arrays/host-array.js";
import { unsupportedBy } from "./unsupported.js";

/** The part of `@tensorflow/tfjs-core` that makes tensors. */
export interface TensorFlowLibrary<T> {
  tensor(values: never, shape: never, dtype: never): T;
  complex(real: never, imaginary: never): T;
}

const dtypes: ReadonlySet<string> = new Set(["float32", "int32", "bool", "complex64"]);

/**
 * A TensorFlow.js tensor on its current backend. On the CPU it shares the array's memory, but for complex numbers, whose
 * parts TensorFlow.js keeps apart; other backends copy.
 *
 * @param tf `import * as tf from "@tensorflow/tfjs"` (or `tfjs-core`)
 * @throws TesseractError UNSUPPORTED_DTYPE: float64 among others, which TensorFlow.js doesn't have
 *
 * @example
 * using tensor = toTensorFlow(x, tf);
 */
export function toTensorFlow<T extends { dispose(): void }>(
  { dtype, shape, data }: HostArray,
  tf: TensorFlowLibrary<T>,
): T {
  if (!dtypes.has(dtype)) throw unsupportedBy("TensorFlow.js", dtype, dtypes);
  const make = (values: unknown, type: string): T => tf.tensor(values as never, [...shape] as never, type as never);
  if (dtype !== "complex64") return make(data, dtype);
  const part = (first: 0 | 1): Float32Array =>
    Float32Array.from({ length: data.length / 2 }, (_, index) => Number(data[2 * index + first]));
  const [real, imaginary] = [make(part(0), "float32"), make(part(1), "float32")];
  try {
    return tf.complex(real as never, imaginary as never);
  } finally {
    // The complex tensor has references of its own.
    real.dispose();
    imaginary.dispose();
  }
}
