// What is made of a Tesseract's schemas: types that compile, inputs that are accepted, paths.

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { hostArray, isHostArray, type OpenApiSchema } from "@tesseract-ts/core";
import { createRunner } from "@tesseract-ts/inprocess";
import fc from "fast-check";
import ts from "typescript";
import { describe, expect, test, vi } from "vitest";
import arrays from "../../../inprocess/test/parity/twins/arrays.js";
import limits from "../../../inprocess/test/parity/twins/limits.js";
import plain from "../../../inprocess/test/parity/twins/plain.js";
import trees from "../../../inprocess/test/parity/twins/trees.js";
import vectors from "../../../inprocess/test/parity/twins/vectors.js";
import { requestOf, withArrays } from "../../src/cli/request.js";
import { exampleInputs } from "../../src/cli/schema/example-inputs.js";
import { differentiableTemplates, placesOf, valueAt } from "../../src/cli/schema/paths.js";
import { applySchemasOf } from "../../src/cli/schema/schema-tree.js";
import { typeName, typescriptOf } from "../../src/cli/schema/typescript.js";
import { squares } from "./support.js";

vi.setConfig({ testTimeout: 120_000 });

const documentOf = (definition: Parameters<typeof createRunner>[0]): OpenApiSchema =>
  createRunner(definition).openapi();

const twins = { arrays, limits, plain, trees, vectors, squares: squares() };

const typesOf = (document: OpenApiSchema, name: string): string =>
  typescriptOf(applySchemasOf(document), { name, source: "test" });

/** What a document of a Tesseract has of its apply schemas. */
const documentWith = (schemas: object): OpenApiSchema => ({
  info: { title: "odd" },
  paths: {},
  components: {
    schemas: {
      Apply_OutputSchema: { type: "object", properties: {}, additionalProperties: false },
      ...schemas,
    },
  },
});

/** Compiles modules, which lie beside this test as far as the compiler knows. @returns what is wrong, by module */
function compile(modules: Readonly<Record<string, string>>): Readonly<Record<string, readonly string[]>> {
  const folder = join(dirname(fileURLToPath(import.meta.url)), "generated");
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2022.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts"],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    customConditions: ["source"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
    noEmit: true,
    types: ["node"],
  };
  const texts = new Map(Object.entries(modules).map(([name, text]) => [join(folder, `${name}.ts`), text]));
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, directoryExists } = host;
  host.directoryExists = (path) => path === folder || directoryExists?.(path) === true;
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  const program = ts.createProgram([...texts.keys()], options, host);
  return Object.fromEntries(
    [...texts.keys()].map((path) => {
      const source = program.getSourceFile(path);
      const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
      return [
        path.slice(folder.length + 1, -3),
        found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n")),
      ];
    }),
  );
}

