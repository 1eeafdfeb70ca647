/** What `abstract_eval` has in an array's place: its shape and dtype. */
import { isDType } from "@tesseract-ts/core";
import { listedDtypes } from "../schema/array.js";
import type { ShapeDTypeNode } from "../schema/node.js";
import { dtypeMismatch, isCastable } from "./cast.js";
import { type Fault, oneOf, type Place, valueError } from "./issues.js";
import { integerFrom } from "./scalars.js";
import { invalid, membersOf, missing, noObject, type Validation } from "./validate.js";

export function takeShapeDType(
  node: ShapeDTypeNode,
  value: unknown,
  place: Place | undefined,
  run: Validation,
): unknown {
  // Other members are ignored, so that an encoded array passes too.
  const members = membersOf(value);
  if (members === undefined) return run.fault(place, noObject, value);
  const shape = takeShape(members.shape, { parent: place, key: "shape" }, value, run);
  const dtypeAt = { parent: place, key: "dtype" };
  let { dtype } = members;
  if (dtype === undefined) {
    run.fault(dtypeAt, missing, value);
  } else if (!isDType(dtype)) {
    const expected = oneOf(listedDtypes);
    run.fault(dtypeAt, { type: "literal_error", msg: `It is none of ${expected}`, ctx: { expected } }, dtype);
    dtype = undefined;
  }
  if (shape === invalid || !isDType(dtype)) return invalid;
  const sizes = shape as readonly number[];
  const fault = shapeFault(sizes, node);
  if (fault !== undefined) return run.fault(place, fault, value);
  if (node.dtype !== "any dtype" && !(run.arrays.strict ? dtype === node.dtype : isCastable(dtype, node.dtype))) {
    return run.fault(place, dtypeMismatch(dtype, node.dtype), value);
  }
  run.lower(0);
  return { shape: sizes, dtype: node.dtype === "any dtype" ? dtype : node.dtype };
}

function takeShape(shape: unknown, place: Place, owner: unknown, run: Validation): unknown {
  if (shape === undefined) return run.fault(place, missing, owner);
  if (!Array.isArray(shape)) return run.fault(place, { type: "tuple_type", msg: "A list of sizes is wanted" }, shape);
  let wrong = false;
  const sizes = shape.map((size: unknown, index) => {
    const found = integerFrom(size);
    if (found.ok) return found.value;
    wrong = true;
    return run.fault({ parent: place, key: index }, found.fault, size);
  });
  return wrong ? invalid : sizes;
}

function shapeFault(shape: readonly number[], { shape: wanted }: ShapeDTypeNode): Fault | undefined {
  if (wanted === "any rank") return undefined;
  const fits = shape.length === wanted.length && wanted.every((size, index) => size === null || size === shape[index]);
  if (fits) return undefined;
  const show = (sizes: readonly (number | null)[]): string => `[${sizes.map((size) => size ?? "any").join(", ")}]`;
  return valueError(`The shape ${show(shape)} doesn't fit ${show(wanted)}`);
}
