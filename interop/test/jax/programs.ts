// The programs of golden/jax/programs.py in TypeScript: functions by name, and transformations of them by name.

import { numpy as np, tree } from "@jax-js/jax";
import { hostArray, type Tesseract } from "@tesseract-ts/core";
import {
  type ApplyOptions,
  applyTesseract,
  grad,
  jacfwd,
  jacrev,
  jaxArray,
  jit,
  jvp,
  linearize,
  stopGradient,
  valueAndGrad,
  vjp,
  vmap,
} from "@tesseract-ts/jax-bridge";

type Tree = np.Array | readonly Tree[] | { readonly [key: string]: Tree };
/** Of x and w, vectors of 3 elements. */
type TwoVectors = (x: np.Array, w: np.Array) => Tree;

export interface Tesseracts {
  readonly elementwise: Tesseract;
  readonly elementwise32: Tesseract;
  readonly vectors: Tesseract;
}

const sequential = { vmapMethod: "sequential" } as const;
const constant = new Float64Array([0.75, -1.25, 2]);

interface Outputs {
  readonly y: np.Array;
  readonly total: np.Array;
}

interface VectorsOutputs {
  readonly y: np.Array;
  readonly stats: { readonly norm2: np.Array };
  readonly products: readonly [np.Array, np.Array];
  readonly scaled: { readonly "a b": np.Array; readonly c: np.Array };
}

/** @param options of the calls */
export function programFunctions(
  tesseracts: Tesseracts,
  options: ApplyOptions = sequential,
): Readonly<Record<string, OneArray>> {
  const call = (inputs: Readonly<Record<string, unknown>>): Outputs =>
    applyTesseract(tesseracts.elementwise, inputs, options) as unknown as Outputs;
  const y = (x: np.Array, w: np.Array): np.Array => call({ x, w }).y;
  const vectors = (inputs: Readonly<Record<string, unknown>>): VectorsOutputs =>
    applyTesseract(tesseracts.vectors, { terms: [], weights: {}, ...inputs }, options) as unknown as VectorsOutputs;
  const outer = (a: np.Array, b: np.Array): np.Array => a.reshape([3, 1]).mul(b.reshape([1, 3]));
  const single32 = (x: np.Array, w: np.Array): np.Array =>
    (applyTesseract(tesseracts.elementwise32, { x, w }, options) as unknown as Outputs).y;
  const functions: Readonly<Record<string, TwoVectors>> = {
    single: (x, w) => y(x, w),
    chain: (x, w) => y(y(x, w.ref), w),
    chain_of_three: (x, w) => y(y(y(x.ref, w.ref).mul(0.5), w.ref).add(x), w),
    skip: (x, w) => y(y(x.ref, w.ref).add(x), w),
    diamond: (x, w) => y(y(x.ref, w.ref), y(w, x)),
    diamond_joined: (x, w) => y(x.ref.mul(w.ref), w.ref).add(y(x.add(w.ref), w)),
    shared: (x, w) => y(x.ref, x).mul(w),
    outputs: (x, w) => {
      const { y, total } = call({ x, w });
      return { y, total };
    },
    one_output: (x, w) => call({ x, w }).total,
    output_twice: (x, w) => {
      const out = y(x.ref, w.ref);
      return [out.ref.mul(w), out.add(x)];
    },
    static: (x, w) => call({ x, w, exponent: 3, mode: "cubic" }).y,
    stopped: (x, w) => y(x, stopGradient(w.ref)).mul(w),
    stopped_output: (x, w) => stopGradient(y(x.ref, w)).mul(x),
    unused: (x, w) => {
      y(x.ref, w.ref).dispose();
      return x.mul(w);
    },
    repeated: (x, w) => y(x.ref, w.ref).add(y(x, w)),
    untouched: (x, w) => ({ y: y(x.ref, w), x }),
    constant: (x, w) => call({ x, w: constant }).y.mul(w),
    mixed: (x, w) => {
      const { y, total } = call({ x: x.ref.mul(w.ref).add(1), w });
      return y.mul(x).add(total);
    },
    masked: (x, w) => call({ x, w, mask: constant }).y,
    nested: (x, w) => {
      const affine = { matrix: outer(x.ref, w.ref), shift: w.ref };
      const { y, stats, products } = vectors({ x: x.ref, affine, terms: [x.mul(w.ref), w] });
      return { y, norm: stats.norm2, products };
    },
    nested_part: (x, w) =>
      vectors({ x: x.ref, affine: { matrix: outer(x.ref, w.ref), shift: w.ref }, terms: [x, w] }).products[1],
    dictionary: (x, w) => {
      const affine = { matrix: outer(w.ref, w.ref), shift: w };
      const weights = { "a b": Float32Array.from(constant), c: Float32Array.from(constant, (each) => 2 * each) };
      const { scaled } = vectors({ x, affine, weights });
      return { one: scaled["a b"], other: scaled.c };
    },
    two_tesseracts: (x, w) => {
      const affine = { matrix: outer(x.ref, w.ref), shift: w.ref };
      return y(vectors({ x: y(x, w.ref), affine }).y, w);
    },
    float32: (x, w) => single32(single32(x.ref, w), x),
  };
  return functions as Readonly<Record<string, OneArray>>;
}

