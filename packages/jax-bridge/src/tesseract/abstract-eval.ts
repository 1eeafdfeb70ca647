/** The shapes of a call's outputs: asked for once for each kind of inputs, and remembered as long as the Tesseract. */
import { type DType, isDType, type Tesseract } from "@tesseract-ts/core";
import { type Aval, aval, avalText } from "../arrays/aval.js";
import { programError } from "../errors.js";
import { currentBuild, Suspension } from "../program/suspension.js";
import { type FlatTree, flatten, isRecord, type Structure, structureKey, unflatten } from "../tree/tree.js";

interface Entry {
  readonly asked: Promise<void>;
  /** Undefined until it is known. */
  readonly outcome?: { readonly outputs: FlatTree<Aval> } | { readonly error: unknown };
}

// The document belongs to the connection, which a Tesseract shares with its views.
const known = new WeakMap<object, Map<string, Entry>>();

/**
 * The tree of a call's outputs, with an abstract value for each array.
 *
 * @throws Suspension while the Tesseract is being asked
 */
export function abstractOutputs(tesseract: Tesseract, inputs: Structure, avals: readonly Aval[]): FlatTree<Aval> {
  if (!tesseract.availableEndpoints.includes("abstractEval")) {
    throw programError("ENDPOINT_NOT_FOUND", "A program can't call a Tesseract without the endpoint abstract_eval", {
      hint: "Programs need the shapes of its outputs beforehand. Add abstract_eval to it, or call apply outside a program.",
    });
  }
  const entries = known.get(tesseract.openapiSchema) ?? new Map<string, Entry>();
  known.set(tesseract.openapiSchema, entries);
  const key = `${structureKey(inputs)} ${avals.map((each) => `${each.dtype}[${each.shape.join(",")}]`).join(" ")}`;
  const entry = entries.get(key);
  if (entry === undefined) {
    const ask = async (): Promise<Required<Entry>["outcome"]> => {
      try {
        const tree = unflatten(
          inputs,
          avals.map(({ shape, dtype }) => ({ shape, dtype })),
        );
        return { outputs: readAvals(await tesseract.abstractEval(tree as Readonly<Record<string, unknown>>)) };
      } catch (error) {
        return { error };
      }
    };
    const asked: Promise<void> = ask().then((outcome) => {
      entries.set(key, { asked, outcome });
    });
    entries.set(key, { asked });
    throw new Suspension(asked);
  }
  const { asked, outcome } = entry;
  const build = currentBuild();
  if (build.awaited === asked) build.awaited = undefined;
  if (outcome === undefined) throw new Suspension(asked);
  if ("error" in outcome) {
    // It may have been the connection: the next attempt asks again.
    entries.delete(key);
    throw outcome.error;
  }
  return outcome.outputs;
}

interface Described {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

function readAvals(answer: unknown): FlatTree<Aval> {
  const isDescribed = (value: unknown): value is Described =>
    isRecord(value) && Array.isArray(value.shape) && typeof value.dtype === "string";
  const { leaves, structure } = flatten(answer, isDescribed);
  const avals = leaves.map(({ shape, dtype }) => {
    const sizes = shape.map(Number);
    if (!isDType(dtype) || !sizes.every((size) => Number.isSafeInteger(size) && size >= 0)) {
      throw programError("MALFORMED_RESPONSE", `abstract_eval announced an array ${avalText(aval(sizes, dtype))}`);
    }
    return aval(sizes, dtype);
  });
  return { leaves: avals, structure };
}
