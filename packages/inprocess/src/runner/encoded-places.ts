/** Finds the encoded arrays of a body that has just been read, where the schema wants arrays. */
import type { CudaArray, HostArray } from "@tesseract-ts/core";
import type { ArrayTraits } from "../schema/array.js";
import type { SchemaNode } from "../schema/node.js";
import type { ArrayPattern } from "../schema/paths.js";
import { noCastFault } from "../validate/arrays.js";
import { encodedArrayOf } from "../validate/encoded.js";
import type { Encodings } from "../validate/encodings.js";
import { isRecord } from "../validate/forms.js";
import { locationOf, type Place } from "../validate/issues.js";
import type { EncodedPlace, RunnerRoute } from "./contract.js";
import { memberNames } from "./requests.js";
import type { Schemas } from "./schemas.js";
import type { UndecodableArray } from "./undecodable.js";

type Put = (array: HostArray | CudaArray | UndecodableArray) => void;

/** What is looked for, and has been found. */
class Places {
  readonly found: EncodedPlace[] = [];

  constructor(readonly encodings: Encodings) {}
}

const anyArray: ArrayTraits = { dtype: "any dtype", shape: "any rank", differentiable: false };

/** @param encodings that arrays may come in */
export function encodedArrays(
  schemas: Schemas,
  route: RunnerRoute,
  payload: unknown,
  encodings: Encodings,
): readonly EncodedPlace[] {
  const places = new Places(encodings);
  if (isRecord(payload)) visitBody(schemas, route, payload, undefined, places);
  return places.found;
}

function visitBody(
  schemas: Schemas,
  route: RunnerRoute,
  body: Readonly<Record<string, unknown>>,
  parent: Place | undefined,
  places: Places,
): void {
  if (route === "abstract_eval") return;
  if (route === "test") {
    visitTest(schemas, body, places);
    return;
  }
  visitMember(body, "inputs", schemas.inputs, parent, places);
  if (route === "apply" || route === "jacobian") return;
  const patterns = route === "jacobian_vector_product" ? schemas.differentiableInputs : schemas.differentiableOutputs;
  visitVector(body, memberNames[route].vector, patterns, parent, places);
}

function visitTest(schemas: Schemas, spec: Readonly<Record<string, unknown>>, places: Places): void {
  const { endpoint, payload, expected_outputs: expected } = spec;
  if (endpoint === "abstract_eval" || endpoint === "test") return;
  const route = endpoint as RunnerRoute;
  if (isRecord(payload)) visitBody(schemas, route, payload, { parent: undefined, key: "payload" }, places);
  if (!isRecord(expected)) return;
  const at: Place = { parent: undefined, key: "expected_outputs" };
  if (route === "apply") {
    visitMember(spec, "expected_outputs", schemas.outputs, undefined, places);
  } else if (route === "jacobian") {
    for (const [output, row] of Object.entries(expected)) {
      if (isRecord(row)) visitVector(expected, output, schemas.differentiableInputs, at, places);
    }
  } else {
    const patterns = route === "jacobian_vector_product" ? schemas.differentiableOutputs : schemas.differentiableInputs;
    visitVector(spec, "expected_outputs", patterns, undefined, places);
  }
}

function visitMember(
  owner: Readonly<Record<string, unknown>>,
  key: string,
  node: SchemaNode,
  parent: Place | undefined,
  places: Places,
): void {
  if (Object.hasOwn(owner, key)) visit(node, owner[key], { parent, key }, putIn(owner, key), places);
}

/** Arrays by path, whose shapes and dtypes are seen to later. */
function visitVector(
  owner: Readonly<Record<string, unknown>>,
  name: string,
  patterns: readonly ArrayPattern[],
  parent: Place | undefined,
  places: Places,
): void {
  const vector = Object.hasOwn(owner, name) ? owner[name] : undefined;
  if (!isRecord(vector)) return;
  const at = { parent, key: name };
  for (const key of Object.keys(vector)) {
    // What no path names is refused, and needn't be decoded for it.
    if (patterns.some((pattern) => pattern.matches(key))) {
      visit({ kind: "array", ...anyArray }, vector[key], { parent: at, key }, putIn(vector, key), places);
    }
  }
}

/** The body is freshly read, and the key one of its own members, so no other object is reached. */
const putIn =
  (owner: object, key: string | number): Put =>
  (array) =>
    Object.defineProperty(owner, key, { value: array, enumerable: true, writable: true, configurable: true });

function visit(node: SchemaNode, value: unknown, at: Place, put: Put, places: Places): void {
  if (typeof value !== "object" || value === null) return;
  switch (node.kind) {
    case "array": {
      const encoded = isRecord(value) ? encodedArrayOf(value, node, places.encodings) : undefined;
      if (encoded === undefined || encoded.data.encoding === "json") return;
      // Memory of a GPU isn't mapped for an array that will be refused.
      const { shape, dtype, data } = encoded;
      if (places.encodings.get(data.encoding)?.onDevice === true && noCastFault(shape, dtype, node) !== undefined)
        return;
      places.found.push({ loc: locationOf(at), shape, dtype, data, put });
      return;
    }
    case "object":
      if (!isRecord(value)) return;
      for (const field of node.fields) visitMember(value, field.name, field.node, at, places);
      return;
    case "list":
    case "tuple":
      if (!Array.isArray(value)) return;
      value.forEach((item: unknown, index) => {
        const child = node.kind === "list" ? node.item : (node.items[index] ?? node.rest);
        if (child !== undefined) visit(child, item, { parent: at, key: index }, putIn(value, index), places);
      });
      return;
    case "record":
      if (!isRecord(value)) return;
      for (const key of Object.keys(value)) visitMember(value, key, node.value, at, places);
      return;
    case "union": {
      // Several options may admit the same array.
      const seen = new Set<string>();
      for (const option of node.options) {
        const own = new Places(places.encodings);
        visit(option, value, at, put, own);
        for (const place of own.found) {
          const location = JSON.stringify(place.loc);
          if (!seen.has(location)) places.found.push(place);
          seen.add(location);
        }
      }
      return;
    }
    case "nullable":
      visit(node.inner, value, at, put, places);
      return;
    default:
      return;
  }
}
