/** Checks a tree against a schema, and converts it, with the faults that the reference finds at the places it gives. */
import { isHostArray } from "@tesseract-ts/core";
import { isWrittenFloat } from "@tesseract-ts/core/message";
import type { RequestIssue } from "../runner/contract.js";
import type { Field, ObjectNode, SchemaNode } from "../schema/node.js";
import { type ArrayMode, isFault, takeArray } from "./arrays.js";
import { isRecord } from "./forms.js";
import { type Fault, issueAt, type Place, valueError } from "./issues.js";
import * as scalars from "./scalars.js";
import { takeShapeDType } from "./shape-dtype.js";
import { validateUnion } from "./union.js";

/** What {@link validate} returns where something is wrong; the issues say what. */
export const invalid: unique symbol = Symbol("invalid");

/** One validation, of a request or of an endpoint's results. */
export class Validation {
  readonly issues: RequestIssue[] = [];
  /** How well the value fits so far; a union starts it afresh for each option. */
  exactness: scalars.Exactness = 2;
  /** How many members of objects were given, where there was an object. */
  fieldsSet: number | undefined;
  /** Whether the value that is checked next is a number that was written as a float. */
  isFloat = false;

  constructor(
    readonly arrays: ArrayMode,
    /** What the names of models begin with, in places of unions: `Apply_`. */
    readonly modelPrefix: string,
  ) {}

  fault(place: Place | undefined, fault: Fault, input: unknown): typeof invalid {
    this.issues.push(issueAt(place, fault, input));
    return invalid;
  }

  lower(exactness: scalars.Exactness): void {
    if (exactness < this.exactness) this.exactness = exactness;
  }
}

export function validate(node: SchemaNode, value: unknown, place: Place | undefined, run: Validation): unknown {
  const result = validateForm(node, value, place, run);
  if (result === invalid || node.rules === undefined) return result;
  let checked = result;
  for (const rule of node.rules) {
    const { value: next, fault } = rule.apply(checked);
    if (fault !== undefined) {
      const ctx = rule.pattern === undefined ? undefined : { pattern: rule.pattern };
      return run.fault(place, ctx === undefined ? valueError(fault) : { type: rule.type, msg: fault, ctx }, value);
    }
    checked = next;
  }
  return checked;
}

function validateForm(node: SchemaNode, value: unknown, place: Place | undefined, run: Validation): unknown {
  switch (node.kind) {
    case "array": {
      const array = takeArray(value, node, run.arrays, run.isFloat && typeof value === "number");
      if (isFault(array)) return run.fault(place, array, value);
      run.lower(0);
      return array;
    }
    case "shapeDtype":
      return takeShapeDType(node, value, place, run);
    case "object":
      return validateObject(node, value, place, run);
    case "list": {
      if (!Array.isArray(value)) return run.fault(place, { type: "list_type", msg: "A list is wanted" }, value);
      const fault = scalars.listLengthFault(value.length, node, "List");
      if (fault !== undefined) return run.fault(place, fault, value);
      return validateItems(value, () => node.item, place, run);
    }
    case "tuple":
      return validateTuple(node, value, place, run);
    case "record":
      return validateRecord(node, value, place, run);
    case "union":
      return validateUnion(node, value, place, run);
    case "nullable":
      return value === null ? null : validate(node.inner, value, place, run);
    case "any":
      return value;
    case "number":
    case "integer":
    case "bigint": {
      const from = { number: scalars.floatFrom, integer: scalars.integerFrom, bigint: scalars.bigintFrom }[node.kind];
      const result = settle(from(value), value, place, run);
      if (result === invalid) return invalid;
      const fault = scalars.limitFault(result as number | bigint, node);
      return fault === undefined ? result : run.fault(place, fault, value);
    }
    case "string": {
      const result = settle(scalars.stringFrom(value), value, place, run);
      if (result === invalid) return invalid;
      const fault = scalars.textLengthFault(result as string, node);
      return fault === undefined ? result : run.fault(place, fault, value);
    }
    case "boolean":
      return settle(scalars.booleanFrom(value), value, place, run);
    case "null":
      return settle(scalars.nullFrom(value), value, place, run);
    case "literal":
      return settle(scalars.literalFrom(value, node.values), value, place, run);
  }
}

function settle(scalar: scalars.Scalar, input: unknown, place: Place | undefined, run: Validation): unknown {
  if (!scalar.ok) return run.fault(place, scalar.fault, input);
  run.lower(scalar.exactness);
  return scalar.value;
}

export const missing: Fault = { type: "missing", msg: "It is missing" };
export const extraForbidden: Fault = { type: "extra_forbidden", msg: "The schema has no such member" };
export const noObject: Fault = { type: "model_attributes_type", msg: "An object is wanted" };

