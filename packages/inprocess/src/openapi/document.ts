/** The OpenAPI document of a Tesseract, with the extras that clients read. */
import type { OpenApiSchema } from "@tesseract-ts/core";
import type { TesseractDefinition } from "../define.js";
import type { OpenApiOptions, RunnerRoute } from "../runner/contract.js";
import { type ComputingRoute, memberNames, modelPrefixes } from "../runner/requests.js";
import type { Schemas } from "../runner/schemas.js";
import type { ArrayTraits } from "../schema/array.js";
import type { ObjectNode } from "../schema/node.js";
import { type ArrayPattern, visitLeaves } from "../schema/paths.js";
import { Components, encodedArraySchema, type JsonSchema, reference, titleOf } from "./json-schema.js";
import { arrayDataSchemas, errorSchemas, shapeDtypeSchema, testSchemas } from "./shared-schemas.js";

const descriptions: Readonly<Record<RunnerRoute, string>> = {
  apply: "Runs the simulation.",
  jacobian: "The derivatives of `jac_outputs` with respect to `jac_inputs`, at the inputs.",
  jacobian_vector_product: "How `jvp_outputs` change when `jvp_inputs` change along the tangent vector, at the inputs.",
  vector_jacobian_product:
    "The gradient of `vjp_outputs`, weighted by the cotangent vector, with respect to `vjp_inputs`, at the inputs.",
  abstract_eval: "The shapes and dtypes of the outputs, from those of the inputs.",
  test: "Calls an endpoint and compares its outputs with expected ones.",
};

/** The names of the schemas of requests and answers. */
const modelNames: Readonly<Record<ComputingRoute, readonly [request: string, answer: string]>> = {
  apply: ["ApplyInputSchema", "ApplyOutputSchema"],
  jacobian: ["JacobianInputSchema", "JacobianOutputSchema"],
  jacobian_vector_product: ["JVPInputSchema", "JVPOutputSchema"],
  vector_jacobian_product: ["VJPInputSchema", "VJPOutputSchema"],
  abstract_eval: ["AbstractInputSchema", "AbstractOutputSchema"],
};

export function openApiDocument(
  definition: TesseractDefinition,
  schemas: Schemas,
  routes: readonly RunnerRoute[],
  options: OpenApiOptions,
): OpenApiSchema {
  const shown = routes.filter((route) => route !== "test" || options.test === true);
  const components: Record<string, JsonSchema> = { ...errorSchemas };
  const paths: Record<string, JsonSchema> = {};
  for (const route of shown) {
    const [request, answer] = route === "test" ? ["TestSpec", "TestOutputSchema"] : modelNames[route];
    Object.assign(components, route === "test" ? testSchemas : requestSchemas(schemas, route));
    paths[`/${route}`] = { post: operation(route, request, answer) };
  }
  paths["/health"] = { get: healthOperation };
  return {
    openapi: "3.1.0",
    info: {
      title: definition.name,
      ...(definition.description === "" ? {} : { description: definition.description }),
      version: definition.version,
    },
    paths,
    components: { schemas: Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1))) },
    "x-supported-output-formats": options.outputFormats ?? ["json", "json+base64", "json+binref"],
    "x-supported-gpu-transports": options.gpuTransports ?? ["none"],
    "x-supported-compressions": options.compressions ?? ["none", "lz4"],
  };
}

