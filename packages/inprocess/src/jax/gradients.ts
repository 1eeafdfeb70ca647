/** Derivatives of a function of jax-js. */
import { type Array as JaxArray, jvp, linearize, vjp } from "@jax-js/jax";
import { elementCount, type HostArray, isHostArray, TesseractError } from "@tesseract-ts/core";
import { builtinAdapters } from "@tesseract-ts/core/adapters";
import type { DerivativeRequest, DerivedGradient, HostArrays, Jacobian, VectorRequest } from "../derive/derived.js";
import { fromReal, type RealArray, toReal } from "../derive/real-arrays.js";
import { Turns } from "../derive/turns.js";
import { readForeign } from "../runner/foreign.js";
import { valueAt, withValuesAt } from "../schema/paths.js";
import { free, isJaxArray, jaxDType, toJax, zeros } from "./arrays.js";
import { Borrowed, type Compute, mapTree } from "./calls.js";

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
    const outputs = this.compute(
      withValuesAt(fixed, Object.fromEntries(wrt.map((path, index) => [path, primals[index]]))),
    );
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

/** The derivatives of a function of jax-js, by its own transformations. */
export function gradientOf(compute: Compute): DerivedGradient {
  return {
    derived: "gradient",
    from: "apply",
    async jvp(request: VectorRequest) {
      const f = new Differentiable(compute, request);
      try {
        const tangents = request.wrt.map((path) => toJax(request.vector[path] as HostArray, path));
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
          return toJax(request.vector[path] as HostArray, path).astype(dtype);
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
        const tangents = wrt.map((other, index) =>
          unit(hostAt(inputs, other), other, index === column ? element : undefined),
        );
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
