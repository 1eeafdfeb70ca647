/** All derivatives of a function. */
import { type Aval, avalText, isFloating } from "../arrays/aval.js";
import { programError } from "../errors.js";
import { type JaxArray, jax } from "../jax.js";
import type { Graph, Value } from "../program/ir.js";
import { type Program, transformed } from "../program/program.js";
import type { Signature } from "../program/traced-function.js";
import { Extension } from "../transform/extension.js";
import { jvpGraph } from "../transform/jvp.js";
import { vjpGraph } from "../transform/vjp.js";
import { only, vmapGraph } from "../transform/vmap.js";
import { leafCount, type Structure } from "../tree/tree.js";
import { auxOf, checkFloating, type GradientOf, type GradOptions, itemsOf, structureFor } from "./grad.js";
import { argumentRanges, callable, runProgramOptions } from "./program-call.js";
import { type ProgramSource, sourceOf } from "./source.js";
import type { ArgumentsOf, ProgramCall, ProgramFunction, ResultOf } from "./types.js";

/** For each array of the result, the tree of its derivatives: of the result's shape, then the argument's. */
export type JacobianOf<F extends ProgramFunction, I, R = ResultOf<F>> = R extends JaxArray
  ? GradientOf<F, I>
  : { [K in keyof R]: JacobianOf<F, I, R[K]> };

type JacobianFunction = <F extends ProgramFunction, const I extends number | readonly number[] | undefined = undefined>(
  f: F,
  options?: GradOptions<I, boolean>,
) => ProgramCall<ArgumentsOf<F>, JacobianOf<F, I>>;

/**
 * A function's Jacobian by forward mode: one batch of tangents, a tangent for each element of the arguments. A Tesseract
 * with the endpoint `jacobian` is asked for its own once; see `materializeJacobian`.
 *
 * @example
 * const J = await jacfwd(f)(x); // of the shape of f(x), then of x
 */
export const jacfwd: JacobianFunction = (f, options = {}) => jacobianFunction(f, options, "forward") as never;

/** A function's Jacobian by reverse mode: one batch of cotangents, a cotangent for each element of the results. */
export const jacrev: JacobianFunction = (f, options = {}) => jacobianFunction(f, options, "reverse") as never;

/**
 * The second derivatives of a function: `jacfwd(jacrev(f))`.
 *
 * @throws TesseractError SECOND_DERIVATIVE where the result of a Tesseract that depends on the argument is in the way
 */
export const hessian: JacobianFunction = (f, options = {}) =>
  jacfwd(jacrev(f, options) as ProgramFunction, options) as never;

function jacobianFunction(
  f: ProgramFunction,
  { argnums, hasAux = false, ...running }: GradOptions<number | readonly number[] | undefined, boolean>,
  mode: "forward" | "reverse",
): unknown {
  const inner = sourceOf(f);
  const name = `${mode === "forward" ? "jacfwd" : "jacrev"}(${inner.name})`;
  const source: ProgramSource = {
    name,
    build: (signature, options) =>
      jacobianProgram(inner.build(signature, options), name, signature, argnums ?? 0, hasAux, mode),
  };
  return callable(source, runProgramOptions(running));
}

