/** Runs a Tesseract's endpoints: checks the request, calls, checks the result. */
import { type OpenApiSchema, TesseractError } from "@tesseract-ts/core";
import { builtinAdapters } from "@tesseract-ts/core/adapters";
import { type EndpointFunction, gradientsOf, type TesseractDefinition } from "../define.js";
import type { EndpointContext } from "../definition.js";
import {
  type DerivativeRequest,
  type Endpoints,
  type GradientRoute,
  type HostArrays,
  isDerived,
  type Jacobian,
  type Tree,
  type VectorRequest,
} from "../derive/derived.js";
import { fixedShapes } from "../derive/fixed-shapes.js";
import { openApiDocument } from "../openapi/document.js";
import { type Encodings, encodingsOf } from "../validate/encodings.js";
import type {
  EncodedPlace,
  OpenApiOptions,
  RequestIssue,
  Runner,
  RunnerAnswer,
  RunnerCall,
  RunnerOptions,
  RunnerRoute,
} from "./contract.js";
import { DeviceScope } from "./device-scope.js";
import { encodedArrays } from "./encoded-places.js";
import { readForeign } from "./foreign.js";
import { buffersOf, ownResults, Snapshot } from "./memory.js";
import { runTest } from "./regression.js";
import { type CheckedRequest, type ComputingRoute, checkRequest } from "./requests.js";
import { checkResult, invalidOutputs } from "./results.js";
import { type Schemas, schemasOf } from "./schemas.js";

const endpointNames: Readonly<Record<ComputingRoute, string>> = {
  apply: "apply",
  jacobian: "jacobian",
  jacobian_vector_product: "jacobianVectorProduct",
  vector_jacobian_product: "vectorJacobianProduct",
  abstract_eval: "abstractEval",
};

/**
 * Makes a runner of a definition: what a Tesseract in this process and a server stand on. It keeps no state of a call, so
 * that calls may run at once.
 */
export const createRunner = (definition: TesseractDefinition, options: RunnerOptions = {}): Runner =>
  new DefinitionRunner(definition, options);

class DefinitionRunner implements Runner {
  readonly routes: readonly RunnerRoute[];
  private readonly schemas: Schemas;
  private readonly encodings: Encodings;

  constructor(
    private readonly definition: TesseractDefinition,
    private readonly options: RunnerOptions,
  ) {
    this.schemas = schemasOf(definition);
    this.encodings = encodingsOf(options.transports ?? []);
    const gradients = gradientsOf(definition);
    this.routes = [
      "apply",
      ...(Object.keys(gradients) as GradientRoute[]).filter((route) => gradients[route] !== undefined),
      ...(definition.abstractEval === undefined ? [] : (["abstract_eval"] as const)),
      "test",
    ];
  }

  openapi(options: OpenApiOptions = {}): OpenApiSchema {
    return openApiDocument(this.definition, this.schemas, this.routes, options);
  }

  encodedArrays(route: RunnerRoute, payload: unknown): readonly EncodedPlace[] {
    return encodedArrays(this.schemas, route, payload, this.encodings);
  }

  check(route: RunnerRoute, payload: unknown): readonly RequestIssue[] {
    if (route === "test") return [];
    const checked = checkRequest(this.schemas, route, payload, (array) => array);
    return checked.ok ? [] : checked.issues;
  }

  async run({ route, payload, context, ownsInputs }: RunnerCall): Promise<RunnerAnswer> {
    if (!this.routes.includes(route)) {
      throw new TesseractError("ENDPOINT_NOT_FOUND", `"${this.definition.name}" has no endpoint "${route}"`);
    }
    if (route === "test") {
      const run = (call: Pick<RunnerCall, "route" | "payload">) => this.run({ ...call, context, ownsInputs });
      return runTest(this.schemas, this.routes, payload, run);
    }
    const scope = new DeviceScope(!ownsInputs, context);
    try {
      const checked = checkRequest(this.schemas, route, payload, scope.wrap);
      if (!checked.ok) return { kind: "refused", issues: checked.issues };
      const results = await this.observed(checked.request, context, scope, ownsInputs);
      return { kind: "answered", outputs: results };
    } finally {
      scope.end();
    }
  }

