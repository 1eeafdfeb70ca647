/** `tesseract-ts check`: are a Tesseract's derivatives right? */
import type { Tesseract } from "@tesseract-ts/core";
import {
  checkDerivatives,
  type EndpointCheck,
  type Entry,
  type GradientEndpoint,
  gradientEndpoints,
} from "../check/differences.js";
import { command } from "../command.js";
import { EXIT, UsageError } from "../failure.js";
import { decoded, readJson, requestOf, type Tree, withArrays } from "../request.js";
import { exampleInputs } from "../schema/example-inputs.js";
import { differentiableTemplates, placesOfAll } from "../schema/paths.js";
import { applySchemasOf } from "../schema/schema-tree.js";
import { openTarget, targetOptions } from "../target.js";
import { counted, numberText } from "../terminal/amounts.js";
import { oneLine, type Style, styleFor } from "../terminal/style.js";
import { aligned } from "../terminal/table.js";
import type { Terminal } from "../terminal/terminal.js";

/** Finite differences of float32 have three digits, of float64 seven or so. */
const RELATIVE = 1e-3;

export const check = command({
  name: "check",
  summary: "Compare a Tesseract's derivatives with finite differences of apply.",
  arguments: [
    { name: "TARGET", help: "a file (.ts, .mts, .js, .mjs, .py), a URL, or a container image" },
    {
      name: "JSON",
      help: "the inputs at which; made from the schema if left out. @FILE for a file's, - for standard input's",
      optional: true,
    },
  ],
  options: {
    wrt: { kind: "list", value: "PATH", help: "with respect to which inputs (all that are differentiable)" },
    of: { kind: "list", value: "PATH", help: "of which outputs (all that are differentiable)" },
    endpoint: {
      kind: "list",
      value: "NAME",
      help: "only this one: jacobian, jacobianVectorProduct or vectorJacobianProduct",
    },
    step: {
      kind: "number",
      value: "H",
      least: 0,
      help: "of the differences; each element's own, by its size and dtype, if left out",
    },
    rtol: {
      kind: "number",
      value: "R",
      least: 0,
      help: `how far an entry may be off, of its own size (${RELATIVE})`,
    },
    atol: { kind: "number", value: "A", least: 0, help: "and besides (what finite differences are off by rounding)" },
    "max-elements": {
      kind: "number",
      value: "N",
      whole: true,
      least: 1,
      help: "elements of each array that are looked at, evenly spread (64)",
    },
    elements: {
      kind: "number",
      value: "N",
      whole: true,
      least: 1,
      help: "of arrays that are made from the schema (4)",
    },
    seed: { kind: "number", value: "N", whole: true, help: "of their values (1)" },
    worst: { kind: "number", value: "N", whole: true, least: 0, help: "entries that are shown of each endpoint (5)" },
    ...targetOptions,
  },
  about: [
    "Each element of an input is moved both ways, (f(x+h) - f(x-h)) / 2h, which is compared with what the endpoints jacobian, jacobianVectorProduct and vectorJacobianProduct say, as far as the Tesseract has them. Finite differences are not exact: where a function has a kink, or is large and flat, look at the worst entries and choose --step and --rtol.",
  ],
  examples: [
    { command: "tesseract-ts check tesseract.ts", what: "at inputs made from its schema" },
    { command: `tesseract-ts check tesseract_api.py '{"x": [0.1, 0.2]}' --wrt x`, what: "at inputs of yours" },
  ],
  async run({ options, given: [target = "", json], terminal, progress, json: asJson }) {
    const given = json === undefined ? undefined : await readJson(json, "the inputs", terminal);
    const own = given === undefined ? undefined : requestOf(await decoded(given.value, given.directory), []).inputs;
    await using opened = await openTarget(target, options, { terminal, progress });
    const { tesseract } = opened;
    const endpoints = chosenEndpoints(tesseract, options.endpoint);
    const schemas = applySchemasOf(tesseract.openapiSchema);
    const example = { elements: options.elements ?? 4, seed: options.seed ?? 1 };
    const inputs = withArrays(schemas, own ?? exampleInputs(schemas, example));
    progress.count("Calling apply");
    const outputs = await applied(tesseract, inputs, own === undefined);
    const request = {
      inputs,
      wrt: chosen("input", options.wrt, places(tesseract, "inputs", inputs)),
      of: chosen("output", options.of, places(tesseract, "outputs", outputs)),
      step: options.step,
      most: options["max-elements"] ?? 64,
      relative: options.rtol ?? RELATIVE,
      absolute: options.atol,
    };
    const checks = await checkDerivatives(tesseract, endpoints, request, {
      onMoved: (done, total) => progress.count(`Finite differences: ${done} of ${counted(total, "element")}`),
      onEndpoint: (endpoint) => progress.count(`Calling ${endpoint}`),
    });
    progress.end();
    const passed = checks.every(({ wrong, failure }) => wrong === 0 && failure === undefined);
    if (asJson) terminal.out.write(`${JSON.stringify(dataOf(checks, passed))}\n`);
    else show(checks, request, options.worst ?? 5, terminal);
    return passed ? EXIT.ok : EXIT.failed;
  },
});

