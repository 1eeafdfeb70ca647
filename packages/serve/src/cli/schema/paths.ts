/** Paths of differentiable arrays in a tree: `affine.matrix`, `terms.[2]`, `weights.{key}`. */
import { isHostArray, type OpenApiSchema } from "@tesseract-ts/core";

type Tree = { readonly [member: string]: unknown };

/** The templates that the document gives: `terms.[]`, `weights.{}`. */
export function differentiableTemplates(document: OpenApiSchema, side: "inputs" | "outputs"): readonly string[] {
  const name = side === "inputs" ? "ApplyInputSchema" : "ApplyOutputSchema";
  const schema = at(at(at(document, "components"), "schemas"), name);
  return Object.keys(at(schema, "differentiable_arrays"));
}

const at = (record: unknown, key: string): Tree => {
  const value = typeof record === "object" && record !== null ? (record as Tree)[key] : undefined;
  return typeof value === "object" && value !== null ? (value as Tree) : {};
};

/** A place of a tree, with what is there. */
export interface Place {
  readonly path: string;
  readonly value: unknown;
}

/** The places of a tree that a template means; those that aren't there are left out. */
export function placesOf(template: string, tree: unknown): readonly Place[] {
  let places: readonly Place[] = [{ path: "", value: tree }];
  for (const part of template.split(".")) {
    places = places.flatMap(({ path, value }) => {
      const under = (step: string, member: unknown): Place => ({
        path: path === "" ? step : `${path}.${step}`,
        value: member,
      });
      if (typeof value !== "object" || value === null || isHostArray(value)) return [];
      if (part === "[]") return Array.isArray(value) ? value.map((item, index) => under(`[${index}]`, item)) : [];
      if (Array.isArray(value)) return [];
      if (part === "{}") {
        return Object.entries(value).map(([key, member]) => under(`{${key.replace(/[\\{}]/g, "\\$&")}}`, member));
      }
      return Object.hasOwn(value, part) ? [under(part, (value as Tree)[part])] : [];
    });
  }
  return places.filter(({ value }) => value !== undefined && value !== null);
}

/** Places of all templates. */
export const placesOfAll = (templates: readonly string[], tree: unknown): readonly Place[] =>
  templates.flatMap((template) => placesOf(template, tree));

/** The value at a path; undefined if there is none. */
export function valueAt(tree: unknown, path: string): unknown {
  let value = tree;
  for (const step of stepsOf(path)) {
    if (typeof value !== "object" || value === null) return undefined;
    const key = /^\[\d+\]$/.test(step) || step.startsWith("{") ? step.slice(1, -1).replace(/\\(.)/gs, "$1") : step;
    if (!Object.hasOwn(value, key)) return undefined;
    value = (value as Tree)[key];
  }
  return value;
}

/** A dot within braces belongs to a key. */
function stepsOf(path: string): readonly string[] {
  const steps = path.match(/\{(?:\\.|[^\\}])*\}|[^.]+/gs);
  return steps ?? [];
}