/** The Tesseracts that a function calls. */
export function tesseractsOf(functionName: string): readonly (keyof Tesseracts)[] {
  if (functionName === "float32") return ["elementwise32"];
  if (functionName === "two_tesseracts") return ["elementwise", "vectors"];
  return ["nested", "nested_part", "dictionary"].includes(functionName) ? ["vectors"] : ["elementwise"];
}

/** The sum of the squares of all elements. */
export const scalar =
  (f: OneArray) =>
  (x: np.Array, w: np.Array): np.Array => {
    const sums = tree.leaves<np.Array>(f(x, w)).map((leaf) => np.sum(np.square(leaf)));
    return sums.reduce((sum, each) => sum.add(each));
  };

const vector = { x: [0.5, 1.25, -0.75], w: [1.5, -0.5, 2], dx: [1, -2, 0.5], dw: [0.25, 0.5, -1] };
const batch = {
  xs: [
    [0.5, 1.25, -0.75],
    [1, -1.5, 0.25],
  ],
  ws: [
    [1.5, -0.5, 2],
    [0.5, 0.75, -1.25],
  ],
};

/** Makes the arrays of a program, which are its own. */
export interface Arrays {
  readonly x: np.Array;
  readonly w: np.Array;
  readonly dx: np.Array;
  readonly dw: np.Array;
  readonly xs: np.Array;
  readonly ws: np.Array;
}

export async function programArrays(dtype: "float32" | "float64"): Promise<Arrays> {
  const lists = Object.values({ ...vector, ...batch });
  const made = await Promise.all(lists.map((values) => jaxArray(hostArray(values, { dtype }))));
  return Object.fromEntries(
    Object.keys({ ...vector, ...batch }).map((name, index) => [name, made[index]]),
  ) as unknown as Arrays;
}

type Any = unknown;

/** A function as one that gives an array: TypeScript can't follow trees of any depth through transformations of transformations. */
type OneArray = (x: np.Array, w: np.Array) => np.Array;

/** A program that may be called several times: arrays go in by reference. */
export interface Program {
  (arrays: Arrays): Promise<Any>;
  /** Of those that are kept. */
  readonly dispose?: () => void;
}

