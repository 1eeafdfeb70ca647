/** `tesseract-ts call`: calls an endpoint, and shows what comes out. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, relative, resolve } from "node:path";
import { type HostArray, isHostArray, type Tesseract, TesseractError } from "@tesseract-ts/core";
import { jsonText } from "../arrays/as-json.js";
import { writeArrays } from "../arrays/npy.js";
import { arraysOf, treeLines } from "../arrays/summary.js";
import { command, type Options, type Values } from "../command.js";
import { EXIT, UsageError } from "../failure.js";
import { nearest } from "../parse.js";
import { decoded, isTree, readJson, requestOf, type Tree, withArrays } from "../request.js";
import { differentiableTemplates, placesOfAll } from "../schema/paths.js";
import { applySchemasOf } from "../schema/schema-tree.js";
import { openTarget, targetOptions } from "../target.js";
import { timeText } from "../terminal/amounts.js";
import { styleFor } from "../terminal/style.js";

const options = {
  out: { kind: "text", value: "DIR", short: "o", help: "write the arrays of the result there, each as a .npy file" },
  wrt: {
    kind: "list",
    value: "PATH",
    help: "of a derivative: with respect to which inputs (all that are differentiable)",
  },
  of: { kind: "list", value: "PATH", help: "of a derivative: of which outputs (all that are differentiable)" },
  "run-id": { kind: "text", value: "ID", help: "the name of the run's folder at the server" },
  record: {
    kind: "text",
    value: "FILE",
    help: "write the call and its result there, as a case for `tesseract-ts test`",
  },
  ...targetOptions,
} as const satisfies Options;

type CallCommandOptions = Values<typeof options>;

/** What each endpoint may be called, and what its request has besides `inputs`. */
const endpoints = {
  apply: { aliases: [], members: [] },
  jacobian: { aliases: ["jac"], members: ["jac_inputs", "jac_outputs"] },
  jacobian_vector_product: { aliases: ["jvp"], members: ["jvp_inputs", "jvp_outputs", "tangent_vector"] },
  vector_jacobian_product: { aliases: ["vjp"], members: ["vjp_inputs", "vjp_outputs", "cotangent_vector"] },
  abstract_eval: { aliases: [], members: [] },
  health: { aliases: [], members: [] },
} as const;

type Route = keyof typeof endpoints;

export const call = command({
  name: "call",
  summary: "Call an endpoint of a Tesseract, and show what comes out.",
  arguments: [
    { name: "TARGET", help: "a URL, a file (.ts, .mts, .js, .mjs, .py), or a container image" },
    {
      name: "ENDPOINT",
      help: "apply, jacobian, jacobian_vector_product (jvp), vector_jacobian_product (vjp), abstract_eval or health",
    },
    {
      name: "JSON",
      help: "the inputs, or the whole request; @FILE for a file's, - for standard input's",
      optional: true,
    },
  ],
  options,
  about: [
    'Arrays in the JSON are numbers in lists, or encoded as the reference does: {"shape": [2], "dtype": "float64", "data": {"encoding": "base64", "buffer": …}}. An object whose only member is `inputs` is the whole request, as it goes over HTTP; so is one with the request\'s other members, such as jac_inputs.',
    "Arrays in the result are shown by dtype, shape, least, largest and mean value, and their first values. With --json the result is one line of JSON with all values.",
  ],
  examples: [
    {
      command: `tesseract-ts call http://localhost:8000 apply '{"x": [1, 2, 3]}'`,
      what: "a Tesseract that is being served",
    },
    {
      command: "tesseract-ts call tesseract_api.py apply @inputs.json --out results",
      what: "one in Python, which is started for the call",
    },
    { command: "tesseract-ts call tesseract.ts jacobian @inputs.json --wrt x --of y", what: "a derivative" },
    {
      command: `tesseract-ts call heat:latest apply - --json < inputs.json | jq .temperature.shape`,
      what: "a container image, in a script",
    },
  ],
  async run({ options: given, given: [target = "", endpoint = "", json], terminal, progress, json: asJson }) {
    const route = routeOf(endpoint);
    const request = await requestFor(route, json, given, terminal);
    await using opened = await openTarget(target, given, { terminal, progress, showsRunLog: true });
    const { tesseract } = opened;
    progress.count(`Calling ${route}`);
    const began = performance.now();
    const { answer, asked } = await answerOf(tesseract, route, request, given);
    const result = await onHost(answer);
    const took = performance.now() - began;
    progress.end();
    const style = styleFor(terminal.out, terminal);
    const files =
      given.out === undefined ? [] : await writeArrays(resolve(terminal.directory, given.out), arraysOf(result));
    if (given.record !== undefined) await record(resolve(terminal.directory, given.record), route, asked, result);
    if (asJson) {
      terminal.out.write(`${jsonText(result, { encoding: "json" })}\n`);
      return EXIT.ok;
    }
    terminal.out.write(`${treeLines(result, style).join("\n")}\n`);
    for (const file of files) terminal.out.write(`${style("green", "wrote")} ${relative(terminal.directory, file)}\n`);
    if (given.record !== undefined) terminal.out.write(`${style("green", "wrote")} ${given.record}\n`);
    progress.line(styleFor(terminal.err, terminal)("dim", `${route} took ${timeText(took)}`));
    return EXIT.ok;
  },
});

