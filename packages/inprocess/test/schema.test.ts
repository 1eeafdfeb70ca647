import { hostArray } from "@tesseract-ts/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { array, createRunner, defineTesseract, differentiable, fromTesseractApi } from "../src/index.js";
import { floats, open, tesseractError } from "./support.js";

const define = (inputs: z.ZodObject) => () =>
  defineTesseract({ name: "x", inputs, outputs: z.object({}), apply: () => ({}) });

describe("a schema", () => {
  test.each([
    ["a date", z.date(), "date"],
    ["a map", z.map(z.string(), z.string()), "map"],
    ["a transformation", z.string().transform(Number), "pipe"],
    ["a function", z.function(), "function"],
    ["a record with numbers as keys", z.record(z.number(), z.string()), "keys"],
    ["a field whose name can't stand in a path", z.object({ "a.b": z.string() }), "a.b"],
    ["an object with a catchall", z.object({}).catchall(z.number()), "catchall"],
    ["a literal bigint", z.literal(1n), "literal bigint"],
  ])("has no %s, which other languages couldn't send", (_what, field, word) => {
    expect(define(z.object({ field }))).toThrow(tesseractError("INVALID_ARGUMENT", '"field', word) as Error);
  });

  test("doesn't contain itself", () => {
    const tree = z.object({
      get left() {
        return tree.optional();
      },
    });
    expect(define(z.object({ tree }))).toThrow(tesseractError("INVALID_ARGUMENT", "contains itself") as Error);
  });

  test("has arrays of a known dtype and a legal shape", () => {
    expect(() => array("bfloat16" as never, [])).toThrow(tesseractError("UNSUPPORTED_DTYPE", "bfloat16") as Error);
    expect(() => array("float64", [-1])).toThrow(tesseractError("INVALID_ARGUMENT", "[-1]") as Error);
    expect(() => array("float64", "any" as never)).toThrow(tesseractError("INVALID_ARGUMENT", '"any"') as Error);
    expect(() => differentiable(array("float64", []).optional() as never)).toThrow(
      tesseractError("INVALID_ARGUMENT", "array") as Error,
    );
  });

  test("keeps an array an array, whatever Zod adds to it", async () => {
    const noted = array("float64", [null]).describe("Temperatures").meta({ title: "T" });
    const tess = await open(
      fromTesseractApi(
        defineTesseract({
          name: "noted",
          inputs: z.object({ noted }),
          outputs: z.object({ noted }),
          apply: (inputs) => inputs,
        }),
      ),
    );
    expect(await tess.apply({ noted: [1] })).toEqual({ noted: floats(1) });
    expect(JSON.stringify(tess.openapiSchema)).toContain("Temperatures");
  });

  test("may have rules of its own, which are kept and named", async () => {
    const ruled = defineTesseract({
      name: "ruled",
      inputs: z.object({
        even: z.int().refine((value) => value % 2 === 0, "It isn't even"),
        mail: z.email().optional(),
        trimmed: z.string().trim().min(1).optional(),
        unit: array("float64", [null])
          .refine((x) => x.data.every((value) => value <= 1), "It is beyond 1")
          .optional(),
      }),
      outputs: z.object({ trimmed: z.string().optional() }),
      apply: ({ trimmed }) => (trimmed === undefined ? {} : { trimmed }),
    });
    const tess = await open(fromTesseractApi(ruled));
    await expect(tess.apply({ even: 3, mail: "nobody", unit: [2] })).rejects.toMatchObject({
      issues: [
        { path: ["body", "inputs", "even"], type: "value_error", message: "It isn't even" },
        { path: ["body", "inputs", "mail"], type: "string_pattern_mismatch" },
        { path: ["body", "inputs", "unit"], type: "value_error", message: "It is beyond 1" },
      ],
    });
    expect(await tess.apply({ even: 2, trimmed: "  a " })).toEqual({ trimmed: "a" });
  });

  test("may let members through that it doesn't know", async () => {
    const open_ = defineTesseract({
      name: "open",
      inputs: z.looseObject({}),
      outputs: z.looseObject({}),
      apply: (inputs) => inputs,
    });
    const tess = await open(fromTesseractApi(open_));
    expect(await tess.apply({ anything: [1, "a"] })).toEqual({ anything: [1, "a"] });
  });

  test("leaves optional members out, and keeps null where null is allowed", async () => {
    const schema = z.object({ a: z.int().optional(), b: z.int().nullable(), c: array("float64", []).nullish() });
    const tess = await open(
      fromTesseractApi(defineTesseract({ name: "o", inputs: schema, outputs: schema, apply: (inputs) => inputs })),
    );
    expect(await tess.apply({ b: null })).toEqual({ b: null });
    await expect(tess.apply({ a: null as never, b: 1 })).rejects.toMatchObject({ issues: [{ type: "int_type" }] });
    expect(await tess.apply({ a: undefined, b: 1, c: null })).toEqual({ b: 1, c: null });
  });

  test("takes defaults as they are, and prefaults as if they had been sent", async () => {
    const schema = z.object({
      taken: array("float64", [2]).default(hostArray([1, 2], { dtype: "float64" })),
      sent: array("float64", [2]).prefault([1]),
    });
    const tess = await open(
      fromTesseractApi(defineTesseract({ name: "d", inputs: schema, outputs: schema, apply: (inputs) => inputs })),
    );
    expect(await tess.apply({})).toEqual({ taken: floats(1, 2), sent: floats(1, 1) });
    expect(
      JSON.parse(JSON.stringify(tess.openapiSchema)).components.schemas.Apply_InputSchema.properties,
    ).toMatchObject({
      taken: { default: [1, 2] },
      sent: { default: [1] },
    });
  });

  test("keeps whole numbers beyond 2^53 with z.bigint(), and refuses them with z.int()", async () => {
    const schema = z.object({ big: z.bigint().optional(), small: z.int().optional() });
    const tess = await open(
      fromTesseractApi(defineTesseract({ name: "b", inputs: schema, outputs: schema, apply: (inputs) => inputs })),
    );
    expect(await tess.apply({ big: 2n ** 70n })).toEqual({ big: 2n ** 70n });
    await expect(tess.apply({ small: (2n ** 70n) as never })).rejects.toMatchObject({
      issues: [{ type: "int_parsing_size" }],
    });
  });

  test("isn't reached by members of prototypes", async () => {
    const schema = z.object({ record: z.record(z.string(), z.int()) });
    const tess = await open(
      fromTesseractApi(defineTesseract({ name: "p", inputs: schema, outputs: schema, apply: (inputs) => inputs })),
    );
    const record = JSON.parse('{"__proto__": 1, "constructor": 2}') as Record<string, number>;
    const { record: back } = await tess.apply({ record });
    expect(Object.entries(back)).toEqual([
      ["__proto__", 1],
      ["constructor", 2],
    ]);
    await expect(tess.apply({ record: {}, toString: 1 } as never)).rejects.toMatchObject({
      issues: [{ type: "extra_forbidden" }],
    });
  });
});