describe("types", () => {
  const odd = documentWith({
    Apply_InputSchema: {
      type: "object",
      description: "Ends the comment: */ export const x = 1; /*",
      required: ["a", "a-b", "node"],
      properties: {
        a: { type: "integer", default: 3, description: "two\nlines */" },
        "a-b": { enum: ["x", 1, null, true] },
        "3d": {
          anyOf: [{ type: "array", items: { anyOf: [{ type: "string" }, { type: "null" }] } }, { type: "null" }],
        },
        constructor: { type: "string" },
        pair: { type: "array", prefixItems: [{ type: "number" }, { type: "boolean" }], minItems: 2, maxItems: 2 },
        map: { type: "object", additionalProperties: { type: "object", additionalProperties: true } },
        node: { $ref: "#/components/schemas/Apply_Node" },
        nowhere: { $ref: "#/components/schemas/Nowhere" },
        round: { $ref: "#/components/schemas/Round" },
        listed: { type: ["string", "null"] },
        whole: { allOf: [{ $ref: "#/components/schemas/Apply_Node" }] },
        'quo"ted': {},
      },
      additionalProperties: true,
    },
    Apply_Node: {
      type: "object",
      required: ["next"],
      properties: {
        next: { anyOf: [{ $ref: "#/components/schemas/Apply_Node" }, { type: "null" }] },
        text: { const: 'a"b' },
      },
    },
    Round: { $ref: "#/components/schemas/Round" },
  });

  test("of many schemas compile, and fit core's fromUrl", () => {
    const modules: Record<string, string> = { odd: typesOf(odd, "Odd") };
    for (const [name, definition] of Object.entries(twins))
      modules[name] = typesOf(documentOf(definition), typeName(name));
    for (const [index, schemas] of fc.sample(randomSchemas, { numRuns: 30, seed: 1 }).entries()) {
      modules[`random${index}`] = typesOf(documentWith(schemas), "Random");
    }
    modules.user = `
      import { fromUrl, type HostArray, hostArray } from "@tesseract-ts/core";
      import type { Vectors } from "./vectors.js";
      import type { Odd } from "./odd.js";
      const node: Odd["inputs"]["node"] = { next: { next: null, text: 'a"b' } };
      export async function use(): Promise<HostArray<"float64">> {
        const tess = await fromUrl<Vectors>("http://localhost:8000", { transports: [] });
        const affine = { matrix: [[1, 2]], shift: new Float64Array(1) };
        const { y, stats, scaled } = await tess.apply({ x: hostArray([1, 2]), affine, weights: { a: [1, 2] } });
        const data: Float64Array = stats.norm2.data;
        const some: HostArray<"float32"> | undefined = scaled["a"];
        return data.length > 0 && some === undefined && node.next !== null ? y : stats.norm2;
      }`;
    modules.wrong = `
      import { fromUrl } from "@tesseract-ts/core";
      import type { Vectors } from "./vectors.js";
      const tess = await fromUrl<Vectors>("http://localhost:8000", { transports: [] });
      await tess.apply({ x: [1] });
      (await tess.apply({ x: [1], affine: { matrix: [[1]], shift: [1] } })).z;`;
    const { wrong, ...rest } = compile(modules);
    expect(Object.fromEntries(Object.entries(rest).filter(([, found]) => found.length > 0))).toEqual({});
    expect(wrong).toEqual([
      expect.stringContaining("'affine' is missing"),
      expect.stringContaining("'z' does not exist"),
    ]);
  });

  test("say shapes, defaults and what is differentiable", () => {
    const text = typesOf(documentOf(vectors), "Vectors");
    expect(text).toContain("  /** float64, [any, any], differentiable */\n  readonly matrix: VectorsArrayInput;");
    expect(text).toContain("Default: 1");
    expect(text).toContain('readonly scaled: { readonly [key: string]: HostArray<"float32"> };');
  });

  test("a comment can't be ended by a description", () => {
    expect(typesOf(odd, "Odd")).not.toMatch(/\*\/ export/);
  });

  test("a name is made of the Tesseract's", () => {
    expect(["heat", "heat-2d", "2d heat", "Wärme", "☃", "a_b"].map(typeName)).toEqual([
      "Heat",
      "Heat2d",
      "Tesseract2dHeat",
      "WaRme",
      "Tesseract",
      "AB",
    ]);
  });
});

/** Schemas of models that refer to each other. */
const randomSchemas: fc.Arbitrary<object> = (() => {
  const leaf = fc.constantFrom<object>(
    { type: "string" },
    { type: "integer", minimum: 3 },
    { type: "number" },
    { type: "boolean" },
    { type: "null" },
    {},
    { const: 1 },
    { enum: ["a", "b"] },
    documentArray(documentOf(squares())),
    { $ref: "#/components/schemas/Apply_A" },
    { $ref: "#/components/schemas/Apply_B" },
  );
  const tree = fc.letrec<{ node: object }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 3 },
      leaf,
      tie("node").map((items) => ({ type: "array", items })),
      fc.array(tie("node"), { maxLength: 3 }).map((prefixItems) => ({ type: "array", prefixItems })),
      tie("node").map((additionalProperties) => ({ type: "object", additionalProperties })),
      fc.array(tie("node"), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    ),
  })).node;
  const model = fc
    .dictionary(
      fc.string({ minLength: 1, maxLength: 8, unit: "binary" }).filter((name) => name !== "__proto__"),
      tree,
      { maxKeys: 5 },
    )
    .map((properties) => ({ type: "object", properties, additionalProperties: false }));
  return fc.record({ Apply_InputSchema: model, Apply_OutputSchema: model, Apply_A: model, Apply_B: model });
})();

