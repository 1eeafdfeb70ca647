/** A schema as this package works with it: what Zod says, in the terms of the reference's own validation. */
import type { ArrayTraits } from "./array.js";

/** Limits of numbers, strings and lists; undefined where there is none. */
export interface NumberLimits {
  readonly ge?: number;
  readonly gt?: number;
  readonly le?: number;
  readonly lt?: number;
  readonly multipleOf?: number;
}

export interface LengthLimits {
  readonly minLength?: number;
  readonly maxLength?: number;
}

/** A rule of the author's own, such as `.refine(...)`. */
export interface Rule {
  /** The value, which the rule may have changed (`.trim()`), and what is wrong with it, if anything is. */
  apply(value: unknown): { readonly value: unknown; readonly fault?: string };
  /** The kind of the fault, as an issue has it. */
  readonly type: "value_error" | "string_pattern_mismatch";
  readonly pattern?: string;
}

interface Described {
  readonly title?: string;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly rules?: readonly Rule[];
}

export interface Field {
  readonly name: string;
  readonly node: SchemaNode;
  /** Where the field isn't sent. Undefined: then it is an error, unless `optional`. */
  readonly fallback?: Fallback;
  readonly optional: boolean;
}

export interface Fallback {
  /** A fresh value for each call. */
  value(): unknown;
  /** Whether it is checked and converted as if it had been sent. */
  readonly validated: boolean;
}

export interface ObjectNode extends Described {
  readonly kind: "object";
  /** The name of the model, without the prefix of an endpoint: `Affine`. */
  readonly name: string;
  readonly fields: readonly Field[];
  /** What becomes of members that no field has. */
  readonly extra: "forbid" | "allow";
}

export type ArrayNode = Described & ArrayTraits & { readonly kind: "array" };

/** What stands for an array in `abstract_eval`. */
export type ShapeDTypeNode = Described & ArrayTraits & { readonly kind: "shapeDtype" };

export type SchemaNode = Described &
  (
    | ObjectNode
    | ArrayNode
    | ShapeDTypeNode
    | ({ readonly kind: "list"; readonly item: SchemaNode } & LengthLimits)
    | { readonly kind: "tuple"; readonly items: readonly SchemaNode[]; readonly rest?: SchemaNode }
    | { readonly kind: "record"; readonly value: SchemaNode; readonly key: SchemaNode }
    | { readonly kind: "union"; readonly options: readonly SchemaNode[]; readonly discriminator?: string }
    | { readonly kind: "nullable"; readonly inner: SchemaNode }
    | ({ readonly kind: "number" | "integer" | "bigint" } & NumberLimits)
    | ({ readonly kind: "string" } & LengthLimits)
    | { readonly kind: "boolean" | "null" | "any" }
    | { readonly kind: "literal"; readonly values: readonly LiteralValue[] }
  );

export type LiteralValue = string | number | boolean | null;

/** The schema of `abstract_eval`: arrays are replaced by their shapes and dtypes. */
export function abstractNode(node: SchemaNode): SchemaNode {
  switch (node.kind) {
    case "array":
      return { ...node, kind: "shapeDtype" };
    case "object":
      return abstractObject(node);
    case "list":
      return { ...node, item: abstractNode(node.item) };
    case "tuple":
      return {
        ...node,
        items: node.items.map(abstractNode),
        ...(node.rest === undefined ? {} : { rest: abstractNode(node.rest) }),
      };
    case "record":
      return { ...node, value: abstractNode(node.value) };
    case "union":
      return { ...node, options: node.options.map(abstractNode) };
    case "nullable":
      return { ...node, inner: abstractNode(node.inner) };
    default:
      return node;
  }
}

export const abstractObject = (node: ObjectNode): ObjectNode => ({
  ...node,
  fields: node.fields.map((field) => ({ ...field, node: abstractNode(field.node) })),
});
