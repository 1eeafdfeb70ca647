/** Reads a Zod schema. What can't stand in a Tesseract's schema is refused when the Tesseract is defined. */
import { type HostArray, isHostArray, makeHostArray, TesseractError } from "@tesseract-ts/core";
import { z } from "zod";
import { arrayTraitsOf } from "./array.js";
import { isInteger, limitsOf, rulesOf } from "./checks.js";
import type { Fallback, Field, LiteralValue, ObjectNode, SchemaNode } from "./node.js";

type AnyZod = z.core.$ZodType;

/**
 * @param name what the model is called: `InputSchema`
 * @throws TesseractError INVALID_ARGUMENT, naming the place
 */
export function objectFromZod(schema: AnyZod, name: string): ObjectNode {
  if (!(schema instanceof z.core.$ZodType)) {
    throw unfit("", `${name} is no schema of this Zod`, "Make it with z.object(…), from the same installation of zod.");
  }
  const node = new Reader().read(schema, "", name);
  if (node.kind !== "object") throw unfit("", `${name} is no object`, "Use z.object({ … }).");
  return node;
}

/** Keeps which schemas it is inside of, so that one that contains itself is found. */
class Reader {
  private readonly inside = new Set<AnyZod>();

  read(schema: AnyZod, path: string, name: string): SchemaNode {
    if (this.inside.has(schema)) throw unfit(path, "a schema that contains itself", "Tesseracts have none that do.");
    this.inside.add(schema);
    const node = this.readOne(schema as z.core.$ZodTypes, path, name);
    this.inside.delete(schema);
    const about = z.globalRegistry.get(schema);
    const rules = [...(node.rules ?? []), ...rulesOf(schema)];
    return {
      ...node,
      ...(typeof about?.title === "string" ? { title: about.title } : {}),
      ...(typeof about?.description === "string" ? { description: about.description } : {}),
      ...(Array.isArray(about?.examples) ? { examples: about.examples } : {}),
      ...(rules.length === 0 ? {} : { rules }),
    };
  }

  private readOne(schema: z.core.$ZodTypes, path: string, name: string): SchemaNode {
    const traits = arrayTraitsOf(schema);
    if (traits !== undefined) return { kind: "array", ...traits };
    const { def } = schema._zod;
    switch (def.type) {
      case "object":
        return this.readObject(schema as z.core.$ZodObject, path, name);
      case "array":
        return { kind: "list", item: this.read(def.element, `${path}.[]`, singular(name)), ...limitsOf(schema) };
      case "tuple":
        return {
          kind: "tuple",
          items: def.items.map((item, index) => this.read(item, `${path}.[]`, `${name}${index}`)),
          ...(def.rest === null ? {} : { rest: this.read(def.rest, `${path}.[]`, name) }),
        };
      case "record": {
        const key = this.read(def.keyType, `${path}.{}`, name);
        if (key.kind !== "string")
          throw unfit(path, "a record whose keys are no strings", "Use z.record(z.string(), …).");
        return { kind: "record", key, value: this.read(def.valueType, `${path}.{}`, singular(name)) };
      }
      case "union":
        return this.readUnion(schema as z.core.$ZodUnion | z.core.$ZodDiscriminatedUnion, path, name);
      case "nullable":
        return nullable(this.read(def.innerType, path, name));
      case "optional":
      case "default":
      case "prefault":
      case "readonly":
      case "nonoptional":
        // Whether a field may be left out is its object's affair: readField.
        return this.read(def.innerType, path, name);
      case "number":
        return { kind: isInteger(schema) ? "integer" : "number", ...limitsOf(schema) };
      case "bigint":
        return { kind: "bigint", ...limitsOf(schema) };
      case "string":
        return { kind: "string", ...limitsOf(schema) };
      case "boolean":
      case "null":
        return { kind: def.type };
      case "any":
      case "unknown":
        return { kind: "any" };
      case "literal":
        return { kind: "literal", values: def.values.map((value) => literalValue(value, path)) };
      case "enum":
        return { kind: "literal", values: [...(schema._zod.values ?? [])].map((value) => literalValue(value, path)) };
      default:
        throw unfit(
          path,
          `a Zod type "${def.type}"`,
          "What can cross to other languages: objects, arrays, lists, tuples, records, unions, literals, numbers, strings and booleans.",
        );
    }
  }

