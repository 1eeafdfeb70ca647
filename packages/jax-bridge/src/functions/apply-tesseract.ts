/** Calls of Tesseracts, within programs and outside. */
import {
  type CudaArray,
  type HostArray,
  Tesseract,
  type TesseractTypes,
  type TypedArray,
  type Untyped,
} from "@tesseract-ts/core";
import { aval, avalOf } from "../arrays/aval.js";
import { cudaArrayOf, isConcreteJaxArray, isJaxValue } from "../arrays/kinds.js";
import { isOpaque } from "../arrays/opaque.js";
import { RuntimeArray } from "../arrays/runtime-array.js";
import { programError } from "../errors.js";
import { type JaxArray, loadJax } from "../jax.js";
import { currentBuild } from "../program/suspension.js";
import { currentContext, type TraceContext } from "../program/trace-context.js";
import { applyOperation } from "../tesseract/call-operation.js";
import { type CallInput, flattenInputs, makeCallSpec } from "../tesseract/call-spec.js";
import { Placement } from "../tesseract/device.js";
import { type ApplyOptions, checkApplyOptions } from "../tesseract/options.js";
import { flatten, isRecord, unflatten } from "../tree/tree.js";
import { runtimeArrays } from "./arguments.js";
import { guardedPromise } from "./guarded-promise.js";
import { delivered, runOptions } from "./program-call.js";

/** A tree with arrays of one kind in place of `HostArray`s. */
type WithArrays<T, A> = T extends HostArray
  ? A
  : T extends readonly unknown[]
    ? { [K in keyof T]: WithArrays<T[K], A> }
    : T extends object
      ? { [K in keyof T]: WithArrays<T[K], A> }
      : T;

type KindsIn<T> = T extends JaxArray
  ? "jax"
  : T extends CudaArray
    ? "cuda"
    : T extends TypedArray | HostArray
      ? "host"
      : T extends object
        ? KindsIn<T[keyof T]>
        : never;

type KindOf<T> = "cuda" extends KindsIn<T> ? CudaArray : "jax" extends KindsIn<T> ? JaxArray : HostArray;

/** Within a program the outputs at once; outside a promise of them, with the inputs' kind of arrays. */
export type Applied<T extends TesseractTypes, I> = WithArrays<T["outputs"], JaxArray> &
  Promise<WithArrays<T["outputs"], KindOf<I>>>;

/** A tree of inputs with arrays of any kind. */
export type AnyInputs = { readonly [key: string]: unknown };

/**
 * Calls a Tesseract.
 *
 * Within a function that is transformed by `jit`, `grad`, `vmap` and their like it gives the outputs at once, as values of
 * jax-js, and the Tesseract is asked when the program runs. Outside it is an asynchronous call for arrays of any kind, and
 * the outputs are arrays of the inputs' kind: jax-js arrays, CUDA arrays, or `HostArray`s; jax-js itself is needed for
 * its arrays only.
 *
 * jax-js arrays are consumed, as by jax-js's functions. Other arrays stay the caller's. Outputs are the caller's own.
 *
 * @throws TesseractError VMAP_METHOD_MISSING, NOT_DIFFERENTIABLE, SECOND_DERIVATIVE, VALUE_UNKNOWN, IMPURE_FUNCTION,
 *   ARRAY_CONSUMED, AWAIT_MISSING, UNSUPPORTED_DTYPE, and those of `Tesseract.apply`
 *
 * @example
 * const { temperature } = await applyTesseract(heat, { source: new Float64Array(100) });
 */
export function applyTesseract<T extends TesseractTypes = Untyped, const I extends AnyInputs = AnyInputs>(
  tesseract: Tesseract<T>,
  inputs: I,
  options: ApplyOptions = {},
): Applied<T, I> {
  if (!(tesseract instanceof Tesseract)) {
    throw programError("INVALID_ARGUMENT", "The first argument of applyTesseract is a Tesseract", {
      hint: "Make one with fromUrl, fromSource, fromImage or fromTesseractApi.",
    });
  }
  checkApplyOptions(options);
  const context = currentContext();
  const untyped = tesseract as unknown as Tesseract;
  return (
    context === undefined
      ? guardedPromise(callOutside(untyped, inputs, options), "applyTesseract")
      : callWithin(untyped, inputs, options, context)
  ) as Applied<T, I>;
}

