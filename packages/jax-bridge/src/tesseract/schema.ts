/** What a Tesseract's OpenAPI document says of its inputs and outputs. */
import { type DType, isDType, type OpenApiSchema, type Tesseract, type TesseractTypes } from "@tesseract-ts/core";
import { isRecord } from "../tree/tree.js";

type Json = Readonly<Record<string, unknown>>;

export interface DifferentiableArray {
  /** Undefined where any rank is allowed. */
  readonly shape: readonly (number | null)[] | undefined;
}

export class TesseractSchema {
  readonly differentiableInputs: ReadonlyMap<string, DifferentiableArray>;
  readonly differentiableOutputs: ReadonlyMap<string, DifferentiableArray>;
  /** For messages. */
  readonly title: string;
  private readonly schemas: Json;

  constructor(openapi: OpenApiSchema) {
    this.schemas = record(record(openapi.components).schemas);
    this.differentiableInputs = differentiableArrays(record(this.schemas.ApplyInputSchema));
    this.differentiableOutputs = differentiableArrays(record(this.schemas.ApplyOutputSchema));
    const { title } = record(openapi.info);
    this.title = typeof title === "string" ? title : "Tesseract";
  }

  /** The dtype of the input array that the schema wants at this place; undefined where it wants no array. */
  arrayAt(segments: readonly string[]): DType | undefined {
    let schema: Json | undefined = record(this.schemas.Apply_InputSchema);
    for (const segment of segments) {
      schema = schema === undefined ? undefined : this.member(schema, segment);
    }
    return schema === undefined ? undefined : this.dtypeOf(schema);
  }

  private member(schema: Json, segment: string): Json | undefined {
    for (const option of this.options(schema)) {
      if (isArraySchema(option)) continue;
      const index = /^\[(\d+)\]$/.exec(segment)?.[1];
      if (index !== undefined) {
        const prefix = Array.isArray(option.prefixItems) ? option.prefixItems[Number(index)] : undefined;
        if (isRecord(prefix)) return prefix;
        if (isRecord(option.items)) return option.items;
      }
      const properties = record(option.properties);
      if (Object.hasOwn(properties, segment)) return record(properties[segment]);
      if (isRecord(option.additionalProperties)) return option.additionalProperties;
    }
    return undefined;
  }

  private dtypeOf(schema: Json): DType | undefined {
    for (const option of this.options(schema)) {
      if (!isArraySchema(option)) continue;
      // The runtime's example of the dtype is the schema's own.
      const { examples } = record(record(option.properties).dtype);
      const example: unknown = Array.isArray(examples) ? examples[0] : undefined;
      return isDType(example) ? example : "float64";
    }
    return undefined;
  }

  /** The alternatives of a union, references followed. */
  private options(schema: Json, depth = 0): readonly Json[] {
    if (depth > 16) return [];
    if (typeof schema.$ref === "string") {
      return this.options(record(this.schemas[schema.$ref.split("/").at(-1) ?? ""]), depth + 1);
    }
    const union = [schema.anyOf, schema.oneOf].find(Array.isArray) as readonly unknown[] | undefined;
    return union === undefined ? [schema] : union.flatMap((each) => this.options(record(each), depth + 1));
  }
}

const known = new WeakMap<object, TesseractSchema>();

export function schemaOf<T extends TesseractTypes>({ openapiSchema }: Tesseract<T>): TesseractSchema {
  let schema = known.get(openapiSchema);
  if (schema === undefined) {
    schema = new TesseractSchema(openapiSchema);
    known.set(openapiSchema, schema);
  }
  return schema;
}

const record = (value: unknown): Json => (isRecord(value) ? value : {});

const isArraySchema = (schema: Json): boolean =>
  "array_flags" in schema || record(record(schema.properties).object_type).const === "array";

function differentiableArrays(schema: Json): Map<string, DifferentiableArray> {
  return new Map(
    Object.entries(record(schema.differentiable_arrays)).map(([template, description]) => {
      const { shape } = record(description);
      return [template, { shape: Array.isArray(shape) ? (shape as (number | null)[]) : undefined }];
    }),
  );
}
