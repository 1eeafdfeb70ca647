/** Defines a Tesseract: reads its schemas and refuses what couldn't work, when the module is loaded. */
import { TesseractError } from "@tesseract-ts/core";
import type { z } from "zod";
import type { EndpointContext, ObjectSchema, TesseractOptions } from "./definition.js";
import { type DerivedAbstractEval, type DerivedGradient, type GradientRoute, isDerived } from "./derive/derived.js";
import { fixedShapesFault } from "./derive/fixed-shapes.js";
import { objectFromZod } from "./schema/from-zod.js";
import type { ObjectNode } from "./schema/node.js";
import { differentiableArrays } from "./schema/paths.js";

/** Known to every copy of this module: a Tesseract's file may have another than the program that runs it. */
const brand = Symbol.for("@tesseract-ts/inprocess/definition");

/** An endpoint with its types gone, as a runner calls it. */
export type EndpointFunction = (request: unknown, context: EndpointContext) => unknown;

/** A defined Tesseract, whatever its types. */
export interface TesseractDefinition {
  readonly name: string;
  /** "unknown" if it wasn't given. */
  readonly version: string;
  readonly description: string;
  /** Whether its endpoints take GPU arrays. */
  readonly gpuArrays: boolean;
  /** Where a server runs its endpoints. */
  readonly runIn: "event loop" | "worker";
  readonly inputs: ObjectNode;
  readonly outputs: ObjectNode;
  readonly apply: EndpointFunction;
  readonly jacobian: EndpointFunction | DerivedGradient | undefined;
  readonly jacobianVectorProduct: EndpointFunction | DerivedGradient | undefined;
  readonly vectorJacobianProduct: EndpointFunction | DerivedGradient | undefined;
  readonly abstractEval: EndpointFunction | DerivedAbstractEval | undefined;
}

/** A defined Tesseract with the types of what goes in and comes out. */
export interface DefinedTesseract<I extends ObjectSchema, O extends ObjectSchema> extends TesseractDefinition {
  /** For the compiler alone. */
  readonly types?: { readonly inputs: z.input<I>; readonly outputs: z.output<O> };
}

/**
 * Defines a Tesseract. `inputs` and `outputs` are Zod schemas; endpoints may be asynchronous, and get and return what the
 * schemas say.
 *
 * Endpoints must not change their inputs in place: in this process they are the caller's own arrays.
 *
 * @throws TesseractError INVALID_ARGUMENT if a schema has what can't cross to other languages, or an endpoint what it
 *   needs is missing for
 *
 * @example
 * export default defineTesseract({
 *   name: "scale",
 *   inputs: z.object({ x: differentiable(array("float64", [null])), factor: z.number().default(2) }),
 *   outputs: z.object({ y: differentiable(array("float64", [null])) }),
 *   apply: ({ x, factor }) => ({ y: x.data.map((value) => value * factor) }),
 * });
 */
export function defineTesseract<I extends ObjectSchema, O extends ObjectSchema, Gpu extends boolean = false>(
  options: TesseractOptions<I, O, Gpu>,
): DefinedTesseract<I, O> {
  const { name } = options;
  if (typeof name !== "string" || name === "") throw unfit("A Tesseract", "has no name");
  if (typeof options.apply !== "function") throw unfit(`"${name}"`, "has no endpoint apply");
  const definition = {
    [brand]: true,
    name,
    version: options.version ?? "unknown",
    description: options.description ?? "",
    gpuArrays: options.gpuArrays ?? false,
    runIn: options.runIn ?? "event loop",
    inputs: objectFromZod(options.inputs, "InputSchema"),
    outputs: objectFromZod(options.outputs, "OutputSchema"),
    apply: options.apply as EndpointFunction,
    jacobian: options.jacobian as EndpointFunction | DerivedGradient | undefined,
    jacobianVectorProduct: options.jacobianVectorProduct as EndpointFunction | DerivedGradient | undefined,
    vectorJacobianProduct: options.vectorJacobianProduct as EndpointFunction | DerivedGradient | undefined,
    abstractEval: options.abstractEval as EndpointFunction | DerivedAbstractEval | undefined,
  };
  checkDerivatives(definition);
  return Object.freeze(definition);
}

export const isTesseractDefinition = (value: unknown): value is TesseractDefinition =>
  typeof value === "object" && value !== null && brand in value;

/** The endpoints that derivatives come from, by their names on the wire. */
export const gradientsOf = (
  definition: TesseractDefinition,
): Readonly<Record<GradientRoute, EndpointFunction | DerivedGradient | undefined>> => ({
  jacobian: definition.jacobian,
  jacobian_vector_product: definition.jacobianVectorProduct,
  vector_jacobian_product: definition.vectorJacobianProduct,
});

const namesOfRoutes: Readonly<Record<GradientRoute, string>> = {
  jacobian: "jacobian",
  jacobian_vector_product: "jacobianVectorProduct",
  vector_jacobian_product: "vectorJacobianProduct",
};

function checkDerivatives(definition: TesseractDefinition): void {
  const { name, inputs, outputs, abstractEval } = definition;
  const gradients = gradientsOf(definition);
  for (const route of Object.keys(gradients) as GradientRoute[]) {
    if (gradients[route] === undefined) continue;
    const side =
      differentiableArrays(inputs).length === 0
        ? "input"
        : differentiableArrays(outputs).length === 0
          ? "output"
          : undefined;
    if (side !== undefined) {
      throw unfit(
        `"${name}"`,
        `has an endpoint ${namesOfRoutes[route]} and no differentiable ${side}`,
        "Mark the array with differentiable(…).",
      );
    }
    checkSource(name, gradients, route, []);
  }
  if (isDerived(abstractEval)) {
    const fault = fixedShapesFault(outputs);
    if (fault !== undefined)
      throw unfit(`"${name}"`, `can't derive abstractEval: ${fault}`, "Write abstractEval yourself.");
  }
}

/** That a derived endpoint ends at one that is written. */
function checkSource(
  name: string,
  gradients: ReturnType<typeof gradientsOf>,
  route: GradientRoute,
  seen: readonly GradientRoute[],
): void {
  const endpoint = gradients[route];
  if (endpoint === undefined) {
    const [asker] = seen;
    throw unfit(
      `"${name}"`,
      `derives ${asker === undefined ? "an endpoint" : namesOfRoutes[asker]} from ${namesOfRoutes[route]}, which it doesn't have`,
    );
  }
  if (!isDerived(endpoint) || endpoint.derived !== "gradient" || endpoint.from === "apply") return;
  if (seen.includes(route))
    throw unfit(`"${name}"`, `derives ${namesOfRoutes[route]} from itself`, "Write one of its derivatives.");
  checkSource(name, gradients, endpoint.from, [route, ...seen]);
}

const unfit = (who: string, problem: string, hint?: string): TesseractError =>
  new TesseractError("INVALID_ARGUMENT", `${who} ${problem}`, { hint });

/**
 * That a Tesseract may be created or served with a GPU transport.
 *
 * @throws TesseractError INVALID_ARGUMENT if its endpoints don't take GPU arrays
 */
export function requireGpuArrays({ name, gpuArrays }: TesseractDefinition, gpuTransport: string | undefined): void {
  if (gpuTransport === undefined || gpuTransport === "none" || gpuArrays) return;
  throw new TesseractError(
    "INVALID_ARGUMENT",
    `"${name}" doesn't take GPU arrays, so gpuTransport "${gpuTransport}" can't be used`,
    {
      hint: "Set gpuArrays: true in its definition once its endpoints can work with x.cudaArrayInterface.",
    },
  );
}
