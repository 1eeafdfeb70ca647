/** Checks the body of a request, route by route. */
import { type CudaArray, elementCount, type HostArray, TesseractError } from "@tesseract-ts/core";
import type { ArrayPattern } from "../schema/paths.js";
import { valueAt } from "../schema/paths.js";
import { isFault, takeArray } from "../validate/arrays.js";
import { type Fault, issueAt, type Place, valueError } from "../validate/issues.js";
import { listLengthFault } from "../validate/scalars.js";
import { extraForbidden, invalid, membersOf, missing, noObject, Validation, validate } from "../validate/validate.js";
import type { RequestIssue } from "./contract.js";
import type { Schemas } from "./schemas.js";

export type Inputs = Readonly<Record<string, unknown>>;
export type ArraysAt = Readonly<Record<string, HostArray | CudaArray>>;

/** A request that has been checked, in the form in which an endpoint gets it. */
export type CheckedRequest =
  | { readonly route: "apply" | "abstract_eval"; readonly inputs: Inputs }
  | {
      readonly route: "jacobian";
      readonly inputs: Inputs;
      readonly wrt: readonly string[];
      readonly of: readonly string[];
    }
  | {
      readonly route: "jacobian_vector_product" | "vector_jacobian_product";
      readonly inputs: Inputs;
      readonly wrt: readonly string[];
      readonly of: readonly string[];
      readonly vector: ArraysAt;
    };

export type ComputingRoute = CheckedRequest["route"];

/** What the members of a request are called. */
export const memberNames = {
  jacobian: { wrt: "jac_inputs", of: "jac_outputs", vector: undefined },
  jacobian_vector_product: { wrt: "jvp_inputs", of: "jvp_outputs", vector: "tangent_vector" },
  vector_jacobian_product: { wrt: "vjp_inputs", of: "vjp_outputs", vector: "cotangent_vector" },
} as const;

/** What the names of models begin with, by route. */
export const modelPrefixes: Readonly<Record<ComputingRoute, string>> = {
  apply: "Apply_",
  jacobian: "Jacobian_",
  jacobian_vector_product: "Jvp_",
  vector_jacobian_product: "Vjp_",
  abstract_eval: "AbstractEval_",
};

export type Checked =
  | { readonly ok: true; readonly request: CheckedRequest }
  | { readonly ok: false; readonly issues: readonly RequestIssue[] };

/** @param device what an endpoint gets for a GPU array */
export function checkRequest(
  schemas: Schemas,
  route: ComputingRoute,
  payload: unknown,
  device: (array: CudaArray) => CudaArray,
): Checked {
  const run = new Validation({ received: true, strict: false, device }, modelPrefixes[route]);
  const body = membersOf(payload);
  if (body === undefined) {
    const fault = payload === null || payload === undefined ? missing : noObject;
    return { ok: false, issues: [issueAt(undefined, fault, payload ?? null)] };
  }
  const request = new BodyReader(schemas, body, run).read(route);
  return request === undefined || run.issues.length > 0 ? { ok: false, issues: run.issues } : { ok: true, request };
}

/** Reads one body; `inputs` and the rest are checked in the order in which the reference reports them. */
class BodyReader {
  constructor(
    private readonly schemas: Schemas,
    private readonly body: Readonly<Record<string, unknown>>,
    private readonly run: Validation,
  ) {}

  read(route: ComputingRoute): CheckedRequest | undefined {
    const schema = route === "abstract_eval" ? this.schemas.abstractInputs : this.schemas.inputs;
    const inputs = this.member("inputs", (value, at) => validate(schema, value, at, this.run)) as
      | Inputs
      | typeof invalid;
    if (route === "apply" || route === "abstract_eval") {
      this.refuseOthers(["inputs"]);
      return inputs === invalid ? undefined : { route, inputs };
    }
    const names = memberNames[route];
    const known = inputs === invalid ? undefined : inputs;
    const { differentiableInputs, differentiableOutputs } = this.schemas;
    const wrt = this.paths(names.wrt, differentiableInputs, (path) => checkExists(known, path, names.wrt));
    const of = this.paths(names.of, differentiableOutputs, () => undefined);
    if (route === "jacobian") {
      this.refuseOthers(["inputs", names.wrt, names.of]);
      return known && wrt && of ? { route, inputs: known, wrt, of } : undefined;
    }
    const vectorName = memberNames[route].vector;
    const vector =
      route === "jacobian_vector_product"
        ? this.vector(vectorName, differentiableInputs, wrt, names.wrt, known, true)
        : this.vector(vectorName, differentiableOutputs, of, names.of, known, false);
    this.refuseOthers(["inputs", names.wrt, names.of, vectorName]);
    return known && wrt && of && vector ? { route, inputs: known, wrt, of, vector } : undefined;
  }

  private member<T>(name: string, read: (value: unknown, at: Place) => T): T | typeof invalid {
    const at: Place = { parent: undefined, key: name };
    const value = Object.hasOwn(this.body, name) ? this.body[name] : undefined;
    return value === undefined ? this.run.fault(at, missing, this.body) : read(value, at);
  }

  private refuseOthers(known: readonly string[]): void {
    for (const [key, value] of Object.entries(this.body)) {
      if (!known.includes(key) && value !== undefined)
        this.run.fault({ parent: undefined, key }, extraForbidden, value);
    }
  }