function jacobianProgram(
  program: Program,
  name: string,
  signature: Signature,
  argnums: number | readonly number[],
  hasAux: boolean,
  mode: "forward" | "reverse",
): Program {
  const { graph, inputStructure, outputStructure } = program;
  const [valueStructure, auxStructure] = hasAux ? auxOf(outputStructure) : [outputStructure, undefined];
  const items = itemsOf(inputStructure);
  const chosen = typeof argnums === "number" ? [argnums] : argnums;
  const wrt = checkFloating(argumentRanges(signature, items.map(leafCount), chosen).flat(), signature, name);
  const of = Array.from({ length: leafCount(valueStructure) }, (_, position) => position);
  for (const position of of) {
    const output = graph.outputs[position];
    if (output !== undefined && !isFloating(output.aval)) {
      throw programError("INVALID_ARGUMENT", `${name} differentiates a result of ${avalText(output.aval)}`);
    }
  }
  const inputAvals = wrt.flatMap((position) => graph.inputs[position]?.aval ?? []);
  const outputAvals = of.flatMap((position) => graph.outputs[position]?.aval ?? []);
  const [varying, fixed] = mode === "forward" ? [inputAvals, outputAvals] : [outputAvals, inputAvals];
  const derived = mode === "forward" ? jvpGraph(graph, wrt) : vjpGraph(graph, wrt, of);
  const total = varying.reduce((sum, { shape }) => sum + elements(shape), 0);
  const vectors = derived.outputs.slice(graph.outputs.length, graph.outputs.length + fixed.length);
  const { graph: batch, basis } = withBasis({ ...derived, outputs: vectors }, graph.inputs.length, varying, total);
  const extension = new Extension({ ...batch, nodes: [] });
  extension.nodes.push(...basis, ...batch.nodes);
  const blocks = varying.map((along, index) => {
    const first = varying.slice(0, index).reduce((sum, { shape }) => sum + elements(shape), 0);
    return fixed.map((across, position) => {
      const rows = batch.outputs[position] as Value;
      return extension.computeOne(
        "block",
        ([array]) => only(array, (each) => block(each, first, along, across, mode)),
        [rows],
      );
    });
  });
  const ordered = of.flatMap((_, output) =>
    wrt.map((__, input) => (mode === "forward" ? blocks[input]?.[output] : blocks[output]?.[input]) as Value),
  );
  const perOutput = structureFor(items, argnums, chosen);
  const jacobianStructure = replaceLeaves(valueStructure, perOutput);
  const aux = auxStructure === undefined ? [] : graph.outputs.slice(of.length);
  const result = extension.graph(graph.inputs, [...ordered, ...aux]);
  // What aux is made of isn't in the batch.
  const missing = auxStructure === undefined ? [] : graph.nodes.filter((node) => !result.nodes.includes(node));
  return transformed(
    program,
    name,
    { ...result, nodes: [...missing, ...result.nodes] },
    inputStructure,
    auxStructure === undefined ? jacobianStructure : { kind: "list", items: [jacobianStructure, auxStructure] },
  );
}

/** The graph with its last inputs made of the unit vectors of all of them together, one for each element of a batch. */
function withBasis(
  graph: Graph,
  count: number,
  varying: readonly Aval[],
  total: number,
): { graph: Graph; basis: Graph["nodes"] } {
  const axes = graph.inputs.map((_, position) => (position < count ? null : 0));
  const batch = vmapGraph(graph, axes, total);
  const extension = new Extension({ ...batch, nodes: [] });
  const units = varying.map((each, index) => {
    const before = varying.slice(0, index).reduce((sum, { shape }) => sum + elements(shape), 0);
    return extension.computeOne("unit vectors", () => [unitVectors(each, before, total)], []);
  });
  const replaced = new Map(batch.inputs.slice(count).map((input, index) => [input, units[index] as Value]));
  const nodes = batch.nodes.map((node) => ({
    ...node,
    inputs: node.inputs.map((input) => replaced.get(input) ?? input),
  }));
  const outputs = batch.outputs.map((output) => replaced.get(output) ?? output);
  return { graph: { ...batch, inputs: batch.inputs.slice(0, count), nodes, outputs }, basis: extension.nodes };
}

const elements = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);

/** Of the shape [total, ...shape]: row `before + k` is 1 at element k. */
function unitVectors({ shape, dtype }: Aval, before: number, total: number): JaxArray {
  const { numpy: np } = jax();
  const count = elements(shape);
  const options = { dtype: dtype as never };
  const parts = [
    np.zeros([before, count], options),
    np.eye(count, count, options),
    np.zeros([total - before - count, count], options),
  ];
  const used = parts.filter((part) => part.size > 0 || part.shape[0] !== 0);
  for (const part of parts) if (!used.includes(part)) part.dispose();
  const rows = used.length === 1 ? (used[0] as JaxArray) : np.concatenate(used, 0);
  return rows.reshape([total, ...shape]);
}

/** Of rows [total, ...across], those that belong to one array, as derivatives of the result's shape, then the argument's. */
function block(rows: JaxArray, first: number, along: Aval, across: Aval, mode: "forward" | "reverse"): JaxArray {
  const { numpy: np } = jax();
  const count = elements(along.shape);
  const own = rows.slice([first, first + count], ...across.shape.map((): [] => []));
  if (mode === "reverse") return own.reshape([...along.shape, ...across.shape]);
  return np.moveaxis(own, 0, -1).reshape([...across.shape, ...along.shape]);
}

function replaceLeaves(structure: Structure, by: Structure): Structure {
  switch (structure.kind) {
    case "leaf":
      return by;
    case "static":
      return structure;
    default:
      return { ...structure, items: structure.items.map((item) => replaceLeaves(item, by)) };
  }
}
