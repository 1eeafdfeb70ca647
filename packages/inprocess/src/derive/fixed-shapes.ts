/** `abstractEval` from the output schema alone, where it fixes every shape and dtype. */
import type { ObjectNode, SchemaNode } from "../schema/node.js";

/** What keeps a schema from answering for itself; undefined if nothing does. */
export function fixedShapesFault(schema: ObjectNode): string | undefined {
  for (const field of schema.fields) {
    if (field.optional || field.fallback !== undefined) continue;
    const fault = faultOf(field.node, field.name);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function faultOf(node: SchemaNode, path: string): string | undefined {
  if (node.kind === "array") {
    if (node.dtype === "any dtype") return `the output "${path}" may have any dtype`;
    if (node.shape === "any rank") return `the output "${path}" may have any rank`;
    return node.shape.includes(null) ? `the output "${path}" has a dimension of any size` : undefined;
  }
  if (node.kind === "object") {
    const fault = fixedShapesFault(node);
    return fault === undefined ? undefined : fault.replace('the output "', `the output "${path}.`);
  }
  if (node.kind === "nullable") return undefined;
  if (node.kind === "tuple") {
    for (const [index, item] of node.items.entries()) {
      const fault = faultOf(item, `${path}.[${index}]`);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }
  if (node.kind === "literal" && node.values.length === 1) return undefined;
  return `the output "${path}" is no array, so its value isn't known beforehand`;
}

/** The outputs with each array as its shape and dtype. Members that may be missing are. */
export function fixedShapes(schema: ObjectNode): Record<string, unknown> {
  return Object.fromEntries(
    schema.fields
      .filter(({ optional, fallback }) => !optional && fallback === undefined)
      .map(({ name, node }) => [name, abstractOf(node)]),
  );
}

function abstractOf(node: SchemaNode): unknown {
  switch (node.kind) {
    case "array":
      return { shape: node.shape, dtype: node.dtype };
    case "object":
      return fixedShapes(node);
    case "tuple":
      return node.items.map(abstractOf);
    case "literal":
      return node.values[0];
    default:
      return null;
  }
}