  /** A set of paths, at least one, each of a differentiable array. */
  private paths(
    name: string,
    patterns: readonly ArrayPattern[],
    check: (path: string) => Fault | undefined,
  ): readonly string[] | undefined {
    const paths = this.member(name, (value, at): readonly string[] | typeof invalid => {
      if (!Array.isArray(value))
        return this.run.fault(at, { type: "set_type", msg: "A list of paths is wanted" }, value);
      const before = this.run.issues.length;
      value.forEach((path: unknown, key) => {
        const here = { parent: at, key };
        if (!this.checkPath(path, patterns, here)) return;
        const fault = check(path);
        if (fault !== undefined) this.run.fault(here, fault, path);
      });
      if (this.run.issues.length > before) return invalid;
      const set = [...new Set(value as readonly string[])];
      const fault = listLengthFault(set.length, { minLength: 1 }, "Set");
      return fault === undefined ? set : this.run.fault(at, fault, value);
    });
    return paths === invalid ? undefined : (paths as readonly string[]);
  }

  /** Whether the path is one of the patterns'; if not, there is an issue for each, as the reference has it. */
  private checkPath(path: unknown, patterns: readonly ArrayPattern[], at: Place): path is string {
    if (typeof path === "string" && patterns.some((pattern) => pattern.matches(path))) return true;
    for (const { isLiteral, text } of patterns) {
      const label = isLiteral ? `literal['${text}']` : "constrained-str";
      const place = patterns.length === 1 ? at : { parent: at, key: label };
      if (isLiteral) {
        this.run.fault(
          place,
          { type: "literal_error", msg: `It isn't the path '${text}'`, ctx: { expected: `'${text}'` } },
          path,
        );
      } else if (typeof path === "string") {
        const fault = {
          type: "string_pattern_mismatch",
          msg: `It is no path of the form ${text}`,
          ctx: { pattern: text },
        };
        this.run.fault(place, fault, path);
      } else {
        this.run.fault(place, { type: "string_type", msg: "A text is wanted" }, path);
      }
    }
    return false;
  }

  /** Tangents or cotangents: an array for each of the paths, and for no others. */
  private vector(
    name: string,
    patterns: readonly ArrayPattern[],
    paths: readonly string[] | undefined,
    pathsName: string,
    inputs: Inputs | undefined,
    ofInputs: boolean,
  ): ArraysAt | undefined {
    const { run } = this;
    const result = this.member(name, (value, at): ArraysAt | typeof invalid => {
      const members = membersOf(value);
      if (members === undefined) return run.fault(at, { type: "dict_type", msg: "An object is wanted" }, value);
      const before = run.issues.length;
      const arrays: Record<string, HostArray | CudaArray> = {};
      for (const [path, member] of Object.entries(members)) {
        const here = { parent: at, key: path };
        this.checkPath(path, patterns, { parent: here, key: "[key]" });
        const array = takeArray(member, { dtype: "any dtype", shape: "any rank", differentiable: false }, run.arrays);
        if (isFault(array)) run.fault(here, array, member);
        else arrays[path] = array;
      }
      if (run.issues.length > before) return invalid;
      const refuse = (reason: string): typeof invalid => run.fault(at, valueError(reason), value);
      if (paths === undefined) return refuse(`It can't be checked, since ${pathsName} is missing or invalid`);
      const given = Object.keys(arrays);
      if (given.length !== paths.length || !paths.every((path) => Object.hasOwn(arrays, path))) {
        return refuse(`It has the paths ${list(given)}, and those of ${pathsName} are wanted: ${list(paths)}`);
      }
      if (ofInputs && inputs === undefined) return refuse("It can't be checked, since inputs is missing or invalid");
      for (const [path, array] of Object.entries(arrays)) {
        const traits = patterns.find((pattern) => pattern.matches(path))?.traits;
        if (traits === undefined) throw new TesseractError("INVALID_ARGUMENT", `No array has the path "${path}"`);
        const shape = ofInputs ? shapeAt(inputs, path) : traits.shape;
        if (shape === undefined) return refuse(`The inputs have no array at "${path}"`);
        const fitted = takeArray(array, { ...traits, shape }, { received: false, strict: false });
        if (isFault(fitted)) return refuse(`"${path}": ${fitted.msg}`);
        arrays[path] = fitted;
      }
      return arrays;
    });
    return result === invalid ? undefined : (result as ArraysAt);
  }
}

const list = (paths: readonly string[]): string =>
  paths.length === 0 ? "none" : paths.map((path) => `"${path}"`).join(", ");

/** Paths with indices and keys are looked up; one of fields only exists by the schema. */
function checkExists(inputs: Inputs | undefined, path: string, member: string): Fault | undefined {
  if (!/[[{]/.test(path)) return undefined;
  return valueAt(inputs, path) === undefined
    ? valueError(`The path "${path}" of ${member} is nowhere in the inputs`)
    : undefined;
}

function shapeAt(inputs: Inputs | undefined, path: string): readonly number[] | undefined {
  const value = valueAt(inputs, path);
  if (value === undefined || value === null) return undefined;
  if (typeof value === "object" && "cudaArrayInterface" in value) return (value as CudaArray).cudaArrayInterface.shape;
  if (typeof value === "object" && "shape" in value) return value.shape as readonly number[];
  return [];
}

/** How many elements an array has, wherever it lives. */
export const sizeOf = (array: HostArray | CudaArray): number =>
  elementCount("cudaArrayInterface" in array ? array.cudaArrayInterface.shape : array.shape);
