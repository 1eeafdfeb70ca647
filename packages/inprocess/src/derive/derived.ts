/** Endpoints that are derived from others, as they stand in a definition. */
import type { HostArray } from "@tesseract-ts/core";
import type { EndpointContext } from "../definition.js";

/** The endpoints that derivatives come from. */
export type GradientRoute = "jacobian" | "jacobian_vector_product" | "vector_jacobian_product";

export type Tree = Readonly<Record<string, unknown>>;
export type HostArrays = Readonly<Record<string, HostArray>>;
export type Jacobian = Readonly<Record<string, HostArrays>>;

/** At which inputs, with respect to which of them, and of which outputs. */
export interface DerivativeRequest {
  readonly inputs: Tree;
  readonly wrt: readonly string[];
  readonly of: readonly string[];
}

export interface VectorRequest extends DerivativeRequest {
  /** Tangents by input path, or cotangents by output path. */
  readonly vector: HostArrays;
}

/** The Tesseract's own endpoints, with their results checked. */
export interface Endpoints {
  apply(inputs: Tree): Promise<Tree>;
  jacobian(request: DerivativeRequest): Promise<Jacobian>;
  jvp(request: VectorRequest): Promise<HostArrays>;
  vjp(request: VectorRequest): Promise<HostArrays>;
}

/** Stands in a definition for an endpoint that is computed from others. `derivatives` has those there are. */
export interface DerivedGradient {
  readonly derived: "gradient";
  /** The endpoint that it is computed from, which the Tesseract must have. */
  readonly from: "apply" | GradientRoute;
  jacobian(request: DerivativeRequest, endpoints: Endpoints, context: EndpointContext): Promise<Jacobian>;
  jvp(request: VectorRequest, endpoints: Endpoints, context: EndpointContext): Promise<HostArrays>;
  vjp(request: VectorRequest, endpoints: Endpoints, context: EndpointContext): Promise<HostArrays>;
}

/** Stands in a definition for an `abstractEval` that the output schema alone answers. */
export interface DerivedAbstractEval {
  readonly derived: "abstractEval";
}

export const isDerived = (endpoint: unknown): endpoint is DerivedGradient | DerivedAbstractEval =>
  typeof endpoint === "object" && endpoint !== null && "derived" in endpoint;
