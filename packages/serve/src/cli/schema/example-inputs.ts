/** Makes inputs that a Tesseract's schema admits, for those who have none at hand. */
import { type DType, dtypeKind, elementCount, entriesPerElement, type HostArray, hostArray } from "@tesseract-ts/core";
import type { ApplySchemas, SchemaTree } from "./schema-tree.js";

export interface ExampleOptions {
  /** Elements of the arrays with the most free dimensions. All free dimensions are of one size, so that arrays fit together. */
  readonly elements: number;
  readonly seed: number;
}

/** A model within itself is left out this deep. */
const DEEPEST = 8;

/** Values for what has no default; arrays have random values between 0.5 and 1.5, far from where functions have their poles. */
export function exampleInputs(schemas: ApplySchemas, options: ExampleOptions): Readonly<Record<string, unknown>> {
  return new Examples(schemas, options).model(schemas.inputs, 0);
}

class Examples {
  private readonly random: () => number;
  /** Of each free dimension. */
  private readonly size: number;

  constructor(
    private readonly schemas: ApplySchemas,
    options: ExampleOptions,
  ) {
    this.random = randomFrom(options.seed);
    const trees = [...schemas.models.values()].flatMap(({ fields }) => fields.map(({ tree }) => tree));
    this.size = Math.max(1, Math.round(options.elements ** (1 / Math.max(1, ...trees.map(mostFree)))));
  }

  model(name: string, depth: number): Readonly<Record<string, unknown>> {
    const fields = this.schemas.models.get(name)?.fields ?? [];
    return Object.fromEntries(
      fields.flatMap(({ name: field, tree, isRequired }) => {
        // A default that is an array of numbers stays one that can be differentiated.
        if (!isRequired) {
          return tree.kind === "array" && tree.fallback?.value != null
            ? [[field, arrayOf(tree.fallback.value, tree.dtype)]]
            : [];
        }
        return [[field, this.value(tree, depth)]];
      }),
    );
  }

  private value(tree: SchemaTree, depth: number): unknown {
    switch (tree.kind) {
      case "array":
        return this.array(tree.dtype ?? "float64", this.shape(tree.shape));
      case "object":
        return depth > DEEPEST ? {} : this.model(tree.model, depth + 1);
      case "list":
        return depth > DEEPEST
          ? []
          : Array.from({ length: Math.max(1, tree.least) }, () => this.value(tree.item, depth + 1));
      case "tuple":
        return tree.items.map((item) => this.value(item, depth + 1));
      case "record":
        return depth > DEEPEST ? {} : { key: this.value(tree.value, depth + 1) };
      case "union":
        return this.value(
          tree.options.find(({ kind }) => kind === "array") ?? tree.options[0] ?? { kind: "null" },
          depth,
        );
      case "literal":
        return tree.values[0] ?? null;
      case "integer":
        return Math.ceil(within(1, tree));
      case "number":
        return within(1, tree);
      case "string":
        return "text";
      case "boolean":
        return false;
      default:
        return null;
    }
  }

  private shape(shape: readonly (number | null)[] | undefined): readonly number[] {
    return shape?.map((size) => size ?? this.size) ?? [this.size];
  }

  private array(dtype: DType, shape: readonly number[]): HostArray {
    const length = elementCount(shape) * entriesPerElement(dtype);
    const values = Array.from({ length }, () => this.entry(dtype));
    if (dtypeKind(dtype) !== "complex") return hostArray(values, { dtype, shape });
    return hostArray(dtype === "complex64" ? Float32Array.from(values, Number) : Float64Array.from(values, Number), {
      dtype,
      shape,
    });
  }

  private entry(dtype: DType): number | boolean {
    const kind = dtypeKind(dtype);
    if (kind === "float" || kind === "complex") return 0.5 + this.random();
    return kind === "bool" ? this.random() < 0.5 : Math.round(this.random());
  }
}

/** The most dimensions of any size that an array of the schema has. */
function mostFree(tree: SchemaTree): number {
  switch (tree.kind) {
    case "array":
      return tree.shape?.filter((size) => size === null).length ?? 1;
    case "list":
      return mostFree(tree.item);
    case "record":
      return mostFree(tree.value);
    case "tuple":
      return Math.max(0, ...tree.items.map(mostFree));
    case "union":
      return Math.max(0, ...tree.options.map(mostFree));
    default:
      return 0;
  }
}

/** Numbers in nested lists as an array of a dtype. */
export function arrayOf(values: unknown, dtype: DType | undefined): HostArray {
  const list = values as Parameters<typeof hostArray>[0];
  return dtype === undefined ? hostArray(list) : hostArray(list, { dtype });
}

function within(
  wanted: number,
  { least, most }: { readonly least: number | undefined; readonly most: number | undefined },
): number {
  if (least !== undefined && wanted <= least) return most === undefined ? least + 1 : (least + most) / 2;
  if (most !== undefined && wanted >= most) return least === undefined ? most - 1 : (least + most) / 2;
  return wanted;
}

/** Mulberry32: the same numbers for the same seed, everywhere. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
