/** A schema as JSON Schema, as the reference writes it: clients read the arrays' extras. */
import { type DType, isHostArray, toNestedList } from "@tesseract-ts/core";
import { type ArrayTraits, listedDtypes } from "../schema/array.js";
import type { Field, NumberLimits, ObjectNode, SchemaNode } from "../schema/node.js";
import { takeArray } from "../validate/arrays.js";
import { isCastable } from "../validate/cast.js";
import { tagsOf } from "../validate/union.js";

export type JsonSchema = { readonly [keyword: string]: unknown };

export const reference = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** The schemas of an OpenAPI document that others refer to. */
export class Components {
  readonly schemas: Record<string, JsonSchema> = {};
  private readonly nodes = new Map<string, ObjectNode>();

  /** @param prefix what the names of models begin with: `Apply_` */
  constructor(private readonly prefix: string) {}

  /** A reference to a model, which is written once; another of the same name gets a number. */
  object(node: ObjectNode): JsonSchema {
    let name = `${this.prefix}${node.name}`;
    for (let count = 2; this.nodes.has(name) && !sameObject(this.nodes.get(name), node); count++) {
      name = `${this.prefix}${node.name}${count}`;
    }
    if (!this.nodes.has(name)) {
      this.nodes.set(name, node);
      this.schemas[name] = this.model(node, name);
    }
    return reference(name);
  }

  private model(node: ObjectNode, title: string): JsonSchema {
    const required = node.fields.filter(({ optional, fallback }) => !optional && fallback === undefined);
    return {
      properties: Object.fromEntries(node.fields.map((field) => [field.name, this.field(field)])),
      additionalProperties: node.extra === "allow",
      type: "object",
      ...(required.length === 0 ? {} : { required: required.map(({ name }) => name) }),
      title: node.title === undefined || node.title === node.name ? title : node.title,
      ...(node.description === undefined ? {} : { description: node.description }),
    };
  }

  private field({ name, node, fallback }: Field): JsonSchema {
    const schema = this.schema(node);
    const value = fallback === undefined ? undefined : jsonDefault(node, fallback.value());
    const isReference = "$ref" in schema || (node.kind === "nullable" && isModel(node.inner));
    return {
      ...schema,
      ...("title" in schema || isReference ? {} : { title: node.title ?? titleOf(name) }),
      // The reference leaves a default of null out.
      ...(value === undefined || value === null ? {} : { default: value }),
      ...(node.description === undefined ? {} : { description: node.description }),
      ...(node.examples === undefined ? {} : { examples: node.examples }),
    };
  }

  schema(node: SchemaNode): JsonSchema {
    switch (node.kind) {
      case "array":
        return encodedArraySchema(node);
      case "shapeDtype":
        return reference("ShapeDType");
      case "object":
        return this.object(node);
      case "list": {
        const { minLength, maxLength } = node;
        return {
          items: this.schema(node.item),
          type: "array",
          ...(maxLength === undefined ? {} : { maxItems: maxLength }),
          ...(minLength === undefined ? {} : { minItems: minLength }),
        };
      }
      case "tuple":
        return {
          prefixItems: node.items.map((item) => this.schema(item)),
          type: "array",
          ...(node.rest === undefined ? { maxItems: node.items.length } : { items: this.schema(node.rest) }),
          minItems: node.items.length,
        };
      case "record":
        return { additionalProperties: this.recordValue(node.value), type: "object" };
      case "union":
        return this.union(node);
      case "nullable": {
        const inner = this.schema(node.inner);
        const options = node.inner.kind === "union" && "anyOf" in inner ? (inner.anyOf as JsonSchema[]) : [inner];
        return { anyOf: [...options, { type: "null" }] };
      }
      case "number":
        return { type: "number", ...numberLimits(node) };
      case "integer":
      case "bigint":
        return { type: "integer", ...numberLimits(node) };
      case "string": {
        const pattern = node.rules?.find((rule) => rule.pattern !== undefined)?.pattern;
        return {
          type: "string",
          ...(node.maxLength === undefined ? {} : { maxLength: node.maxLength }),
          ...(node.minLength === undefined ? {} : { minLength: node.minLength }),
          ...(pattern === undefined ? {} : { pattern }),
        };
      }
      case "boolean":
        return { type: "boolean" };
      case "null":
        return { type: "null" };
      case "any":
        return {};
      case "literal": {
        const kinds = new Set(node.values.map((value) => (typeof value === "number" ? "number" : typeof value)));
        const [kind] = kinds;
        const named =
          kind === "string" || kind === "boolean" ? { type: kind } : kind === "number" ? numberType(node.values) : {};
        return {
          ...(kinds.size === 1 ? named : {}),
          ...oneOfValues(node.values),
        };
      }
    }
  }