/** The schema of an array, as documents have it. */
function documentArray(document: OpenApiSchema): object {
  const { components } = document as { components: { schemas: { Apply_InputSchema: { properties: { x: object } } } } };
  return components.schemas.Apply_InputSchema.properties.x;
}

describe("inputs that are made from a schema", () => {
  test.each(Object.entries(twins))("are taken by apply of %s", async (name, definition) => {
    const runner = createRunner(definition);
    const schemas = applySchemasOf(runner.openapi());
    const payload = { inputs: exampleInputs(schemas, { elements: 4, seed: 1 }) };
    const context = {
      signal: new AbortController().signal,
      runId: "1",
      outputDirectory: async () => "/",
      log: () => {},
    };
    const answer = await runner.run({ route: "apply", payload, context, ownsInputs: false });
    expect(answer).toMatchObject({ kind: "answered" });
    expect(name).not.toBe("");
  });

  test("are the same for the same seed, and have as many elements as asked for", () => {
    const schemas = applySchemasOf(documentOf(squares()));
    const made = (seed: number) =>
      exampleInputs(schemas, { elements: 9, seed }) as { x: { shape: number[]; data: Float64Array } };
    expect(made(1)).toEqual(made(1));
    expect(made(2)).not.toEqual(made(1));
    expect(made(1).x.shape).toEqual([9]);
    const { affine } = exampleInputs(applySchemasOf(documentOf(vectors)), { elements: 9, seed: 1 }) as {
      affine: { matrix: { shape: number[] } };
    };
    expect(affine.matrix.shape).toEqual([3, 3]);
  });
});

describe("inputs that were given", () => {
  const schemas = applySchemasOf(documentOf(vectors));

  test("become arrays where the schema has them, of its dtype; defaults are put in", () => {
    const made = withArrays(schemas, {
      x: [1, 2],
      affine: { matrix: [[1, 2]], shift: [0] },
      weights: { k: [1, 2] },
      terms: [[1]],
    });
    expect(made).toMatchObject({
      x: hostArray([1, 2]),
      affine: { matrix: hostArray([[1, 2]]) },
      gain: hostArray(1),
      weights: { k: { dtype: "float32" } },
    });
    expect(isHostArray((made.terms as unknown[])[0])).toBe(true);
  });

  test("that are no arrays name the place", () => {
    expect(() => withArrays(schemas, { x: [1], affine: { matrix: [[1, 2], [3]], shift: [0] } })).toThrow(
      /affine|matrix/,
    );
  });

  test("are a request if they say so", () => {
    expect(requestOf({ x: 1 }, [])).toEqual({ inputs: { x: 1 } });
    expect(requestOf({ inputs: { x: 1 } }, [])).toEqual({ inputs: { x: 1 } });
    expect(requestOf({ inputs: { x: 1 }, jac_inputs: ["x"] }, ["jac_inputs", "jac_outputs"])).toEqual({
      inputs: { x: 1 },
      jac_inputs: ["x"],
    });
    expect(requestOf({ inputs: 3 }, [])).toEqual({ inputs: { inputs: 3 } });
    expect(requestOf({ inputs: {}, other: 1 }, [])).toEqual({ inputs: { inputs: {}, other: 1 } });
  });
});

describe("paths", () => {
  test("of templates are those that are there", () => {
    const tree = { x: 1, terms: [1, 2], weights: { "a.b": 1, "c}": 2 }, none: null };
    expect(placesOf("terms.[]", tree).map(({ path }) => path)).toEqual(["terms.[0]", "terms.[1]"]);
    expect(placesOf("weights.{}", tree).map(({ path }) => path)).toEqual(["weights.{a.b}", "weights.{c\\}}"]);
    expect(placesOf("none", tree)).toEqual([]);
    expect(placesOf("x.y", tree)).toEqual([]);
    for (const template of ["terms.[]", "weights.{}", "x"]) {
      for (const { path, value } of placesOf(template, tree)) expect(valueAt(tree, path)).toBe(value);
    }
  });

  test("are read from the document", () => {
    expect(differentiableTemplates(documentOf(vectors), "inputs")).toContain("weights.{}");
    expect(differentiableTemplates({}, "inputs")).toEqual([]);
  });
});