function routeOf(given: string): Route {
  const name = given.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replaceAll("-", "_");
  const found = (Object.keys(endpoints) as Route[]).find(
    (route) => route === name || (endpoints[route].aliases as readonly string[]).includes(name),
  );
  if (found !== undefined) return found;
  const near = nearest(name, Object.keys(endpoints));
  throw new UsageError(
    `There is no endpoint "${given}"`,
    near === undefined ? `There are ${Object.keys(endpoints).join(", ")}.` : `Did you mean ${near}?`,
  );
}

type Request = Tree & { readonly inputs: Tree };

async function requestFor(
  route: Route,
  json: string | undefined,
  { wrt, of }: Pick<CallCommandOptions, "wrt" | "of">,
  terminal: Parameters<typeof readJson>[2],
): Promise<Request> {
  if (route === "health") {
    if (json !== undefined) throw new UsageError("health takes no JSON");
    return { inputs: {} };
  }
  const isDerivative = endpoints[route].members.length > 0;
  if (!isDerivative && wrt.length + of.length > 0)
    throw new UsageError(`--wrt and --of are for derivatives, and not for ${route}`);
  const { value, directory } =
    json === undefined ? { value: {}, directory: "." } : await readJson(json, "the request", terminal);
  return requestOf(await decoded(value, directory), endpoints[route].members);
}

interface Answered {
  /** The request with all its members. */
  readonly asked: Tree;
  readonly answer: unknown;
}

async function answerOf(
  tesseract: Tesseract,
  route: Route,
  request: Request,
  { wrt, of, ...given }: CallCommandOptions,
): Promise<Answered> {
  const { inputs } = request;
  const runId = given["run-id"];
  const run = runId === undefined ? {} : { runId };
  switch (route) {
    case "apply":
      return { asked: request, answer: await tesseract.apply(inputs, run) };
    case "abstract_eval":
      return { asked: request, answer: await tesseract.abstractEval(inputs) };
    case "health":
      return { asked: request, answer: await tesseract.health() };
    case "jacobian": {
      const paths = await pathsFor(tesseract, request, "jac", { wrt, of });
      const answer = await tesseract.jacobian(inputs, paths.wrt, paths.of, run);
      return { asked: { inputs, jac_inputs: paths.wrt, jac_outputs: paths.of }, answer };
    }
    case "jacobian_vector_product": {
      const paths = await pathsFor(tesseract, request, "jvp", { wrt, of });
      const tangent_vector = vectorOf(request, "tangent_vector", paths.wrt);
      const answer = await tesseract.jacobianVectorProduct(inputs, paths.wrt, paths.of, tangent_vector, run);
      return { asked: { inputs, jvp_inputs: paths.wrt, jvp_outputs: paths.of, tangent_vector }, answer };
    }
    case "vector_jacobian_product": {
      const paths = await pathsFor(tesseract, request, "vjp", { wrt, of });
      const cotangent_vector = vectorOf(request, "cotangent_vector", paths.of);
      const answer = await tesseract.vectorJacobianProduct(inputs, paths.wrt, paths.of, cotangent_vector, run);
      return { asked: { inputs, vjp_inputs: paths.wrt, vjp_outputs: paths.of, cotangent_vector }, answer };
    }
  }
}

