// The fixture `vectors` in TypeScript: derivatives in closed form, and differentiable arrays at every kind of path.
import { type HostArray, hostArray } from "@tesseract-ts/core";
import { z } from "zod";
import { array, defineTesseract, differentiable } from "../../../src/index.js";

const vector = () => differentiable(array("float64", [null]));
const vector32 = () => differentiable(array("float32", [null]));
const scalar = () => differentiable(array("float64", []));

const inputs = z.object({
  x: vector(),
  affine: z
    .object({ matrix: differentiable(array("float64", [null, null])), shift: vector() })
    .meta({ title: "Affine" }),
  gain: scalar().prefault(1),
  terms: z.array(vector()).default([]),
  weights: z.record(z.string(), vector32()).default({}),
});

const outputs = z.object({
  y: vector(),
  stats: z.object({ norm2: scalar() }).meta({ title: "Stats" }),
  products: z.array(vector()),
  scaled: z.record(z.string(), vector32()),
  rows: z.int(),
});

type Inputs = z.output<typeof inputs>;

const times = (a: ArrayLike<number>, b: ArrayLike<number>): Float64Array =>
  Float64Array.from(a, (value, index) => value * (b[index] as number));

const keyOf = (path: string, field: string): string | undefined => {
  const match = new RegExp(`^${field}\\.(?:\\[(\\d+)\\]|\\{(.*)\\})$`, "s").exec(path);
  return match === null ? undefined : (match[1] ?? match[2]?.replace(/\\(.)/gs, "$1"));
};

const factorAt = (of: Inputs, output: string): ArrayLike<number> => {
  const term = keyOf(output, "products");
  const factor = term === undefined ? of.weights[keyOf(output, "scaled") ?? ""] : of.terms[Number(term)];
  if (factor === undefined) throw new Error(`nothing at ${output}`);
  return factor.data;
};

const shapeAt = (of: Inputs, path: string): readonly number[] => {
  const named: Record<string, HostArray> = {
    x: of.x,
    "affine.matrix": of.affine.matrix,
    "affine.shift": of.affine.shift,
    gain: of.gain,
  };
  const term = keyOf(path, "terms");
  const found = named[path] ?? (term === undefined ? of.weights[keyOf(path, "weights") ?? ""] : of.terms[Number(term)]);
  if (found === undefined) throw new Error(`nothing at ${path}`);
  return found.shape;
};

/** d output / d wrt, of the output's shape followed by the input's. */
function derivative(of: Inputs, output: string, wrt: string): HostArray<"float64"> {
  const { x, affine } = of;
  const gain = of.gain.data[0] as number;
  const [m, n] = affine.matrix.shape as [number, number];
  const outputShape = output === "y" ? [m] : output === "stats.norm2" ? [] : [x.data.length];
  const shape = [...outputShape, ...shapeAt(of, wrt)];
  const data = new Float64Array(shape.reduce((count, size) => count * size, 1));
  if (output === "y") {
    if (wrt === "x") data.set(affine.matrix.data.map((value) => gain * value));
    else if (wrt === "affine.matrix") {
      for (let i = 0; i < m; i++)
        for (let k = 0; k < n; k++) data[i * m * n + i * n + k] = gain * (x.data[k] as number);
    } else if (wrt === "affine.shift") for (let i = 0; i < m; i++) data[i * m + i] = gain;
    else if (wrt === "gain") data.set(affineOf(of));
  } else if (output === "stats.norm2") {
    if (wrt === "x") data.set(x.data.map((value) => 2 * value));
  } else {
    const factor = factorAt(of, output);
    const [outer, inner] = output.startsWith("products") ? ["products", "terms"] : ["scaled", "weights"];
    const size = x.data.length;
    for (let i = 0; i < size; i++) {
      if (wrt === "x") data[i * size + i] = factor[i] as number;
      else if (keyOf(wrt, inner as string) === keyOf(output, outer as string)) data[i * size + i] = x.data[i] as number;
    }
  }
  return hostArray(data, { shape, dtype: "float64" });
}

/** matrix x + shift */
function affineOf({ x, affine: { matrix, shift } }: Inputs): Float64Array {
  const [rows, n] = matrix.shape as [number, number];
  if (n !== x.data.length || rows !== shift.data.length) throw new Error("the shapes don't fit together");
  return Float64Array.from({ length: rows }, (_, row) => {
    let sum = shift.data[row] as number;
    for (let k = 0; k < n; k++) sum += (matrix.data[row * n + k] as number) * (x.data[k] as number);
    return sum;
  });
}

export default defineTesseract({
  name: "vectors",
  inputs,
  outputs,
  apply: (given) => ({
    y: affineOf(given).map((value) => value * (given.gain.data[0] as number)),
    stats: { norm2: given.x.data.reduce((sum, value) => sum + value * value, 0) },
    products: given.terms.map((term) => times(term.data, given.x.data)),
    scaled: Object.fromEntries(
      Object.entries(given.weights).map(([key, weight]) => [key, Float32Array.from(times(weight.data, given.x.data))]),
    ),
    rows: given.affine.matrix.shape[0] as number,
  }),
  abstractEval: ({ x, affine, terms, weights }) => {
    const rows = affine.matrix.shape[0] as number;
    return {
      y: { shape: [rows], dtype: "float64" },
      stats: { norm2: { shape: [], dtype: "float64" } },
      products: terms.map(() => ({ shape: x.shape, dtype: "float64" })),
      scaled: Object.fromEntries(Object.keys(weights).map((key) => [key, { shape: x.shape, dtype: "float32" }])),
      rows,
    };
  },
  jacobian: ({ inputs: at, jacInputs, jacOutputs }) =>
    Object.fromEntries(
      jacOutputs.map((output) => [
        output,
        Object.fromEntries(jacInputs.map((wrt) => [wrt, derivative(at, output, wrt)])),
      ]),
    ),
  jacobianVectorProduct: ({ inputs: at, jvpInputs, jvpOutputs, tangents }) =>
    Object.fromEntries(
      jvpOutputs.map((output) => {
        const terms = jvpInputs.map((wrt) => {
          const block = derivative(at, output, wrt);
          const tangent = tangents[wrt]?.data as ArrayLike<number>;
          const rows = block.data.length / tangent.length;
          return Float64Array.from({ length: rows }, (_, row) =>
            times(block.data.subarray(row * tangent.length, (row + 1) * tangent.length), tangent).reduce(
              (a, b) => a + b,
              0,
            ),
          );
        });
        const sum = terms.reduce((a, b) => a.map((value, index) => value + (b[index] as number)));
        return [output, output === "stats.norm2" ? hostArray(sum, { shape: [] }) : sum];
      }),
    ),
  vectorJacobianProduct: ({ inputs: at, vjpInputs, vjpOutputs, cotangents }) =>
    Object.fromEntries(
      vjpInputs.map((wrt) => {
        const shape = shapeAt(at, wrt);
        const size = shape.reduce((count, length) => count * length, 1);
        const sum = new Float64Array(size);
        for (const output of vjpOutputs) {
          const block = derivative(at, output, wrt);
          const cotangent = cotangents[output]?.data as ArrayLike<number>;
          if (block.data.length !== cotangent.length * size) throw new Error("the cotangent has another shape");
          block.data.forEach((value, index) => {
            const [row, column] = [Math.floor(index / size), index % size];
            sum[column] = (sum[column] as number) + value * (cotangent[row] as number);
          });
        }
        return [wrt, hostArray(sum, { shape })];
      }),
    ),
});
