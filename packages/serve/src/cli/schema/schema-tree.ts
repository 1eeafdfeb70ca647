/** A Tesseract's schemas as its OpenAPI document has them, in the few kinds that matter to those who call it. */
import { type DType, isDType, type OpenApiSchema, TesseractError } from "@tesseract-ts/core";

export type SchemaTree = { readonly description?: string; readonly fallback?: { readonly value: unknown } } & (
  | {
      readonly kind: "array";
      /** Undefined: any. */
      readonly dtype: DType | undefined;
      /** Undefined: any rank; null: any size. */
      readonly shape: readonly (number | null)[] | undefined;
      readonly isDifferentiable: boolean;
    }
  /** A model, by its name; models may contain themselves. */
  | { readonly kind: "object"; readonly model: string }
  | { readonly kind: "list"; readonly item: SchemaTree; readonly least: number }
  | { readonly kind: "tuple"; readonly items: readonly SchemaTree[] }
  | { readonly kind: "record"; readonly value: SchemaTree }
  | { readonly kind: "union"; readonly options: readonly SchemaTree[] }
  | { readonly kind: "literal"; readonly values: readonly unknown[] }
  | { readonly kind: "number" | "integer"; readonly least: number | undefined; readonly most: number | undefined }
  | { readonly kind: "string" | "boolean" | "null" | "any" }
);

export interface Field {
  readonly name: string;
  readonly tree: SchemaTree;
  readonly isRequired: boolean;
}

export interface Model {
  readonly name: string;
  readonly description: string | undefined;
  readonly fields: readonly Field[];
  /** Whether it may have members that no field names. */
  readonly isOpen: boolean;
}

export interface ApplySchemas {
  readonly title: string;
  readonly description: string | undefined;
  readonly inputs: string;
  readonly outputs: string;
  /** By name. */
  readonly models: ReadonlyMap<string, Model>;
}

type Json = { readonly [keyword: string]: unknown };

/** References that lead nowhere but to another one. */
const MOST_REFERENCES = 50;

/** @throws TesseractError MALFORMED_RESPONSE if the document isn't a Tesseract's */
export function applySchemasOf(document: OpenApiSchema): ApplySchemas {
  const reader = new Reader(recordAt(recordAt(document, "components"), "schemas"));
  const info = recordAt(document, "info");
  const inputs = reader.modelOf("Apply_InputSchema", ["ApplyInputSchema", "inputs"]);
  const outputs = reader.modelOf("Apply_OutputSchema", ["ApplyOutputSchema"]);
  return {
    title: textOf(info.title) ?? "Tesseract",
    description: textOf(info.description),
    inputs,
    outputs,
    models: reader.models,
  };
}

class Reader {
  readonly models = new Map<string, Model>();

  constructor(private readonly schemas: Json) {}

  /**
   * @param usual the model's usual name
   * @param way to it otherwise: a schema, and a property of it
   */
  modelOf(usual: string, [schema = "", property]: readonly string[]): string {
    const outer = recordAt(this.schemas, schema);
    const found = property === undefined ? outer : recordAt(recordAt(outer, "properties"), property);
    const name = referenceOf(found) ?? (usual in this.schemas ? usual : property === undefined ? schema : undefined);
    if (name === undefined || !isRecord(this.schemas[name])) {
      throw new TesseractError("MALFORMED_RESPONSE", `The OpenAPI document has no schema ${usual}`, {
        hint: "Is it a Tesseract's?",
      });
    }
    this.read(name);
    return name;
  }

  /** Reads a model, and those that it consists of. */
  private read(name: string): void {
    if (this.models.has(name)) return;
    const schema = recordAt(this.schemas, name);
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const fields: Field[] = [];
    // Before its fields, which may be of the same kind.
    this.models.set(name, {
      name,
      description: textOf(schema.description),
      fields,
      isOpen: schema.additionalProperties !== false,
    });
    for (const [field, property] of Object.entries(recordAt(schema, "properties"))) {
      fields.push({ name: field, tree: this.tree(property), isRequired: required.has(field) });
    }
  }

  private tree(given: unknown, references = 0): SchemaTree {
    if (!isRecord(given)) return { kind: "any" };
    const description = textOf(given.description);
    const more = {
      ...(description === undefined ? {} : { description }),
      ...("default" in given ? { fallback: { value: given.default } } : {}),
    };
    return { ...this.kindOf(given, references), ...more };
  }

