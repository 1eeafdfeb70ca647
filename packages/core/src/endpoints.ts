/** The endpoints' names, in TypeScript and on the wire. */
import type { EndpointRoute } from "./backend.js";
import type { ArraysByPath, InputTree } from "./tree.js";

const routes = {
  apply: "apply",
  jacobian: "jacobian",
  jacobianVectorProduct: "jacobian_vector_product",
  vectorJacobianProduct: "vector_jacobian_product",
  abstractEval: "abstract_eval",
  health: "health",
  test: "test",
} as const satisfies Record<string, EndpointRoute>;

export type Endpoint = keyof typeof routes;

const endpoints = new Map<string, Endpoint>(
  Object.keys(routes).map((name) => [routes[name as Endpoint], name as Endpoint]),
);

export const routeOfEndpoint = (endpoint: Endpoint): EndpointRoute => routes[endpoint];

/** Undefined for a route that isn't an endpoint of Tesseracts. */
export const endpointOfRoute = (route: string): Endpoint | undefined => endpoints.get(route);

/** A regression test, as `test()` takes it. */
export interface TestSpec {
  readonly endpoint: Exclude<Endpoint, "test" | "health">;
  /** The request that the endpoint gets. */
  readonly payload: {
    readonly inputs: InputTree;
    readonly jacInputs?: readonly string[];
    readonly jacOutputs?: readonly string[];
    readonly jvpInputs?: readonly string[];
    readonly jvpOutputs?: readonly string[];
    readonly tangentVector?: ArraysByPath;
    readonly vjpInputs?: readonly string[];
    readonly vjpOutputs?: readonly string[];
    readonly cotangentVector?: ArraysByPath;
  };
  /** What it should answer; dtypes must be equal. Give either this or `expectedException`. */
  readonly expectedOutputs?: InputTree;
  /** The name of the Python exception that it should raise, such as `ValueError`. */
  readonly expectedException?: string;
  readonly expectedExceptionRegex?: string;
  /** Absolute tolerance, 1e-8 if left out. */
  readonly atol?: number;
  /** Relative tolerance, 1e-5 if left out. */
  readonly rtol?: number;
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Only the names of the specification change; those within the inputs and outputs are the Tesseract's. */
const withSnakeCaseKeys = (record: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [snakeCase(key), value]));

export const testPayload = (spec: TestSpec): Record<string, unknown> => ({
  ...withSnakeCaseKeys(spec),
  endpoint: routes[spec.endpoint],
  payload: withSnakeCaseKeys(spec.payload),
});