/** Given in the request, by options, or all that there are. */
async function pathsFor(
  tesseract: Tesseract,
  request: Request,
  prefix: "jac" | "jvp" | "vjp",
  { wrt, of }: { readonly wrt: readonly string[]; readonly of: readonly string[] },
): Promise<{ readonly wrt: readonly string[]; readonly of: readonly string[] }> {
  const [ins, outs] = [listAt(request, `${prefix}_inputs`) ?? wrt, listAt(request, `${prefix}_outputs`) ?? of];
  const document = tesseract.openapiSchema;
  const vector = request[prefix === "jvp" ? "tangent_vector" : "cotangent_vector"];
  const named = isTree(vector) ? Object.keys(vector) : undefined;
  return {
    wrt: ins.length > 0 ? ins : ((prefix === "jvp" ? named : undefined) ?? allInputs(document, request.inputs)),
    of:
      outs.length > 0
        ? outs
        : ((prefix === "vjp" ? named : undefined) ?? (await allOutputs(tesseract, request.inputs))),
  };
}

const allInputs = (document: Tesseract["openapiSchema"], inputs: Tree): readonly string[] =>
  placesOfAll(differentiableTemplates(document, "inputs"), withArrays(applySchemasOf(document), inputs)).map(
    ({ path }) => path,
  );

/** Where a template stands for any index or key, only a result tells which there are. */
async function allOutputs(tesseract: Tesseract, inputs: Tree): Promise<readonly string[]> {
  const templates = differentiableTemplates(tesseract.openapiSchema, "outputs");
  if (templates.every((template) => !/\[\]|\{\}/.test(template))) return templates;
  return placesOfAll(templates, await tesseract.apply(inputs)).map(({ path }) => path);
}

function listAt(request: Request, name: string): readonly string[] | undefined {
  const value = request[name];
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.every((path) => typeof path === "string")) return value;
  throw new UsageError(`${name} is no list of paths`, `Such as "${name}": ["x"].`);
}

function vectorOf(request: Request, name: string, paths: readonly string[]): Tree {
  const vector = request[name];
  if (isTree(vector)) return vector;
  throw new UsageError(
    `The request has no ${name}`,
    `Give the whole request: {"inputs": …, "${name}": {${paths.map((path) => `"${path}": …`).join(", ")}}}.`,
  );
}

/** Arrays that came over a GPU transport are copied: to be shown, they have to be here. */
async function onHost(tree: unknown): Promise<unknown> {
  if (typeof tree !== "object" || tree === null || isHostArray(tree)) return tree;
  if (Array.isArray(tree)) return Promise.all(tree.map(onHost));
  if ("cudaArrayInterface" in tree) return copied(tree);
  const members = Object.entries(tree).map(
    async ([name, member]): Promise<[string, unknown]> => [name, await onHost(member)],
  );
  return Object.fromEntries(await Promise.all(members));
}

async function copied(array: object): Promise<HostArray> {
  if (!("copyToHost" in array) || typeof array.copyToHost !== "function") {
    throw new TesseractError("INVALID_ARRAY", "A GPU array of the result can't be copied to the host");
  }
  const host: HostArray = await array.copyToHost();
  if (Symbol.dispose in array && typeof array[Symbol.dispose] === "function") (array as Disposable)[Symbol.dispose]();
  return host;
}

/** A regression case in the reference's form; arrays in base64, which loses nothing. */
async function record(path: string, route: Route, request: Tree, result: unknown): Promise<void> {
  if (route === "health") throw new UsageError("health can't be recorded as a case");
  await mkdir(dirname(path), { recursive: true });
  const text = jsonText(
    { endpoint: route, payload: request, expected_outputs: result },
    { encoding: "base64", indent: 2 },
  );
  await writeFile(path, `${text}\n`);
}
