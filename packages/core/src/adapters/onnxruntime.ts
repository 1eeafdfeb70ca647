/** Tensors of onnxruntime-node, onnxruntime-web and onnxruntime-react-native, which share onnxruntime-common's class. */
import type { DType, TypedArray } from "../arrays/dtype.js";
import { type HostArray, hostArray } from "../arrays/host-array.js";
import { TesseractError } from "../errors.js";
import type { ArrayAdapter } from "./adapter.js";
import { boolEntries } from "./bool-entries.js";
import { isClassInstance, type Unchecked } from "./class-instance.js";
import { dtypeNamed } from "./dtype-names.js";

interface Tensor {
  readonly type: string;
  readonly dims: readonly number[];
  /** `cpu`, `cpu-pinned`, a place on a GPU, or `none` once it is disposed. */
  readonly location: string;
  /** Throws, if the elements aren't in the host's memory. */
  readonly data: TypedArray;
  /** Downloads the elements, and keeps them: a tensor on a GPU is then in both places. Not twice at the same time. */
  getData(releaseData?: boolean): Promise<TypedArray>;
}

const dtypes: ReadonlyMap<string, DType> = new Map([
  ["float16", "float16"],
  ["float32", "float32"],
  ["float64", "float64"],
  ["int8", "int8"],
  ["int16", "int16"],
  ["int32", "int32"],
  ["int64", "int64"],
  ["uint8", "uint8"],
  ["uint16", "uint16"],
  ["uint32", "uint32"],
  ["uint64", "uint64"],
  ["bool", "bool"],
]);

/**
 * Recognizes onnxruntime tensors. One on a GPU is downloaded by its `getData()`, which needs it to come from a session or
 * to be made with the option `download`; its GPU memory stays the tensor's.
 */
export const onnxruntime: ArrayAdapter = {
  name: "onnxruntime",
  adapt(value) {
    if (!isTensor(value)) return undefined;
    if (value.location === "none") throw new TesseractError("INVALID_ARRAY", "An onnxruntime tensor has been disposed");
    const dtype = dtypeNamed(value.type, dtypes, "An onnxruntime tensor");
    const shape = [...value.dims];
    const toHostArray = (data: TypedArray): HostArray =>
      hostArray(dtype === "bool" ? boolEntries(data as Uint8Array) : data, { dtype, shape });
    return {
      dtype,
      shape,
      read: () => (value.location.startsWith("cpu") ? toHostArray(value.data) : download(value).then(toHostArray)),
    };
  },
};

function isTensor(value: object): value is Tensor {
  if (!isClassInstance(value)) return false;
  const tensor = value as Unchecked<Tensor>;
  return (
    typeof tensor.getData === "function" &&
    typeof tensor.type === "string" &&
    typeof tensor.location === "string" &&
    Array.isArray(tensor.dims)
  );
}

/** Downloads under way. A tensor refuses a second one meanwhile, but may well be in a request twice. */
const downloads = new WeakMap<Tensor, Promise<TypedArray>>();

async function download(tensor: Tensor): Promise<TypedArray> {
  const { location } = tensor;
  const underWay = downloads.get(tensor) ?? tensor.getData();
  downloads.set(tensor, underWay);
  try {
    return await underWay;
  } catch (cause) {
    throw new TesseractError("INVALID_ARRAY", `An onnxruntime tensor can't be read from its ${location}: ${cause}`, {
      hint: "Make it with the option `download`, or pass what its getData() gives.",
      cause,
    });
  } finally {
    downloads.delete(tensor);
  }
}
