/** Derivatives of a call of a Tesseract: other calls of it. */
import { type Aval, aval, isFloating, sameShape } from "../arrays/aval.js";
import { programError, secondDerivative } from "../errors.js";
import { jax } from "../jax.js";
import type { CallNode, Value } from "../program/ir.js";
import { type CallOperation, type Loop, primalCount } from "../tesseract/call-operation.js";
import type { Extension } from "./extension.js";

/** The positions of a node's inputs that it has a derivative by through the endpoints. */
export function checkDifferentiable({ operation }: CallNode, active: readonly number[]): void {
  const { spec, kind } = operation;
  if (kind !== "apply") {
    if (active.some((position) => position < primalCount(operation))) throw secondDerivative(spec.title);
    return;
  }
  const wrong = active.find((position) => spec.inputSlots[position]?.differentiable !== true);
  if (wrong === undefined) return;
  const path = spec.inputSlots[wrong]?.path ?? "";
  throw programError(
    "NOT_DIFFERENTIABLE",
    `A derivative by the input "${path}" of ${spec.title}, which isn't differentiable`,
    {
      hint:
        `If it should be, mark it as Differentiable in the Tesseract's input schema. Otherwise leave it out of what is ` +
        `differentiated (argnums, or a variable outside the function), or pass stopGradient(${path.split(".").at(-1)}).`,
    },
  );
}

/**
 * The tangents of a call's outputs; undefined where they are zero.
 *
 * @param tangents of the node's inputs; undefined where they are zero
 */
export function pushCall(
  extension: Extension,
  node: CallNode,
  tangents: readonly (Value | undefined)[],
): readonly (Value | undefined)[] {
  const { operation } = node;
  const active = tangents.flatMap((tangent, position) => (tangent === undefined ? [] : [position]));
  if (active.length === 0) return node.outputs.map(() => undefined);
  checkDifferentiable(node, active);
  const count = primalCount(operation);
  const primals = node.inputs.slice(0, count);
  const vectors = active.flatMap((position) => tangents[position] ?? []);
  const loopsFor = (inputs: readonly number[]): readonly Loop[] =>
    operation.loops.map(({ size, mapped }) => ({
      size,
      mapped: [...mapped.slice(0, count), ...inputs.map((position) => mapped[position] === true)],
    }));
  const inputs = [...primals, ...vectors];
  if (operation.kind === "apply") {
    const { outputSlots } = operation.spec;
    const of = outputSlots.flatMap(({ differentiable, aval: each }, index) =>
      differentiable && isFloating(each) ? [index] : [],
    );
    const results = extension.call(
      {
        ...operation,
        kind: "jvp",
        wrt: active,
        of,
        loops: loopsFor(active),
        outputAvals: of.flatMap((index) => operation.outputAvals[index] ?? []),
      },
      inputs,
      of.map((index) => `tangent of ${outputSlots[index]?.path}`),
    );
    return node.outputs.map((output, index) => {
      const position = of.indexOf(index);
      if (position >= 0) return results[position];
      // Whoever uses it finds out.
      return isFloating(output.aval) ? notANumber(extension, output.aval) : undefined;
    });
  }
  // A product is linear in its vectors: its tangent is the same product of their tangents.
  const positions = active.map((position) => position - count);
  const own = operation.kind === "jvp" ? operation.wrt : operation.of;
  const chosen = positions.flatMap((position) => own[position] ?? []);
  const change = operation.kind === "jvp" ? { wrt: chosen } : { of: chosen };
  return extension.call(
    { ...operation, ...change, loops: loopsFor(active) },
    inputs,
    node.outputs.map(({ hint }) => `tangent of ${hint}`),
  );
}

function notANumber(extension: Extension, { shape, dtype }: Aval): Value {
  return extension.computeOne("not differentiable", () => {
    const { numpy: np } = jax();
    return [np.full([...shape], Number.NaN, { dtype: dtype as never })];
  }, []);
}