function chosenEndpoints(tesseract: Tesseract, wanted: readonly string[]): readonly GradientEndpoint[] {
  const there = gradientEndpoints.filter((endpoint) => tesseract.availableEndpoints.includes(endpoint));
  if (there.length === 0) {
    throw new UsageError(
      "This Tesseract has no derivatives that could be checked",
      `It has ${tesseract.availableEndpoints.join(", ")}. derivatives.finiteDifferences() makes one of apply.`,
    );
  }
  if (wanted.length === 0) return there;
  return wanted.map((name) => {
    const plain = name.replaceAll(/[-_]([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const found = there.find((endpoint) => endpoint === plain || short[endpoint] === plain);
    if (found !== undefined) return found;
    throw new UsageError(`This Tesseract has no derivative "${name}"`, `It has ${there.join(", ")}.`);
  });
}

const short: Readonly<Record<GradientEndpoint, string>> = {
  jacobian: "jac",
  jacobianVectorProduct: "jvp",
  vectorJacobianProduct: "vjp",
};

const places = (tesseract: Tesseract, side: "inputs" | "outputs", tree: unknown): readonly string[] =>
  placesOfAll(differentiableTemplates(tesseract.openapiSchema, side), tree).map(({ path }) => path);

function chosen(what: string, wanted: readonly string[], there: readonly string[]): readonly string[] {
  const missing = wanted.find((path) => !there.includes(path));
  if (missing !== undefined) {
    throw new UsageError(`"${missing}" is no differentiable ${what}`, `There are ${there.join(", ") || "none"}.`);
  }
  if (there.length === 0) throw new UsageError(`There is no differentiable ${what} here`, "Give inputs that have one.");
  return wanted.length === 0 ? there : wanted;
}

async function applied(tesseract: Tesseract, inputs: Tree, areMade: boolean): Promise<unknown> {
  try {
    return await tesseract.apply(inputs);
  } catch (error) {
    if (!areMade || !(error instanceof Error) || !("code" in error) || error.code === "ABORTED") throw error;
    throw new UsageError(
      `apply fails with the inputs that were made from the schema: ${error.message}`,
      "Give inputs that it takes, as JSON behind the target.",
    );
  }
}

const dataOf = (checks: readonly EndpointCheck[], passed: boolean): object => ({
  passed,
  endpoints: checks.map(({ failure, ...each }) => ({
    ...each,
    ...(failure === undefined ? {} : { failure: { code: failure.code, message: failure.message } }),
  })),
});

function show(
  checks: readonly EndpointCheck[],
  { wrt, of, relative }: { readonly wrt: readonly string[]; readonly of: readonly string[]; readonly relative: number },
  worst: number,
  terminal: Terminal,
): void {
  const style = styleFor(terminal.out, terminal);
  const lines = [`Derivatives of ${of.join(", ")} with respect to ${wrt.join(", ")}`];
  for (const each of checks) lines.push("", ...endpointLines(each, worst, relative, style));
  terminal.out.write(`${lines.join("\n")}\n`);
}

function endpointLines(
  { endpoint, compared, wrong, worst, failure }: EndpointCheck,
  most: number,
  relative: number,
  style: Style,
): string[] {
  if (failure !== undefined) return [`${style("red", "failed")}  ${endpoint}: ${oneLine(failure.message)}`];
  const said =
    wrong === 0
      ? `${style("green", "right")}   ${endpoint}: ${counted(compared, "entry", "entries")} within ${numberText(relative)} of finite differences`
      : `${style("red", "wrong")}   ${endpoint}: ${wrong} of ${counted(compared, "entry", "entries")} ${wrong === 1 ? "is" : "are"} off`;
  const shown = worst.slice(0, wrong === 0 ? Math.min(1, most) : most);
  if (shown.length === 0) return [said];
  const rows = shown.map((entry) => [
    `d ${named(entry.of, entry.row)} / d ${named(entry.wrt, entry.column)}`,
    ...values(entry),
  ]);
  return [
    said,
    ...aligned([[wrong === 0 ? "the worst" : "worst first", endpoint, "differences", "off by"], ...rows], "lrrr").map(
      (line) => `  ${line}`,
    ),
  ];
}

const named = (path: string, index: readonly number[]): string =>
  index.length === 0 ? path : `${path}[${index.join(", ")}]`;

const values = ({ value, expected }: Entry): readonly string[] => [
  numberText(value),
  numberText(expected),
  numberText(Math.abs(value - expected)),
];