function requestSchemas(schemas: Schemas, route: ComputingRoute): Record<string, JsonSchema> {
  const [request, answer] = modelNames[route];
  const components = new Components(modelPrefixes[route]);
  const body = (inputs: ObjectNode, more: Record<string, JsonSchema> = {}, extras: JsonSchema = {}): JsonSchema => ({
    properties: { inputs: { ...components.object(inputs), description: "What the endpoint is called with." }, ...more },
    additionalProperties: false,
    type: "object",
    required: ["inputs", ...Object.keys(more)],
    title: request,
    ...extras,
  });
  if (route === "apply") {
    const input = body(schemas.inputs, {}, extrasOf(schemas.inputs, schemas.differentiableInputs));
    const output = {
      ...components.object(schemas.outputs),
      title: answer,
      description: "What the endpoint returns.",
      ...extrasOf(schemas.outputs, schemas.differentiableOutputs),
    };
    return { ...components.schemas, ...arrayDataSchemas, [request]: input, [answer]: output };
  }
  if (route === "abstract_eval") {
    const input = body(schemas.abstractInputs);
    const output = {
      ...components.object(schemas.abstractOutputs),
      title: answer,
      description: "The outputs' shapes and dtypes.",
    };
    return { ...components.schemas, ShapeDType: shapeDtypeSchema, [request]: input, [answer]: output };
  }
  const names = memberNames[route];
  const { differentiableInputs, differentiableOutputs } = schemas;
  const members: Record<string, JsonSchema> = {
    [names.wrt]: pathsSchema(names.wrt, differentiableInputs),
    [names.of]: pathsSchema(names.of, differentiableOutputs),
  };
  if (names.vector !== undefined) members[names.vector] = { ...arraysByPath, title: titleOf(names.vector) };
  const output: JsonSchema =
    route === "jacobian" ? { additionalProperties: arraysByPath, type: "object" } : arraysByPath;
  return {
    ...arrayDataSchemas,
    [request]: body(schemas.inputs, members),
    [answer]: { ...output, title: answer },
    ...components.schemas,
  };
}

const anyArray: ArrayTraits = { dtype: "any dtype", shape: "any rank", differentiable: false };
const arraysByPath: JsonSchema = { additionalProperties: encodedArraySchema(anyArray, false), type: "object" };

function pathsSchema(name: string, patterns: readonly ArrayPattern[]): JsonSchema {
  const options = patterns.map(({ isLiteral, text }) => ({
    type: "string",
    ...(isLiteral ? { const: text } : { pattern: text }),
  }));
  const items = options.length === 1 ? options[0] : { anyOf: options };
  return { items, type: "array", minItems: 1, uniqueItems: true, title: titleOf(name) };
}

/** What clients read beside the schema: which arrays are differentiable, and in which order the fields stand. */
function extrasOf(schema: ObjectNode, differentiable: readonly ArrayPattern[]): JsonSchema {
  const order = new Map<string, Set<string>>();
  visitLeaves(schema, [], (_, parts) => {
    parts.forEach((part, index) => {
      if (part === "[]" || part === "{}") return;
      const owner = parts.slice(0, index).join(".");
      order.set(owner, (order.get(owner) ?? new Set()).add(part));
    });
  });
  return {
    differentiable_arrays: Object.fromEntries(
      differentiable.map(({ template, traits: { shape, dtype } }) => [
        template,
        { shape: shape === "any rank" ? null : shape, dtype: dtype === "any dtype" ? null : dtype },
      ]),
    ),
    field_order: Object.fromEntries([...order].map(([owner, fields]) => [owner, [...fields]])),
  };
}

const content = (name: string): JsonSchema => ({ "application/json": { schema: reference(name) } });

function operation(route: RunnerRoute, request: string, answer: string): JsonSchema {
  const negotiated = route !== "abstract_eval" && route !== "test";
  return {
    summary: titleOf(route),
    description: descriptions[route],
    operationId: `${route}_${route}_post`,
    ...(negotiated ? { parameters: [acceptParameter] } : {}),
    requestBody: { required: true, content: content(request) },
    responses: {
      "200": { description: "Successful Response", content: content(answer) },
      "422": { description: "Validation Error", content: content("HTTPValidationError") },
    },
  };
}

const acceptParameter: JsonSchema = {
  name: "accept",
  in: "header",
  required: false,
  schema: { anyOf: [{ type: "string" }, { type: "null" }], title: "Accept" },
};

const healthOperation: JsonSchema = {
  summary: "Health",
  description: "Whether the Tesseract answers.",
  operationId: "health_health_get",
  responses: {
    "200": {
      description: "Successful Response",
      content: {
        "application/json": {
          schema: { additionalProperties: true, type: "object", title: "Response Health Health Get" },
        },
      },
    },
  },
};
