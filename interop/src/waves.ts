// A Tesseract in TypeScript for JAX: arrays of any rank, batches of them, and derivatives in closed form.
//
//     y = a² b + sin(a b), element by element; axes of size 1 are repeated, as NumPy does

import { elementCount, type HostArray, makeHostArray } from "@tesseract-ts/core";
import { array, defineTesseract, differentiable } from "@tesseract-ts/inprocess";
import { z } from "zod";

const anyRank = () => differentiable(array("float64", "any rank"));

type Array64 = HostArray<"float64">;

const of = (shape: readonly number[], data: Float64Array): Array64 => makeHostArray("float64", shape, data) as Array64;

/** As NumPy does it: axes are counted from the last. */
function broadcastShape(...shapes: readonly (readonly number[])[]): number[] {
  const rank = Math.max(...shapes.map(({ length }) => length));
  return Array.from({ length: rank }, (_, axis) =>
    Math.max(...shapes.map((shape) => shape[axis - rank + shape.length] ?? 1)),
  );
}

/** For each element of `shape`, which element of an array that is repeated to it. */
function indices({ shape: own }: Array64, shape: readonly number[]): Int32Array {
  return Int32Array.from({ length: elementCount(shape) }, (_, flat) => {
    let rest = flat;
    let index = 0;
    let stride = 1;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const size = shape[axis] as number;
      const ownSize = own[axis - shape.length + own.length] ?? 1;
      if (ownSize > 1) index += (rest % size) * stride;
      stride *= ownSize;
      rest = Math.floor(rest / size);
    }
    return index;
  });
}

type Operand = "a" | "b";

interface Inputs {
  readonly a: Array64;
  readonly b: Array64;
}

/** Maps the elements of `a`, `b` and one more array, repeated to one shape. */
function map({ a, b }: Inputs, more: Array64, each: (a: number, b: number, more: number) => number): Array64 {
  const shape = broadcastShape(a.shape, b.shape, more.shape);
  const [atA, atB, atMore] = [indices(a, shape), indices(b, shape), indices(more, shape)];
  const data = Float64Array.from(atA, (at, flat) =>
    each(a.data[at] as number, b.data[atB[flat] as number] as number, more.data[atMore[flat] as number] as number),
  );
  return of(shape, data);
}

const partial: Record<Operand, (a: number, b: number) => number> = {
  a: (a, b) => 2 * a * b + b * Math.cos(a * b),
  b: (a, b) => a * a + a * Math.cos(a * b),
};

const one = ({ a }: Inputs): Array64 =>
  of(
    a.shape.map(() => 1),
    Float64Array.of(1),
  );

/** What was repeated is summed. */
function summedTo(array: Array64, like: Array64): Array64 {
  const data = new Float64Array(elementCount(like.shape));
  indices(like, array.shape).forEach((at, flat) => {
    data[at] = (data[at] as number) + (array.data[flat] as number);
  });
  return of(like.shape, data);
}

export default defineTesseract({
  name: "waves",
  inputs: z.object({ a: anyRank(), b: anyRank() }),
  outputs: z.object({ y: anyRank() }),
  apply: (inputs) => ({ y: map(inputs, one(inputs), (a, b) => a * a * b + Math.sin(a * b)) }),
  abstractEval: ({ a, b }) => ({ y: { shape: broadcastShape(a.shape, b.shape), dtype: "float64" } }),
  jacobian({ inputs, jacInputs }) {
    const shape = broadcastShape(inputs.a.shape, inputs.b.shape);
    const count = elementCount(shape);
    const byInput = Object.fromEntries(
      jacInputs.map((path) => {
        const slopes = map(inputs, one(inputs), partial[path]);
        const like = inputs[path];
        const columns = elementCount(like.shape);
        const data = new Float64Array(count * columns);
        indices(like, shape).forEach((at, flat) => {
          data[flat * columns + at] = slopes.data[flat] as number;
        });
        return [path, of([...shape, ...like.shape], data)];
      }),
    );
    return { y: byInput };
  },
  jacobianVectorProduct({ inputs, jvpInputs, tangents }) {
    const terms = jvpInputs.map((path) =>
      map(inputs, tangents[path] as Array64, (a, b, tangent) => partial[path](a, b) * tangent),
    );
    const [first] = terms as [Array64];
    return {
      y: of(
        first.shape,
        first.data.map((_, at) => terms.reduce((sum, term) => sum + (term.data[at] as number), 0)),
      ),
    };
  },
  vectorJacobianProduct: ({ inputs, vjpInputs, cotangents }) =>
    Object.fromEntries(
      vjpInputs.map((path) => [
        path,
        summedTo(
          map(inputs, cotangents.y, (a, b, cotangent) => partial[path](a, b) * cotangent),
          inputs[path],
        ),
      ]),
    ),
});
