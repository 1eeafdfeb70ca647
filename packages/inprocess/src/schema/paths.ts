/** Paths into trees: `affine.matrix`, `terms.[2]`, `weights.{key}`. */
import type { ArrayTraits } from "./array.js";
import type { ObjectNode, SchemaNode } from "./node.js";

export type PathPart =
  | { readonly kind: "member"; readonly name: string }
  | { readonly kind: "index"; readonly index: number }
  | { readonly kind: "key"; readonly key: string };

/** Undefined if `path` is none. A dot within braces belongs to the key; a backslash escapes braces and itself. */
export function partsOf(path: string): readonly PathPart[] | undefined {
  const texts: string[] = [""];
  let depth = 0;
  for (let at = 0; at < path.length; at++) {
    const char = path[at] as string;
    if (char === "\\" && at + 1 < path.length) {
      texts.push(`${texts.pop() ?? ""}${char}${path[++at]}`);
      continue;
    }
    if (char === "{") depth++;
    else if (char === "}") depth--;
    if (char === "." && depth === 0) texts.push("");
    else texts.push(`${texts.pop() ?? ""}${char}`);
  }
  const parts: PathPart[] = [];
  for (const text of texts) {
    const index = /^\[(\d+)\]$/.exec(text)?.[1];
    const key = /^\{(.+)\}$/s.exec(text)?.[1];
    if (index !== undefined) parts.push({ kind: "index", index: Number(index) });
    else if (key !== undefined) parts.push({ kind: "key", key: key.replace(/\\(.)/gs, "$1") });
    else if (/^[\p{L}_][\p{L}\p{N}_]*$/u.test(text)) parts.push({ kind: "member", name: text });
    else return undefined;
  }
  return parts;
}

/** The value at a path; undefined if there is none. */
export function valueAt(tree: unknown, path: string): unknown {
  const parts = partsOf(path);
  if (parts === undefined) return undefined;
  let value = tree;
  for (const part of parts) {
    if (typeof value !== "object" || value === null) return undefined;
    const key = keyOf(part);
    if (Array.isArray(value) ? part.kind !== "index" : part.kind === "index") return undefined;
    if (!Object.hasOwn(value, key)) return undefined;
    value = (value as Readonly<Record<string | number, unknown>>)[key];
  }
  return value;
}

const keyOf = (part: PathPart): string | number =>
  part.kind === "index" ? part.index : part.kind === "key" ? part.key : part.name;

/** A copy of the tree with other values at some paths; what isn't on the way to one is shared. */
export function withValuesAt<T>(tree: T, values: Readonly<Record<string, unknown>>): T {
  let result: unknown = tree;
  for (const [path, value] of Object.entries(values)) result = withValueAt(result, partsOf(path) ?? [], value);
  return result as T;
}

function withValueAt(tree: unknown, [part, ...rest]: readonly PathPart[], value: unknown): unknown {
  if (part === undefined) return value;
  const key = keyOf(part);
  if (Array.isArray(tree)) {
    return tree.map((item: unknown, index) => (index === key ? withValueAt(item, rest, value) : item));
  }
  const record = tree as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(record).map(([name, member]) => [name, name === key ? withValueAt(member, rest, value) : member]),
  );
}

/** A differentiable array of a schema. */
export interface ArrayPattern {
  /** As the OpenAPI document names it: `terms.[]`, `weights.{}`. */
  readonly template: string;
  /** As the reference names it in places: a path, or the source of a regular expression. */
  readonly text: string;
  readonly isLiteral: boolean;
  readonly traits: ArrayTraits;
  matches(path: string): boolean;
}

/** The differentiable arrays of a schema, in its order. */
export function differentiableArrays(schema: ObjectNode): readonly ArrayPattern[] {
  const found = new Map<string, ArrayPattern>();
  visitLeaves(schema, [], (node, parts) => {
    if (node.kind !== "array" || !node.differentiable) return;
    const pattern = patternOf(parts, node);
    found.set(pattern.template, pattern);
  });
  return [...found.values()];
}

/** `[]` and `{}` stand for any index and key. */
export type TemplatePart = string;

/** Calls `visit` with each leaf of a schema, which is no object or container, and the way to it. */
export function visitLeaves(
  node: SchemaNode,
  parts: readonly TemplatePart[],
  visit: (leaf: SchemaNode, parts: readonly TemplatePart[]) => void,
): void {
  switch (node.kind) {
    case "object":
      for (const field of node.fields) visitLeaves(field.node, [...parts, field.name], visit);
      break;
    case "list":
      visitLeaves(node.item, [...parts, "[]"], visit);
      break;
    case "tuple":
      for (const item of node.items) visitLeaves(item, [...parts, "[]"], visit);
      break;
    case "record":
      visitLeaves(node.value, [...parts, "{}"], visit);
      break;
    case "union":
      for (const option of node.options) visitLeaves(option, parts, visit);
      break;
    case "nullable":
      visitLeaves(node.inner, parts, visit);
      break;
    default:
      visit(node, parts);
  }
}

function patternOf(parts: readonly TemplatePart[], traits: ArrayTraits): ArrayPattern {
  const template = parts.join(".");
  const isLiteral = !parts.some((part) => part === "[]" || part === "{}");
  if (isLiteral) return { template, text: template, isLiteral, traits, matches: (path) => path === template };
  const text = parts
    .map((part) => (part === "[]" ? "\\[\\d+\\]" : part === "{}" ? "\\{(?:[^{}\\\\]|\\\\.)+\\}" : part))
    .join("\\.");
  const form = new RegExp(`^${text}$`, "u");
  return { template, text: `^${text}$`, isLiteral, traits, matches: (path) => form.test(path) };
}
