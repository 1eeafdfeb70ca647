/** The endpoint `test`: calls another endpoint and compares what comes out with what is expected. */
import type { ObjectNode, SchemaNode } from "../schema/node.js";
import { valueError } from "../validate/issues.js";
import { invalid, Validation, validate } from "../validate/validate.js";
import { compareTrees } from "./compare.js";
import type { RequestIssue, RunnerAnswer, RunnerCall, RunnerRoute } from "./contract.js";
import { type ComputingRoute, memberNames } from "./requests.js";
import { checkResult } from "./results.js";
import type { Schemas } from "./schemas.js";

interface Spec {
  readonly endpoint: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly expected_outputs?: Readonly<Record<string, unknown>> | null;
  readonly expected_exception?: string | null;
  readonly expected_exception_regex?: string | null;
  readonly atol: number;
  readonly rtol: number;
}

const text: SchemaNode = { kind: "string" };
const dict: SchemaNode = { kind: "record", key: text, value: { kind: "any" } };
const orNull = (inner: SchemaNode): SchemaNode => ({ kind: "nullable", inner });

const specSchema: ObjectNode = {
  kind: "object",
  name: "TestSpec",
  extra: "allow",
  fields: [
    { name: "endpoint", node: text, optional: false },
    { name: "payload", node: dict, optional: false },
    { name: "expected_outputs", node: orNull(dict), optional: true },
    { name: "expected_exception", node: orNull(text), optional: true },
    { name: "expected_exception_regex", node: orNull(text), optional: true },
    { name: "atol", node: { kind: "number" }, optional: false, fallback: { value: () => 1e-8, validated: false } },
    { name: "rtol", node: { kind: "number" }, optional: false, fallback: { value: () => 1e-5, validated: false } },
  ],
};

type Run = (call: Pick<RunnerCall, "route" | "payload">) => Promise<RunnerAnswer>;

export async function runTest(
  schemas: Schemas,
  routes: readonly RunnerRoute[],
  payload: unknown,
  run: Run,
): Promise<RunnerAnswer> {
  const validation = new Validation({ received: true, strict: false }, "");
  const checked = validate(specSchema, payload, undefined, validation);
  if (checked === invalid) return { kind: "refused", issues: validation.issues };
  const spec = checked as Spec;
  const hasOutputs = spec.expected_outputs !== undefined && spec.expected_outputs !== null;
  const expectsError = spec.expected_exception !== undefined && spec.expected_exception !== null;
  if (hasOutputs === expectsError) {
    const reason = "Give exactly one of expected_outputs and expected_exception";
    return { kind: "refused", issues: [{ ...valueError(reason), loc: [], input: payload }] };
  }
  const outcome = await testOutcome(schemas, routes, spec, run);
  return { kind: "answered", outputs: { ...outcome, endpoint: spec.endpoint } };
}

interface Outcome {
  readonly status: "passed" | "failed" | "error";
  readonly message: string;
}

const passed: Outcome = { status: "passed", message: "" };
const failed = (message: string): Outcome => ({ status: "failed", message });

async function testOutcome(schemas: Schemas, routes: readonly RunnerRoute[], spec: Spec, run: Run): Promise<Outcome> {
  const testable = routes.filter((route): route is ComputingRoute => route !== "test");
  const route = testable.find((candidate) => candidate === spec.endpoint);
  if (route === undefined) {
    return failed(`There is no endpoint "${spec.endpoint}"; there are ${testable.join(", ")}`);
  }
  const expectation = spec.expected_exception ?? undefined;
  let expected: unknown;
  if (expectation === undefined) {
    const names = route === "apply" || route === "abstract_eval" ? undefined : memberNames[route];
    const paths = (name: string | undefined): string[] => {
      const list = name === undefined ? [] : spec.payload[name];
      return Array.isArray(list) ? list.filter((path): path is string => typeof path === "string") : [];
    };
    const request = { route, wrt: paths(names?.wrt), of: paths(names?.of) };
    const checked = checkResult(schemas, request, spec.expected_outputs, { received: true, strict: true });
    if (!checked.ok) return failed(`expected_outputs doesn't fit the schema:${listed(checked.issues)}`);
    expected = checked.value;
  }
  let answer: RunnerAnswer;
  try {
    answer = await run({ route, payload: spec.payload });
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    const [names, message] = [namesOf(cause), cause instanceof Error ? cause.message : String(cause)];
    if (expectation === undefined) return { status: "error", message: `${names[0]}: ${message}` };
    return judge(expectation, names, message, spec);
  }
  if (answer.kind === "refused") {
    const message = listed(answer.issues);
    if (expectation === undefined) return failed(`The inputs don't fit the schema:${message}`);
    // What the reference raises for a request that it refuses.
    return judge(expectation, ["pydantic.ValidationError", "ValidationError", "ValueError"], message, spec);
  }
  if (expectation !== undefined) return failed(`${expectation} was expected, and nothing was thrown`);
  const schema = route === "apply" ? schemas.outputs : undefined;
  const differences = compareTrees(answer.outputs, expected, schema, spec);
  return differences.length === 0 ? passed : failed(differences.join("\n\n"));
}

function judge(expected: string, names: readonly string[], message: string, spec: Spec): Outcome {
  if (expected !== "Exception" && !names.includes(expected)) {
    return failed(`${expected} was expected, and ${names[0]} was thrown: ${message}`);
  }
  const pattern = spec.expected_exception_regex ?? undefined;
  if (pattern === undefined || new RegExp(pattern).test(message)) return passed;
  return failed(`The message doesn't match ${pattern}: ${message}`);
}

/** The names of a thrown value's classes, most special first. */
function namesOf(error: unknown): string[] {
  const names = error instanceof Error ? [error.name] : [];
  for (let at: unknown = error; isObject(at); at = Object.getPrototypeOf(at)) {
    const name = (at.constructor as { readonly name?: unknown } | undefined)?.name;
    if (typeof name === "string" && name !== "Object" && !names.includes(name)) names.push(name);
  }
  return names.length === 0 ? [typeof error] : names;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const listed = (issues: readonly RequestIssue[]): string =>
  issues.map(({ loc, msg }) => `\n  ${loc.join(".")}: ${msg}`).join("");
