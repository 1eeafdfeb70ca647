/** A Tesseract whose endpoints all come from one pure function of jax-js. */
import { type Array as JaxArray, jvp, linearize, makeJaxpr, vjp } from "@jax-js/jax";
import { builtinAdapters, elementCount, type HostArray, isHostArray, TesseractError } from "@tesseract-ts/core";
import { type DefinedTesseract, defineTesseract } from "../define.js";
import type { ObjectSchema, ResultOf, TesseractOptions } from "../definition.js";
import type { DerivativeRequest, DerivedGradient, HostArrays, Jacobian, Tree, VectorRequest } from "../derive/derived.js";
import { fromReal, type RealArray, toReal } from "../derive/real-arrays.js";
import { Turns } from "../derive/turns.js";
import { readForeign } from "../runner/foreign.js";
import { objectFromZod } from "../schema/from-zod.js";
import { differentiableArrays, valueAt, withValuesAt } from "../schema/paths.js";
import type { z } from "zod";
import { free, isJaxArray, jaxDType, toJax, zeros } from "./arrays.js";

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

type Compute = (inputs: unknown) => unknown;

/** A tree with other values for some of its nodes; objects and lists are copied. */
function mapTree(tree: unknown, path: string, replace: (value: object, path: string) => unknown): unknown {
  if (typeof tree !== "object" || tree === null) return tree;
  const replaced = replace(tree, path);
  if (replaced !== undefined) return replaced;
  if (Array.isArray(tree)) return tree.map((item: unknown, index) => mapTree(item, `${path}.[${index}]`, replace));
  return Object.fromEntries(
    Object.entries(tree).map(([key, member]) => [key, mapTree(member, path === "" ? key : `${path}.${key}`, replace)]),
  );
}

/** Arrays of jax-js for those of a tree. They are freed with {@link Borrowed.free}, whatever the function did with them. */
class Borrowed {
  private readonly arrays: JaxArray[] = [];

  take(array: HostArray, path: string): JaxArray {
    return this.own(toJax(array, path));
  }

  own(array: JaxArray): JaxArray {
    this.arrays.push(array);
    return array;
  }

  free(): void {
    for (const array of this.arrays) free(array);
  }
}

async function applied(compute: Compute, inputs: Tree): Promise<unknown> {
  const borrowed = new Borrowed();
  const results: JaxArray[] = [];
  try {
    const outputs = compute(mapTree(inputs, "", (value, path) => (isHostArray(value) ? borrowed.take(value, path) : undefined)));
    mapTree(outputs, "", (value) => {
      if (!isJaxArray(value)) return undefined;
      results.push(value);
      return value;
    });
    return await readForeign(outputs, builtinAdapters);
  } finally {
    for (const array of new Set(results)) free(array);
    borrowed.free();
  }
}

/** The shapes and dtypes of the outputs: the function is traced, and computes nothing. */
function traced(compute: Compute, inputs: unknown): unknown {
  const paths: string[] = [];
  const arrays: JaxArray[] = [];
  mapTree(inputs, "", (value, path) => {
    if (!isAbstract(value)) return undefined;
    paths.push(path);
    arrays.push(zeros(value, path));
    return value;
  });
  let outputs: unknown;
  const trace = makeJaxpr((...tracers: JaxArray[]) => {
    let next = 0;
    const leaves: JaxArray[] = [];
    const result = compute(mapTree(inputs, "", (value) => (isAbstract(value) ? tracers[next++] : undefined)));
    outputs = mapTree(result, "", (value) => {
      if (!isJaxArray(value)) return isHostArray(value) ? { shape: value.shape, dtype: value.dtype } : undefined;
      leaves.push(value);
      return { shape: [...value.shape], dtype: String(value.dtype) };
    });
    return leaves;
  });
  const { jaxpr } = trace(...arrays);
  jaxpr.dispose();
  for (const array of arrays) free(array);
  return outputs;
}

const isAbstract = (value: object): value is { readonly shape: readonly number[]; readonly dtype: string } =>
  "shape" in value && "dtype" in value && Array.isArray(value.shape) && typeof value.dtype === "string";

/** The function of some inputs, with the others held fast, to some outputs; as jax-js differentiates it. */
class Differentiable {
  private readonly borrowed = new Borrowed();
  readonly primals: readonly JaxArray[];
  private readonly fixed: unknown;

  constructor(
    private readonly compute: Compute,
    private readonly request: DerivativeRequest,
  ) {
    const { inputs, wrt } = request;
    this.primals = wrt.map((path) => this.borrowed.own(toJax(hostAt(inputs, path), path)));
    // Where a primal goes there is nothing yet.
    const rest = withValuesAt(inputs, Object.fromEntries(wrt.map((path) => [path, null])));
    this.fixed = mapTree(rest, "", (value, path) => (isHostArray(value) ? this.borrowed.take(value, path) : undefined));
  }