  private readObject(schema: z.core.$ZodObject, path: string, suggested: string): ObjectNode {
    const { shape, catchall } = schema._zod.def;
    const { id, title } = z.globalRegistry.get(schema) ?? {};
    const named = typeof id === "string" ? id : typeof title === "string" && /^\w+$/.test(title) ? title : undefined;
    const kind = catchall?._zod.def.type;
    if (kind !== undefined && kind !== "never" && kind !== "unknown" && kind !== "any") {
      throw unfit(
        path,
        "an object with a catchall",
        "Put free-form members into a z.record(z.string(), …) of their own.",
      );
    }
    return {
      kind: "object",
      name: named ?? suggested,
      fields: Object.entries(shape).map(([name, field]) => this.readField(field, path, name)),
      extra: kind === "unknown" || kind === "any" ? "allow" : "forbid",
    };
  }

  private readField(schema: AnyZod, parent: string, name: string): Field {
    const path = parent === "" ? name : `${parent}.${name}`;
    if (!/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name)) {
      throw unfit(
        path,
        `a field called ${JSON.stringify(name)}`,
        "Use a name of letters, digits and _, or a z.record.",
      );
    }
    const node = this.read(schema, path, pascalCase(name));
    const fallback = fallbackOf(schema);
    return { name, node, optional: isOptional(schema), ...(fallback === undefined ? {} : { fallback }) };
  }

  private readUnion(schema: z.core.$ZodUnion | z.core.$ZodDiscriminatedUnion, path: string, name: string): SchemaNode {
    const { def } = schema._zod;
    const options = def.options.map((option, index) => this.read(option, path, `${name}${index + 1}`));
    const others = options.filter(({ kind }) => kind !== "null");
    const [first] = others;
    if (first === undefined) throw unfit(path, "a union of nothing");
    const discriminator = "discriminator" in def ? def.discriminator : undefined;
    const union: SchemaNode =
      others.length === 1
        ? first
        : { kind: "union", options: others, ...(discriminator === undefined ? {} : { discriminator }) };
    return others.length === options.length ? union : nullable(union);
  }
}

const nullable = (inner: SchemaNode): SchemaNode =>
  inner.kind === "nullable" || inner.kind === "null" || inner.kind === "any" ? inner : { kind: "nullable", inner };

function literalValue(value: unknown, path: string): LiteralValue {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean" || value === null)
    return value;
  throw unfit(path, `a literal ${typeof value}`);
}

/** The types that wrap another and say something of it. */
const inner = (schema: AnyZod): AnyZod | undefined => {
  const def = schema._zod.def as { readonly type: string; readonly innerType?: AnyZod };
  return arrayTraitsOf(schema) === undefined && def.type !== "nonoptional" ? def.innerType : undefined;
};

function isOptional(schema: AnyZod): boolean {
  for (let at: AnyZod | undefined = schema; at !== undefined; at = inner(at)) {
    if (at._zod.def.type === "optional") return true;
  }
  return false;
}

function fallbackOf(schema: AnyZod): Fallback | undefined {
  for (let at: AnyZod | undefined = schema; at !== undefined; at = inner(at)) {
    const def = at._zod.def as { readonly type: string; readonly defaultValue?: unknown };
    if (def.type === "default" || def.type === "prefault") {
      // Zod's `defaultValue` is a getter, which calls the author's function if it is one.
      return { value: () => ownCopy(def.defaultValue), validated: def.type === "prefault" };
    }
  }
  return undefined;
}

/** A default is one value for all calls, so each gets arrays of its own. */
function ownCopy(value: unknown): unknown {
  if (isHostArray(value)) return copyOf(value);
  if (ArrayBuffer.isView(value)) return structuredClone(value);
  if (Array.isArray(value)) return value.map(ownCopy);
  if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, ownCopy(member)]));
  }
  return value;
}

/** The array with memory of its own. */
export const copyOf = (array: HostArray): HostArray => makeHostArray(array.dtype, array.shape, array.data.slice());

const pascalCase = (name: string): string =>
  name.replace(/(?:^|_+)(\p{L}|\p{N})/gu, (_, letter: string) => letter.toUpperCase());

const singular = (name: string): string => (/[^s]s$/.test(name) ? name.slice(0, -1) : `${name}Item`);

function unfit(path: string, what: string, hint?: string): TesseractError {
  const place = path === "" ? "The schema" : `The schema at "${path.replace(/^\./, "")}"`;
  return new TesseractError("INVALID_ARGUMENT", `${place} has ${what}`, { hint });
}
