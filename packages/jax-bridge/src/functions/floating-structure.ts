/** The tree of the tangents or cotangents of a tree. */
import type { Aval } from "../arrays/aval.js";
import { isFloating } from "../arrays/aval.js";
import type { Structure } from "../tree/tree.js";

/** The same tree with null in place of arrays that have no derivative: integers and truth values. */
export function floatingStructure(structure: Structure, values: readonly { readonly aval: Aval }[]): Structure {
  let next = 0;
  const visit = (node: Structure): Structure => {
    switch (node.kind) {
      case "leaf": {
        const value = values[next];
        next += 1;
        return value !== undefined && isFloating(value.aval) ? node : { kind: "static", value: null };
      }
      case "static":
        return node;
      default:
        return { ...node, items: node.items.map(visit) };
    }
  };
  return visit(structure);
}