  readonly call = (...primals: JaxArray[]): JaxArray[] => {
    const { wrt, of } = this.request;
    // Each call consumes its inputs, and the function may be called several times.
    const fixed = mapTree(this.fixed, "", (value) => (isJaxArray(value) ? value.ref : undefined));
    const outputs = this.compute(withValuesAt(fixed, Object.fromEntries(wrt.map((path, index) => [path, primals[index]]))));
    const wanted = of.map((path): JaxArray => {
      const value = valueAt(outputs, path);
      if (isJaxArray(value)) return value;
      throw new TesseractError("INVALID_ARGUMENT", `The function gives no jax-js array at "${path}"`);
    });
    mapTree(outputs, "", (value) => {
      if (!isJaxArray(value)) return undefined;
      if (!wanted.includes(value)) value.dispose();
      return value;
    });
    return wanted;
  };

  /** The primals, to be consumed. */
  references(): JaxArray[] {
    return this.primals.map((primal) => primal.ref);
  }

  free(): void {
    this.borrowed.free();
  }
}

function hostAt(tree: unknown, path: string): HostArray {
  const value = valueAt(tree, path);
  if (isHostArray(value)) return value;
  throw new TesseractError("INVALID_ARGUMENT", `There is no array at "${path}"`);
}

async function read(paths: readonly string[], arrays: readonly JaxArray[]): Promise<HostArrays> {
  try {
    const tree = Object.fromEntries(paths.map((path, index) => [path, arrays[index]]));
    return (await readForeign(tree, builtinAdapters)) as HostArrays;
  } finally {
    for (const array of new Set(arrays)) free(array);
  }
}

function gradientOf(compute: Compute): DerivedGradient {
  return {
    derived: "gradient",
    from: "apply",
    async jvp(request: VectorRequest) {
      const f = new Differentiable(compute, request);
      try {
        const tangents = request.wrt.map((path) => toJax(hostAt(request.vector, path), path));
        const [outputs, slopes] = jvp(f.call, f.references(), tangents);
        for (const output of new Set(outputs)) free(output);
        return await read(request.of, slopes);
      } finally {
        f.free();
      }
    },
    async vjp(request: VectorRequest) {
      const f = new Differentiable(compute, request);
      try {
        const [outputs, pull] = vjp(f.call, f.references());
        const cotangents = request.of.map((path, index) => {
          const dtype = jaxDType(String(outputs[index]?.dtype), path);
          return toJax(hostAt(request.vector, path), path).astype(dtype);
        });
        for (const output of new Set(outputs)) free(output);
        const gradients = pull(cotangents) as JaxArray[];
        pull.dispose();
        return await read(request.wrt, gradients);
      } finally {
        f.free();
      }
    },
    async jacobian(request, _endpoints, context): Promise<Jacobian> {
      const f = new Differentiable(compute, request);
      try {
        return await jacobian(f, request, new Turns(context));
      } finally {
        f.free();
      }
    },
  };
}

/** By one linear map, element by element of the inputs: jax-js evaluates the function once. */
async function jacobian(f: Differentiable, { wrt, of, inputs }: DerivativeRequest, turns: Turns): Promise<Jacobian> {
  const [outputs, slopeOf] = linearize(f.call, f.references());
  try {
    const blocks = of.map((_, row) =>
      wrt.map((path) => {
        const output = outputs[row] as JaxArray;
        const shape = [...output.shape, ...hostAt(inputs, path).shape];
        return { shape, dtype: output.dtype as RealArray["dtype"], values: new Float64Array(elementCount(shape)) };
      }),
    );
    for (const [column, path] of wrt.entries()) {
      const size = elementCount(hostAt(inputs, path).shape);
      for (let element = 0; element < size; element++) {
        await turns.next();
        const tangents = wrt.map((other, index) => unit(hostAt(inputs, other), other, index === column ? element : undefined));
        const slopes = await read(of, slopeOf(...tangents));
        for (const [row, output] of of.entries()) {
          const values = toReal(slopes[output] as HostArray, output).values;
          const block = blocks[row]?.[column];
          values.forEach((value, index) => {
            if (block !== undefined) block.values[index * size + element] = value;
          });
        }
      }
    }
    return Object.fromEntries(
      of.map((output, row) => [
        output,
        Object.fromEntries(wrt.map((path, column) => [path, fromReal(blocks[row]?.[column] as RealArray)])),
      ]),
    );
  } finally {
    for (const output of new Set(outputs)) free(output);
    slopeOf.dispose();
  }
}

/** Zeros, with a one at one element if there is one. */
function unit(array: HostArray, path: string, element: number | undefined): JaxArray {
  const zero = zeros(array, path);
  if (element === undefined) return zero;
  zero.dispose();
  const values = new Float64Array(elementCount(array.shape));
  values[element] = 1;
  return toJax(fromReal({ shape: array.shape, dtype: array.dtype, values }), path);
}
