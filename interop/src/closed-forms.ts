// The fixture `vectors` in TypeScript: its outputs and derivatives in closed form, in plain numbers.

import { type HostArray, hostArray, toNestedList } from "@tesseract-ts/core";

/** The fixture's differentiable inputs, flat. */
export interface Point {
  /** (n,) */
  readonly x: readonly number[];
  /** (m, n) */
  readonly matrix: readonly (readonly number[])[];
  /** (m,) */
  readonly shift: readonly number[];
  readonly gain: number;
  /** (n,) each */
  readonly terms: readonly (readonly number[])[];
  /** (n,) each, float32 */
  readonly weights: Readonly<Record<string, readonly number[]>>;
}

/** An array's elements in C order and its shape. */
export interface Flat {
  readonly shape: readonly number[];
  readonly values: readonly number[];
}

/** Numbers that float32 holds exactly, so that closed forms are exact too. */
export const examplePoint: Point = {
  x: [1, -2],
  matrix: [
    [1, 2],
    [3, 4],
    [5, -6],
  ],
  shift: [0.5, 0.25, -0.125],
  gain: 2,
  terms: [
    [1, -1],
    [0.5, 3],
  ],
  weights: { "a b": [0.5, 0.75], other: [-1, 2] },
};

/** Of the runtimes before 1.13 these are the only keys that have paths. */
export const inputPaths = [
  "x",
  "affine.matrix",
  "affine.shift",
  "gain",
  "terms.[0]",
  "terms.[1]",
  "weights.{a b}",
  "weights.{other}",
];
export const outputPaths = ["y", "stats.norm2", "products.[0]", "products.[1]", "scaled.{a b}", "scaled.{other}"];

export const dtypeAt = (path: string): "float32" | "float64" =>
  path.startsWith("weights") || path.startsWith("scaled") ? "float32" : "float64";

export const arrayOf = ({ shape, values }: Flat, dtype: "float32" | "float64" = "float64"): HostArray =>
  hostArray(dtype === "float32" ? Float32Array.from(values) : Float64Array.from(values), { shape });

/** The inputs as the fixture takes them. */
export const inputsAt = ({ x, matrix, shift, gain, terms, weights }: Point) => ({
  x: Float64Array.from(x),
  affine: { matrix: hostArray(matrix), shift: Float64Array.from(shift) },
  gain: hostArray(gain),
  terms: terms.map((term) => Float64Array.from(term)),
  weights: Object.fromEntries(Object.entries(weights).map(([key, weight]) => [key, Float32Array.from(weight)])),
});

const vector = (values: readonly number[]): Flat => ({ shape: [values.length], values });
const scalar = (value: number): Flat => ({ shape: [], values: [value] });
const times = (a: readonly number[], b: readonly number[]): number[] => a.map((entry, i) => entry * (b[i] as number));
export const dot = (a: readonly number[], b: readonly number[]): number =>
  times(a, b).reduce((sum, term) => sum + term, 0);
const diagonal = (values: readonly number[]): number[] =>
  values.flatMap((value, row) => values.map((_, column) => (row === column ? value : 0)));
const size = (shape: readonly number[]): number => shape.reduce((count, length) => count * length, 1);

/** `terms.[1]` or `weights.{a b}` in parts. */
function itemOf(path: string): { readonly field: string; readonly key: string } {
  const [, field = path, key = ""] = /^(\w+)\.[[{](.*)[\]}]$/.exec(path) ?? [];
  return { field, key };
}

/** The value at an input's path. */
export function inputAt(point: Point, path: string): Flat {
  switch (path) {
    case "x":
      return vector(point.x);
    case "affine.matrix":
      return { shape: [point.matrix.length, point.x.length], values: point.matrix.flat() };
    case "affine.shift":
      return vector(point.shift);
    case "gain":
      return scalar(point.gain);
    default: {
      const { field, key } = itemOf(path);
      return vector((field === "terms" ? point.terms[Number(key)] : point.weights[key]) ?? []);
    }
  }
}

