/** The adapters that every Tesseract has. */
import type { ArrayAdapter } from "./adapter.js";
import { arrow } from "./arrow.js";
import { jaxJs } from "./jax-js.js";
import { ndarray } from "./ndarray.js";
import { onnxruntime } from "./onnxruntime.js";
import { tensorflow } from "./tensorflow.js";

export const builtinAdapters: readonly ArrayAdapter[] = [jaxJs, tensorflow, onnxruntime, ndarray, arrow];