describe("a definition", () => {
  test("has a name and apply", () => {
    const schema = z.object({});
    expect(() => defineTesseract({ name: "", inputs: schema, outputs: schema, apply: () => ({}) })).toThrow(
      tesseractError("INVALID_ARGUMENT", "no name") as Error,
    );
    expect(() => defineTesseract({ name: "a", inputs: schema, outputs: schema } as never)).toThrow(
      tesseractError("INVALID_ARGUMENT", "no endpoint apply") as Error,
    );
    expect(() => defineTesseract({ name: "a", inputs: {} as never, outputs: schema, apply: () => ({}) })).toThrow(
      tesseractError("INVALID_ARGUMENT", "no schema of this Zod") as Error,
    );
  });

  test("has derivatives only of differentiable arrays", () => {
    const schema = z.object({ x: array("float64", []) });
    expect(() =>
      defineTesseract({ name: "a", inputs: schema, outputs: schema, apply: (x) => x, jacobian: () => ({}) }),
    ).toThrow(tesseractError("INVALID_ARGUMENT", "no differentiable input") as Error);
  });

  test("of models with one name and different fields keeps both apart in the OpenAPI document", () => {
    const schema = z.object({
      a: z.object({ point: z.object({ x: z.int() }) }),
      b: z.object({ point: z.object({ y: z.int() }) }),
    });
    const { components } = createRunner(
      defineTesseract({ name: "n", inputs: schema, outputs: z.object({}), apply: () => ({}) }),
    ).openapi() as { components: { schemas: Record<string, unknown> } };
    expect(components.schemas.Apply_Point).toMatchObject({ properties: { x: {} } });
    expect(components.schemas.Apply_Point2).toMatchObject({ properties: { y: {} } });
  });
});