function callWithin(tesseract: Tesseract, inputs: unknown, options: ApplyOptions, context: TraceContext): unknown {
  let given: readonly CallInput[] = [];
  try {
    const { leaves, structure } = flattenInputs(tesseract, inputs);
    given = leaves;
    const spec = makeCallSpec(tesseract, structure, leaves.map(avalOfInput), options);
    return unflatten(spec.outputs, context.perform({ kind: "call", operation: applyOperation(spec) }, leaves));
  } catch (error) {
    // The call has taken them over, and isn't made.
    currentBuild().held.push(...given.filter(isConcreteJaxArray));
    throw context.interrupt(error);
  }
}

function avalOfInput(input: CallInput): RuntimeArray["aval"] {
  if (isOpaque(input)) return aval([...input.shape], input.dtype as "int64");
  if (isJaxValue(input)) return avalOf(input);
  const cuda = cudaArrayOf(input);
  return cuda === undefined ? RuntimeArray.ofHost(input as HostArray).aval : RuntimeArray.ofCuda(cuda, false).aval;
}

/** Nothing but the call: the Tesseract isn't asked for shapes, and jax-js isn't loaded unless its arrays are there. */
async function callOutside(tesseract: Tesseract, inputs: unknown, options: ApplyOptions): Promise<unknown> {
  const isAny = (value: unknown): value is object => isJaxValue(value) || cudaArrayOf(value) !== undefined;
  const { leaves, structure } = flatten(inputs, isAny);
  if (!isRecord(inputs)) {
    throw programError("INVALID_TREE", "The inputs of a Tesseract are an object with a member for each input");
  }
  const traced = leaves.find((leaf) => isJaxValue(leaf) && !isConcreteJaxArray(leaf));
  if (traced !== undefined) {
    throw programError("VALUE_UNKNOWN", "applyTesseract was given a value of a function that jax-js traces by itself", {
      hint: "Use jit, grad, vmap and their like of @tesseract-ts/jax-bridge in place of jax-js's, and no await inside them.",
    });
  }
  const arrays = runtimeArrays(leaves);
  try {
    const example = arrays.find((array) => array.cuda !== undefined)?.cuda;
    const device = options.device ?? (example === undefined ? "cpu" : "cuda");
    const placement = new Placement(device, options.toDevice, example);
    const asJax = arrays.some(({ kind }) => kind === "jax");
    if (asJax) await loadJax();
    const view = await placement.view(tesseract, options);
    const onDevice = placement.staysOnDevice(tesseract);
    const payload = await Promise.all(arrays.map(async (array) => (onDevice ? array.cuda : undefined) ?? array.host()));
    const outputs = await view.apply(unflatten(structure, payload) as never, runOptions(options));
    if (device === "cpu" && !asJax) return outputs;
    return await deliverTree(outputs, placement);
  } finally {
    await Promise.all(arrays.map((array) => array.dispose()));
  }
}

async function deliverTree(outputs: unknown, placement: Placement): Promise<unknown> {
  const isOutput = (value: unknown): value is HostArray | CudaArray =>
    cudaArrayOf(value) !== undefined || (isRecord(value) && "dtype" in value && "data" in value);
  const { leaves, structure } = flatten(outputs, isOutput);
  const given = await Promise.all(
    leaves.map((leaf) => {
      const cuda = cudaArrayOf(leaf);
      return delivered(
        cuda === undefined ? RuntimeArray.ofHost(leaf as HostArray) : RuntimeArray.ofCuda(cuda, false),
        placement,
      );
    }),
  );
  return unflatten(structure, given);
}