/**
 * The cotangents of a call's inputs; undefined where they are zero or not wanted.
 *
 * @param cotangents of the node's outputs; undefined where they are zero
 * @param wanted whether an input's cotangent is
 */
export function pullCall(
  extension: Extension,
  node: CallNode,
  cotangents: readonly (Value | undefined)[],
  wanted: readonly boolean[],
): readonly (Value | undefined)[] {
  const { operation } = node;
  const { spec } = operation;
  const active = wanted.flatMap((each, position) => (each ? [position] : []));
  const given = cotangents.flatMap((cotangent, position) => (cotangent === undefined ? [] : [position]));
  if (active.length === 0 || given.length === 0) return node.inputs.map(() => undefined);
  checkDifferentiable(node, active);
  const count = primalCount(operation);
  const primals = node.inputs.slice(0, count);
  const vectors = given.flatMap((position) => cotangents[position] ?? []);
  // A vector has the dimensions of all loops, as the outputs that it belongs to.
  const loops = operation.loops.map(({ size, mapped }) => ({
    size,
    mapped: [...mapped.slice(0, count), ...vectors.map(() => true)],
  }));
  const sizes = loops.map(({ size }) => size);
  const outputAvals = active.map((position) => {
    const { shape, dtype } = node.inputs[position]?.aval ?? aval([], "float64");
    const own = operation.loops.filter(({ mapped }) => mapped[position]).length;
    return aval([...sizes, ...shape.slice(own)], dtype);
  });
  const transposed = ((): CallOperation => {
    switch (operation.kind) {
      case "apply":
        checkOutputs(operation, given);
        return { ...operation, kind: "vjp", wrt: active, of: given, loops, outputAvals };
      case "jvp":
        return {
          ...operation,
          kind: "vjp",
          wrt: active.flatMap((position) => operation.wrt[position - count] ?? []),
          of: given.flatMap((position) => operation.of[position] ?? []),
          loops,
          outputAvals,
        };
      case "vjp":
        return {
          ...operation,
          kind: "jvp",
          wrt: given.flatMap((position) => operation.wrt[position] ?? []),
          of: active.flatMap((position) => operation.of[position - count] ?? []),
          loops,
          outputAvals,
        };
      case "jacobian":
        throw secondDerivative(spec.title);
    }
  })();
  const results = extension.call(
    transposed,
    [...primals, ...vectors],
    active.map((position) => `cotangent of ${spec.inputSlots[position]?.path ?? node.inputs[position]?.hint}`),
  );
  return node.inputs.map((input, position) => {
    const result = results[active.indexOf(position)];
    return result === undefined ? undefined : summedOver(extension, result, operation.loops, position, input.aval);
  });
}

/** An input that all elements of a batch share gets the sum of what comes back for it. */
function summedOver(
  extension: Extension,
  result: Value,
  loops: readonly Loop[],
  position: number,
  expected: Aval,
): Value {
  if (sameShape(result.aval.shape, expected.shape)) return result;
  const axes = loops.flatMap(({ mapped }, axis) => (mapped[position] ? [] : [axis]));
  return extension.computeOne(
    "sum over the batch",
    ([array]) => (array === undefined ? [] : [jax().numpy.sum(array, axes)]),
    [result],
  );
}

function checkOutputs({ spec }: CallOperation, given: readonly number[]): void {
  const wrong = given.find((position) => spec.outputSlots[position]?.differentiable !== true);
  if (wrong === undefined) return;
  const path = spec.outputSlots[wrong]?.path ?? "";
  throw programError(
    "NOT_DIFFERENTIABLE",
    `A derivative of the output "${path}" of ${spec.title}, which isn't differentiable`,
    {
      hint:
        "If it should be, mark it as Differentiable in the Tesseract's output schema. Otherwise keep it out of what is " +
        "differentiated: leave it out of the result, return it beside with hasAux, or wrap it in stopGradient.",
    },
  );
}
