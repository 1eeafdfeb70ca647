/** The option of a union that fits a value best, as the reference chooses it. */
import type { SchemaNode } from "../schema/node.js";
import { type Fault, oneOf, type Place, pythonWord } from "./issues.js";
import type { Exactness } from "./scalars.js";
import { invalid, membersOf, noObject, Validation, validate } from "./validate.js";

type UnionNode = Extract<SchemaNode, { kind: "union" }>;

export function validateUnion(node: UnionNode, value: unknown, place: Place | undefined, run: Validation): unknown {
  if (node.discriminator !== undefined) return validateTagged(node, node.discriminator, value, place, run);
  let best:
    | { readonly value: unknown; readonly exactness: Exactness; readonly fieldsSet: number | undefined }
    | undefined;
  const faults: Validation["issues"] = [];
  for (const option of node.options) {
    const attempt = new Validation(run.arrays, run.modelPrefix);
    const result = validate(option, value, { parent: place, key: labelOf(option, run.modelPrefix) }, attempt);
    if (result === invalid) {
      faults.push(...attempt.issues);
      continue;
    }
    const { exactness, fieldsSet } = attempt;
    if (exactness === 2 && fieldsSet === undefined) return result;
    const better =
      best === undefined ||
      (best.fieldsSet !== undefined && fieldsSet !== undefined && best.fieldsSet !== fieldsSet
        ? fieldsSet > best.fieldsSet
        : exactness > best.exactness);
    if (better) best = { value: result, exactness, fieldsSet };
  }
  if (best === undefined) {
    run.issues.push(...faults);
    return invalid;
  }
  run.lower(best.exactness);
  if (best.fieldsSet !== undefined) run.fieldsSet = (run.fieldsSet ?? 0) + best.fieldsSet;
  return best.value;
}

function validateTagged(
  node: UnionNode,
  discriminator: string,
  value: unknown,
  place: Place | undefined,
  run: Validation,
): unknown {
  const members = membersOf(value);
  if (members === undefined) return run.fault(place, noObject, value);
  const tag = Object.hasOwn(members, discriminator) ? members[discriminator] : undefined;
  const named = { discriminator: `'${discriminator}'` };
  if (tag === undefined) {
    const fault: Fault = { type: "union_tag_not_found", msg: `The member "${discriminator}" is missing`, ctx: named };
    return run.fault(place, fault, value);
  }
  const option = node.options.find((candidate) => tagsOf(candidate, discriminator).includes(tag));
  if (option === undefined) {
    const expected = node.options.flatMap((candidate) => tagsOf(candidate, discriminator));
    const fault: Fault = {
      type: "union_tag_invalid",
      msg: `The member "${discriminator}" is none of ${oneOf(expected)}`,
      ctx: { ...named, tag: pythonWord(tag), expected_tags: expected.map((name) => oneOf([name])).join(", ") },
    };
    return run.fault(place, fault, value);
  }
  return validate(option, value, { parent: place, key: String(tag) }, run);
}

export function tagsOf(option: SchemaNode, discriminator: string): readonly unknown[] {
  const field = option.kind === "object" ? option.fields.find(({ name }) => name === discriminator) : undefined;
  return field?.node.kind === "literal" ? field.node.values : [];
}

/**
 * How a place names an option of a union, in the reference's words. Its name for arrays has the address of a function in
 * it, so that no two servers have the same; here they are "array".
 */
export function labelOf(node: SchemaNode, modelPrefix: string): string {
  const label = (inner: SchemaNode): string => labelOf(inner, modelPrefix);
  switch (node.kind) {
    case "object":
      return `${modelPrefix}${node.name}`;
    case "array":
    case "shapeDtype":
      return "array";
    case "list":
      return `list[${label(node.item)}]`;
    case "tuple":
      return `tuple[${node.items.map(label).join(", ")}]`;
    case "record":
      return `dict[${label(node.key)},${label(node.value)}]`;
    case "nullable":
      return `nullable[${label(node.inner)}]`;
    case "union":
      return node.discriminator === undefined
        ? `union[${node.options.map(label).join(",")}]`
        : `tagged-union[${node.options.map(label).join(",")}]`;
    case "number":
      return hasLimits(node) ? "constrained-float" : "float";
    case "integer":
    case "bigint":
      return hasLimits(node) ? "constrained-int" : "int";
    case "string":
      return hasLimits(node) || node.rules !== undefined ? "constrained-str" : "str";
    case "boolean":
      return "bool";
    case "null":
      return "none";
    case "any":
      return "any";
    case "literal":
      return `literal[${node.values.map((value) => oneOf([value])).join(",")}]`;
  }
}

const hasLimits = (node: SchemaNode): boolean =>
  ["ge", "gt", "le", "lt", "multipleOf", "minLength", "maxLength"].some((limit) => limit in node);
