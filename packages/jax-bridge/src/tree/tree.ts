/** Trees: plain objects and lists with leaves, as jax-js has them, and with static values besides. */

export type Structure =
  | { readonly kind: "leaf" }
  | { readonly kind: "static"; readonly value: unknown }
  | { readonly kind: "list"; readonly items: readonly Structure[] }
  | { readonly kind: "record"; readonly keys: readonly string[]; readonly items: readonly Structure[] };

export interface FlatTree<L> {
  readonly leaves: readonly L[];
  readonly structure: Structure;
}

const leaf: Structure = { kind: "leaf" };

/** @param isLeaf which values are leaves; what is neither that nor a list or plain object is static */
export function flatten<L>(tree: unknown, isLeaf: (value: unknown) => value is L): FlatTree<L> {
  const leaves: L[] = [];
  const visit = (value: unknown): Structure => {
    if (isLeaf(value)) {
      leaves.push(value);
      return leaf;
    }
    if (Array.isArray(value)) return { kind: "list", items: value.map(visit) };
    if (isRecord(value)) {
      const keys = Object.keys(value).filter((key) => value[key] !== undefined);
      return { kind: "record", keys, items: keys.map((key) => visit(value[key])) };
    }
    return { kind: "static", value };
  };
  const structure = visit(tree);
  return { leaves, structure };
}

/** The tree with `leaves` in place, in the order of {@link flatten}. */
export function unflatten(structure: Structure, leaves: readonly unknown[]): unknown {
  let next = 0;
  const build = (node: Structure): unknown => {
    switch (node.kind) {
      case "leaf":
        return leaves[next++];
      case "static":
        return node.value;
      case "list":
        return node.items.map(build);
      case "record":
        // fromEntries defines own members, so that a key "__proto__" stays a key.
        return Object.fromEntries(node.keys.map((key, index) => [key, build(node.items[index] ?? leaf)]));
    }
  };
  return build(structure);
}

export function leafCount(structure: Structure): number {
  switch (structure.kind) {
    case "leaf":
      return 1;
    case "static":
      return 0;
    default:
      return structure.items.reduce((count, item) => count + leafCount(item), 0);
  }
}

/** The way to each leaf: keys as they are, indices in brackets. */
export function leafSegments(structure: Structure): readonly (readonly string[])[] {
  const found: string[][] = [];
  walk(structure, [], (node, segments) => {
    if (node.kind === "leaf") found.push([...segments]);
  });
  return found;
}

/** Visits each leaf and static value. */
export function walk(
  structure: Structure,
  segments: readonly string[],
  visit: (node: Structure, segments: readonly string[]) => void,
): void {
  if (structure.kind === "leaf" || structure.kind === "static") {
    visit(structure, segments);
    return;
  }
  structure.items.forEach((item, index) => {
    walk(item, [...segments, structure.kind === "list" ? `[${index}]` : (structure.keys[index] ?? "")], visit);
  });
}

const identities = new WeakMap<object, number>();
let lastIdentity = 0;

/** Equal for structures that are equal. */
export function structureKey(structure: Structure): string {
  switch (structure.kind) {
    case "leaf":
      return "*";
    case "static":
      return staticKey(structure.value);
    case "list":
      return `[${structure.items.map(structureKey).join(",")}]`;
    case "record":
      return `{${structure.keys.map((key, index) => `${JSON.stringify(key)}:${structureKey(structure.items[index] ?? leaf)}`).join(",")}}`;
  }
}

function staticKey(value: unknown): string {
  if ((typeof value === "object" && value !== null) || typeof value === "function") {
    // Something of a class of its own is equal to itself only.
    let identity = identities.get(value);
    if (identity === undefined) {
      lastIdentity += 1;
      identity = lastIdentity;
      identities.set(value, identity);
    }
    return `#${identity}`;
  }
  return typeof value === "string" ? JSON.stringify(value) : `${typeof value}:${String(value)}`;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // A plain object of another realm has a prototype that itself has none.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
