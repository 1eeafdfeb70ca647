/** Values that count as constant. */
import { isJaxValue } from "../arrays/kinds.js";
import { type JaxArray, jax } from "../jax.js";
import { flatten, unflatten } from "../tree/tree.js";

/**
 * A tree of arrays as it is, whose derivative is zero: a Tesseract isn't asked for derivatives by it.
 *
 * @example
 * const { y } = applyTesseract(tess, { x, mask: stopGradient(mask) });
 */
export function stopGradient<T>(tree: T): T {
  const isArray = (value: unknown): value is JaxArray => isJaxValue(value);
  const { leaves, structure } = flatten(tree, isArray);
  return unflatten(
    structure,
    leaves.map((leaf) => jax().lax.stopGradient(leaf)),
  ) as T;
}