/** The value at an output's path. */
export function outputAt(point: Point, path: string): Flat {
  const { x, matrix, shift, gain } = point;
  if (path === "y") return vector(matrix.map((row, i) => gain * (dot(row, x) + (shift[i] as number))));
  if (path === "stats.norm2") return scalar(dot(x, x));
  return vector(times(inputAt(point, factorOf(path)).values, x));
}

/** The input that an output of the list or of the dict is `x` multiplied with. */
const factorOf = (output: string): string => output.replace("products", "terms").replace("scaled", "weights");

/** The derivative of one output with respect to one input: the output's shape, then the input's. */
export function derivativeAt(point: Point, output: string, input: string): Flat {
  const { x, matrix, shift, gain } = point;
  const shape = [...outputAt(point, output).shape, ...inputAt(point, input).shape];
  const rows = matrix.map((_, index) => index);
  const zeros = Array.from({ length: size(shape) }, () => 0);
  const values = (): readonly number[] => {
    switch (output) {
      case "y":
        switch (input) {
          case "x":
            return matrix.flat().map((entry) => gain * entry);
          case "affine.matrix":
            return rows.flatMap((i) => rows.flatMap((k) => x.map((entry) => (i === k ? gain * entry : 0))));
          case "affine.shift":
            return diagonal(shift.map(() => gain));
          case "gain":
            return matrix.map((row, i) => dot(row, x) + (shift[i] as number));
          default:
            return zeros;
        }
      case "stats.norm2":
        return input === "x" ? x.map((entry) => 2 * entry) : zeros;
      default:
        if (input === "x") return diagonal(inputAt(point, factorOf(output)).values);
        return input === factorOf(output) ? diagonal(x) : zeros;
    }
  };
  return { shape, values: values() };
}

export type ByPath = Readonly<Record<string, Flat>>;

/** How each output changes along a tangent vector. */
export function tangentsAt(point: Point, tangents: ByPath, outputs: readonly string[]): ByPath {
  return byPath(outputs, (output) => {
    const { shape } = outputAt(point, output);
    const values = Array.from({ length: size(shape) }, (_, row) =>
      sum(
        Object.entries(tangents).map(([input, tangent]) => {
          const columns = tangent.values.length;
          const derivative = derivativeAt(point, output, input).values;
          return dot(derivative.slice(row * columns, (row + 1) * columns), tangent.values);
        }),
      ),
    );
    return { shape, values };
  });
}

/** The gradient of the outputs, weighted by a cotangent vector. */
export function cotangentsAt(point: Point, cotangents: ByPath, inputs: readonly string[]): ByPath {
  return byPath(inputs, (input) => {
    const { shape } = inputAt(point, input);
    const columns = size(shape);
    const values = Array.from({ length: columns }, (_, column) =>
      sum(
        Object.entries(cotangents).map(([output, cotangent]) => {
          const derivative = derivativeAt(point, output, input).values;
          return sum(cotangent.values.map((weight, row) => weight * (derivative[row * columns + column] as number)));
        }),
      ),
    );
    return { shape, values };
  });
}

const sum = (terms: readonly number[]): number => terms.reduce((total, term) => total + term, 0);

export const byPath = <T>(paths: readonly string[], value: (path: string) => T): Record<string, T> =>
  Object.fromEntries(paths.map((path) => [path, value(path)]));

/** An answer's arrays in the form of the closed forms: -0 is 0 here, since a sum of zeros may be either. */
export const flat = (array: HostArray): Flat => ({
  shape: array.shape,
  values: Array.from(array.data as Float64Array, (value) => value + 0),
});

/** The whole answer of `apply`, with arrays as nested lists. */
export const appliedAt = (point: Point): unknown => {
  const lists = (path: string): unknown => toNestedList(arrayOf(outputAt(point, path)));
  return {
    y: lists("y"),
    stats: { norm2: lists("stats.norm2") },
    products: point.terms.map((_, index) => lists(`products.[${index}]`)),
    scaled: byPath(Object.keys(point.weights), (key) => lists(`scaled.{${key}}`)),
    rows: point.matrix.length,
  };
};