  private recordValue(node: SchemaNode): unknown {
    if (node.kind === "any") return true;
    const schema = this.schema(node);
    if (node.kind !== "array") return schema;
    const { title: _, ...untitled } = schema;
    return untitled;
  }

  private union(node: Extract<SchemaNode, { kind: "union" }>): JsonSchema {
    const options = node.options.map((option) => this.schema(option));
    const { discriminator } = node;
    if (discriminator === undefined) return { anyOf: options };
    const mapping = node.options.flatMap((option, index) =>
      tagsOf(option, discriminator).map((tag) => [String(tag), options[index]?.$ref]),
    );
    return { oneOf: options, discriminator: { propertyName: discriminator, mapping: Object.fromEntries(mapping) } };
  }
}

const isModel = (node: SchemaNode): boolean => node.kind === "object" || node.kind === "shapeDtype";

const sameObject = (a: ObjectNode | undefined, b: ObjectNode): boolean => JSON.stringify(a) === JSON.stringify(b);

/** `array_or_text` as `Array Or Text`. */
export const titleOf = (name: string): string =>
  name
    .split("_")
    .filter((word) => word !== "")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase())
    .join(" ");

const oneOfValues = (values: readonly unknown[]): JsonSchema =>
  values.length === 1 ? { const: values[0] } : { enum: values };

const numberType = (values: readonly unknown[]): JsonSchema => ({
  type: values.every((value) => Number.isInteger(value)) ? "integer" : "number",
});

function numberLimits({ ge, gt, le, lt, multipleOf }: NumberLimits): JsonSchema {
  const limits = { minimum: ge, exclusiveMinimum: gt, maximum: le, exclusiveMaximum: lt, multipleOf };
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}

/** A default as JSON; undefined for one that has no such form. */
function jsonDefault(node: SchemaNode, value: unknown): unknown {
  if (node.kind === "shapeDtype") {
    const array = takeArray(value, node, { received: false, strict: false });
    return "msg" in array || !isHostArray(array) ? value : { shape: array.shape, dtype: array.dtype };
  }
  try {
    return JSON.parse(JSON.stringify(isHostArray(value) ? toNestedList(value) : value, plainMembers));
  } catch {
    return undefined;
  }
}

function plainMembers(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  return isHostArray(value) ? toNestedList(value) : value;
}

const dataSchemas = {
  base64: "Base64ArrayData",
  binref: "BinrefArrayData",
  cuda_ipc: "CudaIpcArrayData",
  json: "JsonArrayData",
};

/** What an encoded array looks like. tesseract-jax and others know arrays by `object_type` and `array_flags`. */
export function encodedArraySchema({ dtype, shape, differentiable }: ArrayTraits, titled = true): JsonSchema {
  const flags = differentiable ? ["DIFFERENTIABLE"] : [];
  const order = ["binref", "base64", "json", "cuda_ipc"] as const;
  return {
    properties: {
      object_type: { type: "string", const: "array", title: "Object Type", default: "array" },
      shape: { ...shapeSchema(shape), title: "Shape" },
      dtype: {
        type: "string",
        ...oneOfValues(dtype === "any dtype" ? listedDtypes : listedDtypes.filter((from) => isCastable(from, dtype))),
        title: "Dtype",
        examples: [dtype === "any dtype" ? "float64" : dtype],
      },
      data: {
        oneOf: order.map((encoding) => reference(dataSchemas[encoding])),
        title: "Data",
        discriminator: {
          propertyName: "encoding",
          mapping: Object.fromEntries(
            Object.entries(dataSchemas).map(([name, schema]) => [name, reference(schema).$ref]),
          ),
        },
      },
    },
    additionalProperties: false,
    type: "object",
    required: ["shape", "dtype", "data"],
    ...(titled ? { title: arrayTitle(dtype, shape, flags) } : {}),
    array_flags: flags,
  };
}

function shapeSchema(shape: ArrayTraits["shape"]): JsonSchema {
  if (shape === "any rank") return { items: { type: "integer" }, type: "array" };
  const sizes = shape.map((size) =>
    size === null
      ? { type: "integer", minimum: 0 }
      : size === 1
        ? { type: "integer", const: 1 }
        : { type: "integer", enum: [1, size] },
  );
  return {
    ...(sizes.length === 0 ? {} : { prefixItems: sizes }),
    type: "array",
    maxItems: sizes.length,
    minItems: sizes.length,
    examples: [shape.map((size) => size ?? 1)],
  };
}

function arrayTitle(dtype: DType | "any dtype", shape: ArrayTraits["shape"], flags: readonly string[]): string {
  const sizes =
    shape === "any rank" ? "anyrank" : shape.length === 0 ? "scalar" : shape.map((size) => size ?? "any").join("_");
  const name = dtype === "any dtype" ? "None" : dtype;
  return `EncodedArrayModel__${sizes}__${name}__${flags.length === 0 ? "noflags" : flags.join("_")}`;
}