  /** Calls the endpoint, and sees to it that inputs stay as they are and results are the caller's own. */
  private async observed(
    request: CheckedRequest,
    context: EndpointContext,
    scope: DeviceScope,
    ownsInputs: boolean,
  ): Promise<unknown> {
    const inputs = "vector" in request ? { inputs: request.inputs, vector: request.vector } : request.inputs;
    const snapshot = this.options.development === true ? new Snapshot(inputs) : undefined;
    let results: unknown;
    try {
      results = await this.call(request, context, scope);
    } finally {
      // Before what the endpoint threw, which may be a consequence. A caller who gave up may have changed them itself since.
      if (snapshot !== undefined && !context.signal.aborted) snapshot.check(this.nameOf(request.route));
    }
    return ownsInputs ? results : ownResults(results, buffersOf(inputs));
  }

  /** The result of an endpoint that is written or derived, checked. */
  private async call(request: CheckedRequest, context: EndpointContext, scope: DeviceScope): Promise<unknown> {
    const what = this.nameOf(request.route);
    let result: unknown;
    try {
      result = await this.invoke(request, context, scope);
      const read = readForeign(result, builtinAdapters);
      result = read instanceof Promise ? await read : read;
    } catch (error) {
      // An endpoint that heeds the signal throws its reason, which says more.
      if (context.signal.aborted && error === context.signal.reason) throw error;
      // Of an endpoint that another one is derived from.
      if (error instanceof EndpointError) throw error;
      throw new EndpointError(what, error);
    }
    const { wrt, of } = "wrt" in request ? request : { wrt: [], of: [] };
    const mode = { received: false, strict: false, device: scope.unwrap };
    const checked = checkResult(this.schemas, { route: request.route, wrt, of }, result, mode);
    if (!checked.ok) throw invalidOutputs(what, checked.issues);
    return checked.value;
  }

  private invoke(request: CheckedRequest, context: EndpointContext, scope: DeviceScope): unknown {
    const { definition } = this;
    switch (request.route) {
      case "apply":
        return definition.apply(request.inputs, context);
      case "abstract_eval": {
        const { abstractEval } = definition;
        if (abstractEval === undefined) throw missingEndpoint(request.route);
        return isDerived(abstractEval) ? fixedShapes(definition.outputs) : abstractEval(request.inputs, context);
      }
      default: {
        const endpoint = gradientsOf(definition)[request.route];
        if (endpoint === undefined) throw missingEndpoint(request.route);
        if (typeof endpoint === "function") return endpoint(endpointRequest(request), context);
        const endpoints = this.endpointsFor(context, scope);
        switch (request.route) {
          case "jacobian":
            return endpoint.jacobian(request, endpoints, context);
          case "jacobian_vector_product":
            return endpoint.jvp(request as VectorRequest, endpoints, context);
          case "vector_jacobian_product":
            return endpoint.vjp(request as VectorRequest, endpoints, context);
        }
      }
    }
  }

  /** What derived endpoints are computed from. */
  private endpointsFor(context: EndpointContext, scope: DeviceScope): Endpoints {
    const call = (request: CheckedRequest): Promise<unknown> => this.call(request, context, scope);
    return {
      apply: (inputs) => call({ route: "apply", inputs }) as Promise<Tree>,
      jacobian: (request: DerivativeRequest) => call({ ...request, route: "jacobian" }) as Promise<Jacobian>,
      jvp: (request: VectorRequest) => call({ ...request, route: "jacobian_vector_product" }) as Promise<HostArrays>,
      vjp: (request: VectorRequest) => call({ ...request, route: "vector_jacobian_product" }) as Promise<HostArrays>,
    };
  }

  private nameOf(route: ComputingRoute): string {
    return `The endpoint "${endpointNames[route]}" of "${this.definition.name}"`;
  }
}

/** A request as endpoints of the definition get it. */
function endpointRequest(request: Extract<CheckedRequest, { route: GradientRoute }>): Parameters<EndpointFunction>[0] {
  const { inputs, wrt, of } = request;
  switch (request.route) {
    case "jacobian":
      return { inputs, jacInputs: wrt, jacOutputs: of };
    case "jacobian_vector_product":
      return { inputs, jvpInputs: wrt, jvpOutputs: of, tangents: request.vector };
    case "vector_jacobian_product":
      return { inputs, vjpInputs: wrt, vjpOutputs: of, cotangents: request.vector };
  }
}

const missingEndpoint = (route: string): TesseractError =>
  new TesseractError("ENDPOINT_NOT_FOUND", `There is no endpoint "${route}"`);

/** An endpoint threw. */
class EndpointError extends TesseractError {
  constructor(what: string, cause: unknown) {
    super("ENDPOINT_FAILED", `${what} threw: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}
