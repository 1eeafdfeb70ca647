/** Arrays of other libraries, both ways. None of the libraries is imported: what makes their arrays is passed in. */
export type { AdaptedArray, ArrayAdapter } from "./adapter.js";
export { builtinAdapters } from "./builtin.js";
export { type ArrowLibrary, toArrow } from "./to-arrow.js";
export { toHostArray } from "./to-host-array.js";
export { type JaxNumpy, toJaxJs } from "./to-jax-js.js";
export { toNdarray } from "./to-ndarray.js";
export { toOnnxruntime } from "./to-onnxruntime.js";
export { type TensorFlowLibrary, toTensorFlow } from "./to-tensorflow.js";
