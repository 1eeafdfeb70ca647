/** Endpoints for those who don't write them; each is opted into by its place in a definition. */
import type { DerivedAbstractEval } from "./derived.js";
import { finiteDifferences } from "./finite-differences.js";
import { fromJacobian, fromJacobianVectorProduct, fromVectorJacobianProduct } from "./from-others.js";

/** `abstractEval` from the output schema, which must fix every shape and dtype. */
const fromSchema = (): DerivedAbstractEval => ({ derived: "abstractEval" });

/**
 * Derived endpoints.
 *
 * @example
 * defineTesseract({
 *   …,
 *   apply,
 *   jacobian: derivatives.finiteDifferences(),
 *   jacobianVectorProduct: derivatives.finiteDifferences(), // two calls of apply
 *   vectorJacobianProduct: derivatives.fromJacobian(),
 *   abstractEval: derivatives.fromSchema(),
 * });
 */
export const derivatives = {
  finiteDifferences,
  fromJacobian,
  fromJacobianVectorProduct,
  fromVectorJacobianProduct,
  fromSchema,
} as const;