  private kindOf(schema: Json, references: number): SchemaTree {
    const name = referenceOf(schema);
    if (name !== undefined) return this.referred(name, references);
    const array = arrayOf(schema);
    if (array !== undefined) return array;
    if ("const" in schema) return { kind: "literal", values: [schema.const] };
    if (Array.isArray(schema.enum)) return { kind: "literal", values: schema.enum };
    const options = [schema.anyOf, schema.oneOf].find(Array.isArray) as readonly unknown[] | undefined;
    if (options !== undefined) return { kind: "union", options: options.map((each) => this.tree(each)) };
    if (Array.isArray(schema.type)) {
      return { kind: "union", options: schema.type.map((type: unknown) => this.tree({ ...schema, type })) };
    }
    return this.ofType(schema);
  }

  private ofType(schema: Json): SchemaTree {
    switch (schema.type) {
      case "object":
        return isRecord(schema.properties)
          ? { kind: "any" }
          : {
              kind: "record",
              value: isRecord(schema.additionalProperties) ? this.tree(schema.additionalProperties) : { kind: "any" },
            };
      case "array":
        return Array.isArray(schema.prefixItems) && schema.items === undefined
          ? { kind: "tuple", items: schema.prefixItems.map((each: unknown) => this.tree(each)) }
          : { kind: "list", item: this.tree(schema.items), least: numberOf(schema.minItems) ?? 0 };
      case "number":
      case "integer":
        return {
          kind: schema.type,
          least: numberOf(schema.minimum) ?? numberOf(schema.exclusiveMinimum),
          most: numberOf(schema.maximum) ?? numberOf(schema.exclusiveMaximum),
        };
      case "string":
      case "boolean":
      case "null":
        return { kind: schema.type };
      default:
        return { kind: "any" };
    }
  }

  private referred(name: string, references: number): SchemaTree {
    const schema = this.schemas[name];
    if (!isRecord(schema) || references > MOST_REFERENCES) return { kind: "any" };
    if (isRecord(schema.properties) && arrayOf(schema) === undefined) {
      this.read(name);
      return { kind: "object", model: name };
    }
    return this.tree(schema, references + 1);
  }
}

/** An encoded array. Its title names its dtype, `EncodedArrayModel__any_3__float64__DIFFERENTIABLE`; its `dtype` lists those that can be cast. */
function arrayOf(schema: Json): SchemaTree | undefined {
  const properties = recordAt(schema, "properties");
  if (!("array_flags" in schema) && recordAt(properties, "object_type").const !== "array") return undefined;
  const [example] = listOf(recordAt(properties, "dtype").examples);
  const titled = /^EncodedArrayModel__[^_].*?__([a-z0-9]+)__/.exec(textOf(schema.title) ?? "")?.[1];
  const isAny = /__None__/.test(textOf(schema.title) ?? "");
  const dtype = [titled, example].find((name): name is DType => typeof name === "string" && isDType(name));
  const flags = listOf(schema.array_flags);
  return {
    kind: "array",
    dtype: isAny ? undefined : dtype,
    shape: shapeOf(recordAt(properties, "shape")),
    isDifferentiable: flags.includes("DIFFERENTIABLE"),
  };
}

function shapeOf(schema: Json): readonly (number | null)[] | undefined {
  if (schema.maxItems === 0) return [];
  if (!Array.isArray(schema.prefixItems)) return undefined;
  return schema.prefixItems.map((size: unknown) => {
    if (!isRecord(size)) return null;
    if (typeof size.const === "number") return size.const;
    // Where a size of 1 would be repeated.
    const largest = Math.max(...listOf(size.enum).filter((each): each is number => typeof each === "number"));
    return Number.isFinite(largest) ? largest : null;
  });
}

function referenceOf(schema: Json): string | undefined {
  const { $ref, allOf } = schema;
  if (typeof $ref === "string") return /^#\/components\/schemas\/(.+)$/.exec($ref)?.[1];
  const [only, more] = listOf(allOf);
  return more === undefined && isRecord(only) ? referenceOf(only) : undefined;
}

const isRecord = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const recordAt = (record: Json, key: string): Json => {
  const value = Object.hasOwn(record, key) ? record[key] : undefined;
  return isRecord(value) ? value : {};
};
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