/** The members of a value that stands for a JSON object; an array in memory stands for an encoded one. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (isRecord(value)) {
    return isHostArray(value) ? { object_type: "array", shape: value.shape, dtype: value.dtype, data: {} } : value;
  }
  return undefined;
}

function validateObject(node: ObjectNode, value: unknown, place: Place | undefined, run: Validation): unknown {
  const members = membersOf(value);
  if (members === undefined) return run.fault(place, noObject, value);
  const result: Record<string, unknown> = {};
  let wrong = false;
  let given = 0;
  for (const field of node.fields) {
    const at = { parent: place, key: field.name };
    const member = Object.hasOwn(members, field.name) ? members[field.name] : undefined;
    if (member !== undefined) given++;
    run.isFloat = isWrittenFloat(members, field.name);
    const checked = member === undefined ? absent(field, at, value, run) : validate(field.node, member, at, run);
    if (checked === invalid) wrong = true;
    else if (checked !== undefined) result[field.name] = checked;
  }
  for (const key of Object.keys(members)) {
    if (node.fields.some(({ name }) => name === key) || members[key] === undefined) continue;
    if (node.extra === "forbid") {
      run.fault({ parent: place, key }, extraForbidden, members[key]);
      wrong = true;
    } else {
      setMember(result, key, members[key]);
    }
  }
  run.lower(0);
  run.fieldsSet = (run.fieldsSet ?? 0) + given;
  return wrong ? invalid : result;
}

/** What an object has where a member wasn't sent; undefined for nothing. */
function absent(field: Field, at: Place, object: unknown, run: Validation): unknown {
  const { fallback } = field;
  if (fallback !== undefined) {
    const value = fallback.value();
    if (field.node.kind === "shapeDtype" || !fallback.validated) return abstractDefault(field.node, value);
    return validate(field.node, value, at, new Validation({ received: false, strict: false }, run.modelPrefix));
  }
  return field.optional ? undefined : run.fault(at, missing, object);
}

function abstractDefault(node: SchemaNode, value: unknown): unknown {
  if (node.kind !== "shapeDtype") return value;
  const array = takeArray(value, node, { received: false, strict: false });
  return isFault(array) || !isHostArray(array) ? value : { shape: array.shape, dtype: array.dtype };
}

function validateItems(
  list: readonly unknown[],
  nodeOf: (index: number) => SchemaNode | undefined,
  place: Place | undefined,
  run: Validation,
): unknown {
  const result: unknown[] = [];
  let wrong = false;
  for (let index = 0; index < list.length; index++) {
    const node = nodeOf(index);
    if (node === undefined) continue;
    // Of a list it is known only that one of its numbers was written as a float.
    run.isFloat = false;
    const checked = validate(node, list[index], { parent: place, key: index }, run);
    if (checked === invalid) wrong = true;
    else result.push(checked);
  }
  return wrong ? invalid : result;
}

function validateTuple(
  node: Extract<SchemaNode, { kind: "tuple" }>,
  value: unknown,
  place: Place | undefined,
  run: Validation,
): unknown {
  if (!Array.isArray(value))
    return run.fault(place, { type: "tuple_type", msg: "A list of fixed length is wanted" }, value);
  const { items, rest } = node;
  if (rest === undefined && value.length > items.length) {
    const fault = scalars.listLengthFault(value.length, { maxLength: items.length }, "Tuple");
    if (fault !== undefined) return run.fault(place, fault, value);
  }
  const checked = validateItems(value, (index) => items[index] ?? rest, place, run);
  for (let index = value.length; index < items.length; index++) {
    run.fault({ parent: place, key: index }, missing, value);
  }
  return value.length < items.length ? invalid : checked;
}

function validateRecord(
  node: Extract<SchemaNode, { kind: "record" }>,
  value: unknown,
  place: Place | undefined,
  run: Validation,
): unknown {
  const members = membersOf(value);
  if (members === undefined) return run.fault(place, { type: "dict_type", msg: "An object is wanted" }, value);
  const result: Record<string, unknown> = {};
  let wrong = false;
  for (const [key, member] of Object.entries(members)) {
    if (member === undefined) continue;
    const at = { parent: place, key };
    const name = validate(node.key, key, { parent: at, key: "[key]" }, run);
    run.isFloat = isWrittenFloat(members, key);
    const checked = validate(node.value, member, at, run);
    if (name === invalid || checked === invalid) wrong = true;
    else setMember(result, String(name), checked);
  }
  return wrong ? invalid : result;
}

/** A key "__proto__" stays a key. */
function setMember(record: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(record, key, { value, enumerable: true, writable: true, configurable: true });
  else record[key] = value;
}
