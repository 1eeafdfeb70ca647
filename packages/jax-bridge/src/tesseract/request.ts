/** Carries out an operation of a program: one request, or one for each element of a batch. */
import type { HostArray, InputTree, RunOptions, Tesseract } from "@tesseract-ts/core";
import { type Aval, aval } from "../arrays/aval.js";
import { programError } from "../errors.js";
import { unflatten } from "../tree/tree.js";
import { type CallOperation, primalCount } from "./call-operation.js";
import { elementOf, hostOf, outputsOf, type Payload, received, stack } from "./payload.js";

/**
 * @param tesseract the operation's, with the encoding that is to be used
 * @returns an array for each of the operation's outputs
 */
export async function request(
  operation: CallOperation,
  tesseract: Tesseract,
  inputs: readonly Payload[],
  options: RunOptions,
): Promise<readonly Payload[]> {
  return requestBatch(operation, 0, tesseract, inputs, options);
}

/** @param depth how many of the loops are already decided */
async function requestBatch(
  operation: CallOperation,
  depth: number,
  tesseract: Tesseract,
  inputs: readonly Payload[],
  options: RunOptions,
): Promise<readonly Payload[]> {
  const loop = operation.loops[depth];
  if (loop === undefined) return requestOnce(operation, tesseract, inputs, options);
  const rows: HostArray[][] = [];
  // One after another: a Tesseract runs one call at a time, and others may be waiting for it.
  for (let index = 0; index < loop.size; index++) {
    const element = inputs.map((input, position) => (loop.mapped[position] ? elementOf(input, index) : input));
    const row = await requestBatch(operation, depth + 1, tesseract, element, options);
    rows.push(await Promise.all(row.map((array) => hostOf(array))));
  }
  return operation.outputAvals.map((each, position) =>
    stack(
      rows.flatMap((row) => row[position] ?? []),
      loop.size,
      withoutLoops(each, depth + 1),
    ),
  );
}

const withoutLoops = ({ shape, dtype }: Aval, loops: number): Aval => aval(shape.slice(loops), dtype);

async function requestOnce(
  operation: CallOperation,
  tesseract: Tesseract,
  inputs: readonly Payload[],
  options: RunOptions,
): Promise<readonly Payload[]> {
  const { kind, spec, wrt, of } = operation;
  const count = primalCount(operation);
  const tree = unflatten(spec.inputs, inputs.slice(0, count)) as InputTree;
  const inputPaths = wrt.map((position) => spec.inputSlots[position]?.path ?? "");
  const outputPaths = of.map((position) => spec.outputSlots[position]?.path ?? "");
  const avals = operation.outputAvals.map((each) => withoutLoops(each, operation.loops.length));
  const vector = (paths: readonly string[]): Readonly<Record<string, Payload | undefined>> =>
    Object.fromEntries(paths.map((path, index) => [path, inputs[count + index]]));
  const pick = (answer: Readonly<Record<string, unknown>>, paths: readonly string[]): readonly Payload[] =>
    paths.map((path, index) => received(answer[path], avals[index] ?? aval([], "float64"), path, spec));
  switch (kind) {
    case "apply":
      return outputsOf(await tesseract.apply(tree, options), spec, avals);
    case "jvp":
      return pick(
        await tesseract.jacobianVectorProduct(tree, inputPaths, outputPaths, vector(inputPaths), options),
        outputPaths,
      );
    case "vjp":
      return pick(
        await tesseract.vectorJacobianProduct(tree, inputPaths, outputPaths, vector(outputPaths), options),
        inputPaths,
      );
    case "jacobian": {
      const answer = await tesseract.jacobian(tree, inputPaths, outputPaths, options);
      return outputPaths.flatMap((output, row) =>
        inputPaths.map((input, column) =>
          received(
            answer[output]?.[input],
            avals[row * inputPaths.length + column] ?? aval([], "float64"),
            `${output} by ${input}`,
            spec,
          ),
        ),
      );
    }
  }
}

const endpoints = {
  apply: "apply",
  jvp: "jacobianVectorProduct",
  vjp: "vectorJacobianProduct",
  jacobian: "jacobian",
} as const;

/** @throws TesseractError ENDPOINT_NOT_FOUND while the program is built, before anything is computed in vain */
export function checkEndpoint({ kind, spec }: CallOperation): void {
  const endpoint = endpoints[kind];
  if (spec.tesseract.availableEndpoints.includes(endpoint)) return;
  throw programError(
    "ENDPOINT_NOT_FOUND",
    `A program needs the endpoint "${endpoint}" of ${spec.title}, which it doesn't have`,
    {
      hint: `It has ${spec.tesseract.availableEndpoints.join(", ")}. Keep the derivative out with stopGradient, or add the endpoint to it.`,
    },
  );
}
