/** A Tesseract whose endpoints all come from one pure function of jax-js. */
import type { Array as JaxArray } from "@jax-js/jax";
import { type HostArray, TesseractError } from "@tesseract-ts/core";
import type { z } from "zod";
import { type DefinedTesseract, defineTesseract } from "../define.js";
import type { ObjectSchema, ResultOf, TesseractOptions } from "../definition.js";
import type { Tree } from "../derive/derived.js";
import { objectFromZod } from "../schema/from-zod.js";
import { differentiableArrays } from "../schema/paths.js";
import { applied, traced } from "./calls.js";
import { gradientOf } from "./gradients.js";

/** The inputs of a function of jax-js: arrays are jax-js's, the rest is as the schema has it. */
export type JaxInputs<T> = T extends HostArray
  ? JaxArray
  : T extends readonly unknown[] | Readonly<Record<string, unknown>>
    ? { readonly [K in keyof T]: JaxInputs<T[K]> }
    : T;

export interface JaxTesseractOptions<I extends ObjectSchema, O extends ObjectSchema>
  extends Pick<TesseractOptions<I, O>, "name" | "version" | "description" | "inputs" | "outputs" | "runIn"> {
  /**
   * A pure function of jax-js. Its arguments follow jax-js's rules: what takes an array consumes it, so a second use needs
   * `x.ref`. It may not read an array's elements, since it is also called with what stands for arrays.
   */
  compute(inputs: JaxInputs<z.output<I>>): ResultOf<O>;
}

/**
 * Defines a Tesseract by a pure function of jax-js: `apply` runs it; `jacobian`, `jacobianVectorProduct` and
 * `vectorJacobianProduct` differentiate it; `abstractEval` traces it. Without differentiable arrays there are no derivatives.
 *
 * jax-js computes in float32 unless its inputs are float64, and has no 8-, 16- and 64-bit integers and no complex numbers.
 *
 * @throws TesseractError INVALID_ARGUMENT. Calls reject with ENDPOINT_FAILED for what the function throws.
 *
 * @example
 * export default defineJaxTesseract({
 *   name: "wave",
 *   inputs: z.object({ x: differentiable(array("float32", [null])) }),
 *   outputs: z.object({ y: differentiable(array("float32", [null])) }),
 *   compute: ({ x }) => ({ y: np.sin(x.ref).mul(x) }),
 * });
 */
export function defineJaxTesseract<I extends ObjectSchema, O extends ObjectSchema>(
  options: JaxTesseractOptions<I, O>,
): DefinedTesseract<I, O> {
  const { compute, ...rest } = options;
  if (typeof compute !== "function") {
    throw new TesseractError("INVALID_ARGUMENT", "defineJaxTesseract needs a function compute");
  }
  const run = compute as (inputs: unknown) => unknown;
  const hasArrays = (schema: z.core.$ZodType, name: string): boolean =>
    differentiableArrays(objectFromZod(schema, name)).length > 0;
  const gradient = gradientOf(run);
  const derivatives =
    hasArrays(options.inputs, "InputSchema") && hasArrays(options.outputs, "OutputSchema")
      ? { jacobian: gradient, jacobianVectorProduct: gradient, vectorJacobianProduct: gradient }
      : {};
  return defineTesseract({
    ...rest,
    ...derivatives,
    apply: (inputs) => applied(run, inputs as Tree) as Promise<ResultOf<O>>,
    abstractEval: (inputs) => traced(run, inputs) as never,
  });
}
