/** Writes TypeScript types of a Tesseract's inputs and outputs. */
import type { ApplySchemas, Field, Model, SchemaTree } from "./schema-tree.js";

export interface TypesOptions {
  /** The name of the type: `Heat`. */
  readonly name: string;
  /** How it was made, for the file's first line. */
  readonly source: string;
}

/** The direction that a model is written for: inputs take more than outputs give. */
type Side = "Inputs" | "Outputs";

/** A module that exports the type, for `fromUrl<Heat>(…)`. */
export function typescriptOf(schemas: ApplySchemas, { name, source }: TypesOptions): string {
  const writer = new Writer(schemas, name);
  writer.write("Inputs", schemas.inputs);
  writer.write("Outputs", schemas.outputs);
  const imported = writer.imported();
  return `${[
    `// ${inComment(source)}`,
    ...(imported.length === 0 ? [] : [`import type { ${imported.join(", ")} } from "@tesseract-ts/core";`]),
    "",
    ...comment(schemas.description ?? `The Tesseract "${schemas.title}".`, ""),
    `export interface ${name} {`,
    `  readonly inputs: ${name}Inputs;`,
    `  readonly outputs: ${name}Outputs;`,
    "}",
    ...writer.declarations.flatMap((declaration) => ["", ...declaration]),
    ...(writer.needsArrayInput ? ["", ...arrayInput(name)] : []),
  ].join("\n")}\n`;
}

/** `heat-2d` as `Heat2d`: a name for a type. */
export function typeName(title: string): string {
  const words = title.normalize("NFKD").match(/[A-Za-z0-9]+/g) ?? [];
  const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  return /^[A-Za-z]/.test(joined) ? joined : `Tesseract${joined}`;
}

const arrayInput = (name: string): string[] => [
  "/** An array as an input: of this project, of JavaScript, of a GPU, or of another library such as jax-js. */",
  `export type ${name}ArrayInput =`,
  "  | HostArray",
  "  | CudaArray",
  "  | TypedArray",
  "  | NestedList",
  "  | { readonly shape: readonly number[]; readonly dtype: unknown };",
];

class Writer {
  readonly declarations: string[][] = [];
  needsArrayInput = false;
  private needsHostArray = false;
  /** What a model is called, by side and model. */
  private readonly names = new Map<string, string>();
  private readonly taken: Set<string>;

  constructor(
    private readonly schemas: ApplySchemas,
    private readonly name: string,
  ) {
    this.taken = new Set([name, `${name}ArrayInput`, "HostArray", "CudaArray", "TypedArray", "NestedList"]);
  }

  imported(): readonly string[] {
    if (this.needsArrayInput) return ["CudaArray", "HostArray", "NestedList", "TypedArray"];
    return this.needsHostArray ? ["HostArray"] : [];
  }

  /** @returns what the model is called */
  write(side: Side, model: string): string {
    const key = `${side} ${model}`;
    const known = this.names.get(key);
    if (known !== undefined) return known;
    const name = this.free(this.wanted(side, model));
    this.names.set(key, name);
    const declaration: string[] = [];
    this.declarations.push(declaration);
    const found = this.schemas.models.get(model);
    if (found !== undefined) declaration.push(...this.model(side, name, found));
    return name;
  }

  private wanted(side: Side, model: string): string {
    if (model === (side === "Inputs" ? this.schemas.inputs : this.schemas.outputs)) return `${this.name}${side}`;
    return `${this.name}${side}${typeName(model.replace(/^Apply_/, ""))}`;
  }

  private free(wanted: string): string {
    let name = wanted;
    for (let count = 2; this.taken.has(name); count++) name = `${wanted}${count}`;
    this.taken.add(name);
    return name;
  }

  private model(side: Side, name: string, { description, fields, isOpen }: Model): string[] {
    return [
      ...(description === undefined ? [] : comment(description, "")),
      `export interface ${name} {`,
      ...fields.flatMap((field) => this.field(side, field)),
      ...(isOpen ? ["  readonly [member: string]: unknown;"] : []),
      "}",
    ];
  }

  private field(side: Side, { name, tree, isRequired }: Field): string[] {
    // Outputs with a default are always there; without one, they may be left out.
    const isOptional = !isRequired && (side === "Inputs" || tree.fallback === undefined);
    const type = this.type(side, tree);
    const text = [tree.description, side === "Inputs" ? fallbackText(tree) : undefined, arrayText(tree)]
      .filter((part) => part !== undefined)
      .join("\n");
    return [
      ...(text === "" ? [] : comment(text, "  ")),
      `  readonly ${propertyName(name)}${isOptional ? "?" : ""}: ${isOptional ? `${type} | undefined` : type};`,
    ];
  }

  private type(side: Side, tree: SchemaTree): string {
    switch (tree.kind) {
      case "array":
        if (side === "Outputs") {
          this.needsHostArray = true;
          return tree.dtype === undefined ? "HostArray" : `HostArray<"${tree.dtype}">`;
        }
        this.needsArrayInput = true;
        return `${this.name}ArrayInput`;
      case "object":
        return this.write(side, tree.model);
      case "list":
        return `readonly ${parenthesized(this.type(side, tree.item))}[]`;
      case "tuple":
        return `readonly [${tree.items.map((item) => this.type(side, item)).join(", ")}]`;
      case "record":
        return `{ readonly [key: string]: ${this.type(side, tree.value)} }`;
      case "union":
        return [...new Set(tree.options.map((option) => this.type(side, option)))].join(" | ") || "never";
      case "literal":
        return tree.values.map(literalType).join(" | ") || "never";
      case "integer":
        // Whole numbers beyond 2^53 come as bigints.
        return "number | bigint";
      case "any":
        return "unknown";
      default:
        return tree.kind;
    }
  }
}

/** In a list, a union needs parentheses; `readonly` too. */
const parenthesized = (type: string): string => (/^readonly | \| /.test(type) ? `(${type})` : type);

function literalType(value: unknown): string {
  switch (typeof value) {
    case "string":
    case "boolean":
      return JSON.stringify(value);
    case "number":
      return Number.isFinite(value) ? String(value) : "number";
    case "bigint":
      return "bigint";
    default:
      return value === null ? "null" : "unknown";
  }
}

const propertyName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

function arrayText(tree: SchemaTree): string | undefined {
  const array = tree.kind === "union" ? tree.options.find((option) => option.kind === "array") : tree;
  if (array?.kind !== "array") return undefined;
  const { dtype = "any dtype", shape, isDifferentiable } = array;
  const sizes =
    shape === undefined
      ? "any rank"
      : shape.length === 0
        ? "scalar"
        : `[${shape.map((size) => size ?? "any").join(", ")}]`;
  return `${dtype}, ${sizes}${isDifferentiable ? ", differentiable" : ""}`;
}

function fallbackText(tree: SchemaTree): string | undefined {
  if (tree.fallback === undefined) return undefined;
  const text = JSON.stringify(tree.fallback.value, (_, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
  return text === undefined || text.length > 60 ? undefined : `Default: ${text}`;
}

/** Text from elsewhere must not end the comment. */
const inComment = (text: string): string => text.replaceAll("*/", "*\u200b/").replaceAll(/[\r\u2028\u2029\n]+/g, " ");

function comment(text: string, indent: string): string[] {
  const lines = text.split(/\r?\n/).map((line) => inComment(line.trimEnd()));
  if (lines.length === 1) return [`${indent}/** ${lines[0]} */`];
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`];
}
