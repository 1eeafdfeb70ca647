/** Checks what an endpoint returned. */
import { type CudaArray, type HostArray, TesseractError } from "@tesseract-ts/core";
import type { SchemaShape } from "../schema/array.js";
import type { ObjectNode } from "../schema/node.js";
import type { ArrayPattern } from "../schema/paths.js";
import { type ArrayMode, isFault, takeArray } from "../validate/arrays.js";
import { isRecord } from "../validate/forms.js";
import { invalid, Validation, validate } from "../validate/validate.js";
import type { RequestIssue } from "./contract.js";
import { type ComputingRoute, modelPrefixes } from "./requests.js";
import type { Schemas } from "./schemas.js";

export type ResultArrays = Readonly<Record<string, HostArray | CudaArray>>;

/** What an endpoint was asked for, and how its arrays are taken. */
export interface ResultRequest {
  readonly route: ComputingRoute;
  readonly wrt: readonly string[];
  readonly of: readonly string[];
}

export type CheckedResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly RequestIssue[] };

export function checkResult(
  schemas: Schemas,
  request: ResultRequest,
  result: unknown,
  arrays: ArrayMode,
): CheckedResult {
  switch (request.route) {
    case "apply":
      return checkTree(schemas.outputs, result, arrays, modelPrefixes.apply);
    case "abstract_eval":
      return checkTree(schemas.abstractOutputs, result, arrays, modelPrefixes.abstract_eval);
    case "jacobian":
      return checkJacobian(schemas, request, result, arrays);
    case "jacobian_vector_product":
      return checkArrays(schemas.differentiableOutputs, request.of, result, arrays);
    case "vector_jacobian_product":
      return checkArrays(schemas.differentiableInputs, request.wrt, result, arrays);
  }
}

function checkTree(schema: ObjectNode, result: unknown, arrays: ArrayMode, prefix: string): CheckedResult {
  const run = new Validation(arrays, prefix);
  const value = validate(schema, result, undefined, run);
  return value === invalid ? { ok: false, issues: run.issues } : { ok: true, value };
}

/** Arrays by the paths of `paths`, each of the shape and dtype that the schema gives it. */
function checkArrays(
  patterns: readonly ArrayPattern[],
  paths: readonly string[],
  result: unknown,
  arrays: ArrayMode,
): CheckedResult {
  const fault = keysFault(result, paths, []);
  if (fault !== undefined) return { ok: false, issues: [fault] };
  const members = result as Readonly<Record<string, unknown>>;
  const checked: Record<string, HostArray | CudaArray> = {};
  const issues: RequestIssue[] = [];
  for (const path of paths) {
    const traits = patterns.find((pattern) => pattern.matches(path))?.traits;
    if (traits === undefined) continue;
    const array = takeArray(members[path], traits, arrays);
    if (isFault(array)) issues.push({ ...array, loc: [path] });
    else checked[path] = array;
  }
  return issues.length > 0 ? { ok: false, issues } : { ok: true, value: checked };
}

function checkJacobian(schemas: Schemas, request: ResultRequest, result: unknown, arrays: ArrayMode): CheckedResult {
  const { of, wrt } = request;
  const fault = keysFault(result, of, []);
  if (fault !== undefined) return { ok: false, issues: [fault] };
  const rows = result as Readonly<Record<string, unknown>>;
  const checked: Record<string, ResultArrays> = {};
  const issues: RequestIssue[] = [];
  for (const output of of) {
    const row = rows[output];
    const rowFault = keysFault(row, wrt, [output]);
    if (rowFault !== undefined) {
      issues.push(rowFault);
      continue;
    }
    const outputShape = shapeAt(schemas.differentiableOutputs, output);
    const arraysOfRow: Record<string, HostArray | CudaArray> = {};
    for (const input of wrt) {
      const shape = jacobianShape(outputShape, shapeAt(schemas.differentiableInputs, input));
      const member = (row as Readonly<Record<string, unknown>>)[input];
      const array = takeJacobian(member, shape, arrays);
      if (isFault(array)) issues.push({ ...array, loc: [output, input] });
      else arraysOfRow[input] = array;
    }
    checked[output] = arraysOfRow;
  }
  return issues.length > 0 ? { ok: false, issues } : { ok: true, value: checked };
}

/** Sizes from the start and from the end of a shape; what is in between may be of any rank. */
interface JacobianShape {
  readonly start: readonly (number | null)[];
  readonly between: boolean;
  readonly end: readonly (number | null)[];
}

function jacobianShape(output: SchemaShape, input: SchemaShape): JacobianShape {
  const between = output === "any rank" || input === "any rank";
  return { start: output === "any rank" ? [] : output, between, end: input === "any rank" ? [] : input };
}

function takeJacobian(
  value: unknown,
  { start, between, end }: JacobianShape,
  arrays: ArrayMode,
): ReturnType<typeof takeArray> {
  // The dtype is free: that of a GPU array need not be the schema's.
  const traits = { dtype: "any dtype", differentiable: false } as const;
  const found = takeArray(value, { ...traits, shape: "any rank" }, arrays);
  if (isFault(found)) return found;
  const actual = "cudaArrayInterface" in found ? found.cudaArrayInterface.shape : found.shape;
  const missing = Math.max(0, actual.length - start.length - end.length);
  const middle = between ? new Array<null>(missing).fill(null) : [];
  return takeArray(found, { ...traits, shape: [...start, ...middle, ...end] }, arrays);
}

const shapeAt = (patterns: readonly ArrayPattern[], path: string): SchemaShape =>
  patterns.find((pattern) => pattern.matches(path))?.traits.shape ?? "any rank";

function keysFault(result: unknown, wanted: readonly string[], loc: readonly string[]): RequestIssue | undefined {
  const msg = `An object with the paths ${wanted.map((path) => `"${path}"`).join(", ")} is wanted`;
  if (!isRecord(result)) return { type: "dict_type", loc, msg };
  const keys = Object.keys(result).filter((key) => result[key] !== undefined);
  if (keys.length === wanted.length && wanted.every((path) => Object.hasOwn(result, path))) return undefined;
  return { type: "value_error", loc, msg: `${msg}, and it has ${keys.map((key) => `"${key}"`).join(", ") || "none"}` };
}

/** Of a result that doesn't fit. */
export function invalidOutputs(what: string, issues: readonly RequestIssue[]): TesseractError {
  const list = issues.map(({ loc, msg }) => `\n  ${loc.length === 0 ? "the result" : loc.join(".")}: ${msg}`).join("");
  return new TesseractError("INVALID_OUTPUTS", `${what} returned what its schema doesn't allow:${list}`, {
    issues: issues.map(({ loc, type, msg, input, ctx }) => ({ path: loc, type, message: msg, input, context: ctx })),
  });
}