/** Each makes a program of a function; what is compiled is compiled once. */
export const transformations: Readonly<Record<string, (f: OneArray) => Program>> = {
  // Outside any transformation a function is no program, so it is one by way of a vjp that isn't used.
  value:
    (f) =>
    async ({ x, w }) => {
      const [value, pull] = await vjp(f, [x.ref, w.ref]);
      pull.dispose();
      return value;
    },
  jit: (f) => twoArguments(jit(f)),
  grad: (f) => twoArguments(grad(scalar(f))),
  "jit grad": (f) => twoArguments(jit(grad(scalar(f)))),
  "grad jit": (f) => twoArguments(grad(jit(scalar(f)))),
  "grad by w": (f) => twoArguments(grad(scalar(f), { argnums: 1 })),
  "value and grad by both": (f) => twoArguments(jit(valueAndGrad(scalar(f), { argnums: [0, 1] }))),
  jvp:
    (f) =>
    async ({ x, w, dx, dw }) =>
      jvp(f, [x.ref, w.ref], [dx.ref, dw.ref]),
  "jvp by x": (f) => {
    const program = jit((x: np.Array, w: np.Array, dx: np.Array) => jvp((x: np.Array) => f(x, w), [x], [dx]));
    return keeping(program, async ({ x, w, dx }) => program(x.ref, w.ref, dx.ref));
  },
  vjp:
    (f) =>
    async ({ x, w }) => {
      const [value, pull] = await vjp(f, [x.ref, w.ref]);
      const halves = tree.map((leaf: np.Array) => np.full(leaf.shape, 0.5, { dtype: leaf.dtype }), value);
      tree.dispose(value);
      const cotangents = await pull(halves);
      pull.dispose();
      return cotangents;
    },
  linearize:
    (f) =>
    async ({ x, w, dx, dw }) => {
      const [value, push] = await linearize(f, [x.ref, w.ref]);
      tree.dispose(value);
      const pushed = [await push(dx.ref, dw.ref), await push(dw.ref, dx.ref)];
      push.dispose();
      return pushed;
    },
  jacrev: (f) => twoArguments(jacrev(f)),
  jacfwd: (f) => twoArguments(jacfwd(f)),
  "jit jacrev by both": (f) => twoArguments(jit(jacrev(f, { argnums: [0, 1] }))),
  vmap:
    (f) =>
    async ({ xs, ws }) =>
      vmap(f)(xs.ref, ws.ref),
  "vmap over x":
    (f) =>
    async ({ xs, w }) =>
      vmap(f, [0, null])(xs.ref, w.ref),
  "jit vmap": (f) => {
    const program = jit(vmap(f));
    return keeping(program, async ({ xs, ws }) => program(xs.ref, ws.ref));
  },
  "vmap grad":
    (f) =>
    async ({ xs, ws }) =>
      vmap(grad(scalar(f)))(xs.ref, ws.ref),
  "jit vmap grad": (f) => {
    const program = jit(vmap(grad(scalar(f)), [0, null]));
    return keeping(program, async ({ xs, w }) => program(xs.ref, w.ref));
  },
  "grad vmap": (f) => {
    const loss = (xs: np.Array, w: np.Array): np.Array => np.sum(vmap(scalar(f), [0, null])(xs, w));
    return async ({ xs, w }) => grad(loss, { argnums: 1 })(xs.ref, w.ref);
  },
  "vmap jvp":
    (f) =>
    async ({ xs, ws, w }) => {
      const changeOf = (x: np.Array, dx: np.Array): np.Array => {
        const [value, change] = jvp((x: np.Array) => f(x, w.ref), [x], [dx]);
        tree.dispose(value);
        return change;
      };
      return vmap(changeOf)(xs.ref, ws.ref);
    },
  "jvp vmap":
    (f) =>
    async ({ xs, ws }) => {
      const [value, change] = await jvp(vmap(f), [xs.ref, ws.ref], [ws.ref, xs.ref]);
      tree.dispose(value);
      return change;
    },
};

interface Kept {
  dispose(): void;
}

const keeping = (program: Kept, call: (arrays: Arrays) => Promise<Any>): Program =>
  Object.assign(call, { dispose: () => program.dispose() });

function twoArguments(
  program: ((x: np.Array, w: np.Array) => Any) | (((x: np.Array, w: np.Array) => Any) & Kept),
): Program {
  const call = async ({ x, w }: Arrays): Promise<Any> => program(x.ref, w.ref);
  return "dispose" in program ? keeping(program, call) : call;
}
