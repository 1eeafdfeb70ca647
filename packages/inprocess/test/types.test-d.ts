// What the compiler knows of a Tesseract: checked by `tsc`, not run.
import type { AbstractArray, CudaArray, HostArray } from "@tesseract-ts/core";
import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { array, defineTesseract, differentiable, fromTesseractApi } from "../src/index.js";

const inputs = z.object({
  x: differentiable(array("float64", [null])),
  maybe: differentiable(array("float32", [])).optional(),
  layers: z.array(z.object({ weights: differentiable(array("float32", "any rank")) })),
  params: z.record(z.string(), differentiable(array("float64", []))),
  factor: z.number().default(2),
  mode: z.enum(["fast", "exact"]).optional(),
  plain: array("int64", [2]),
});
const outputs = z.object({ y: differentiable(array("float64", [null])), note: z.string().default("") });

describe("endpoints", () => {
  test("get what the schemas say", () => {
    defineTesseract({
      name: "typed",
      inputs,
      outputs,
      apply: (given, { signal, runId }) => {
        expectTypeOf(given.x).toEqualTypeOf<HostArray<"float64">>();
        expectTypeOf(given.x.data).toEqualTypeOf<Float64Array>();
        expectTypeOf(given.maybe).toEqualTypeOf<HostArray<"float32"> | undefined>();
        expectTypeOf(given.layers[0]?.weights.data).toEqualTypeOf<Float32Array | undefined>();
        expectTypeOf(given.factor).toEqualTypeOf<number>();
        expectTypeOf(given.mode).toEqualTypeOf<"fast" | "exact" | undefined>();
        expectTypeOf(given.plain.data).toEqualTypeOf<BigInt64Array>();
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
        expectTypeOf(runId).toEqualTypeOf<string>();
        return { y: given.x };
      },
      vectorJacobianProduct: ({ cotangents, vjpInputs, vjpOutputs }) => {
        // The only differentiable output is always asked for.
        expectTypeOf(cotangents.y).toEqualTypeOf<HostArray<"float64">>();
        expectTypeOf(vjpOutputs).toEqualTypeOf<readonly "y"[]>();
        expectTypeOf(vjpInputs).toEqualTypeOf<
          readonly ("x" | "maybe" | `layers.[${number}].weights` | `params.{${string}}`)[]
        >();
        return { x: cotangents.y.data, "layers.[3].weights": [1], "params.{any key}": 1 };
      },
      jacobianVectorProduct: ({ tangents }) => {
        expectTypeOf(tangents.x).toEqualTypeOf<HostArray<"float64"> | undefined>();
        expectTypeOf(tangents["layers.[0].weights"]).toEqualTypeOf<HostArray<"float32"> | undefined>();
        expectTypeOf(tangents["params.{k}"]).toEqualTypeOf<HostArray<"float64"> | undefined>();
        return { y: 1 };
      },
      abstractEval: ({ x, factor }) => {
        expectTypeOf(x).toEqualTypeOf<AbstractArray>();
        expectTypeOf(factor).toEqualTypeOf<number>();
        return { y: x, note: "" };
      },
    });
  });

  test("get GPU arrays where they say that they take them", () => {
    defineTesseract({
      name: "gpu",
      inputs,
      outputs,
      gpuArrays: true,
      apply: ({ x, factor }) => {
        expectTypeOf(x).toEqualTypeOf<HostArray<"float64"> | CudaArray>();
        expectTypeOf(factor).toEqualTypeOf<number>();
        return { y: x };
      },
    });
  });

  test("have the paths of arrays that may be left out, in whatever way", () => {
    const one = () => differentiable(array("float64", []));
    defineTesseract({
      name: "left out",
      inputs: z.object({
        a: one().prefault(1),
        b: one().readonly(),
        c: one().nullable().prefault(2),
        d: one().optional().nonoptional(),
      }),
      outputs,
      apply: ({ a }) => ({ y: [...a.data] }),
      vectorJacobianProduct: ({ vjpInputs }) => {
        expectTypeOf(vjpInputs).toEqualTypeOf<readonly ("a" | "b" | "c" | "d")[]>();
        return { a: 1 };
      },
    });
  });

  test("can't return what the schema doesn't have", () => {
    const base = { name: "wrong", inputs, outputs } as const;
    // @ts-expect-error y is missing
    defineTesseract({ ...base, apply: () => ({}) });
    // @ts-expect-error y is no text
    defineTesseract({ ...base, apply: () => ({ y: "text" }) });
    // @ts-expect-error there is no output q
    defineTesseract({ ...base, apply: ({ x }) => ({ y: x }), jacobian: () => ({ q: { x: 1 } }) });
  });
});

describe("a Tesseract of a definition", () => {
  test("takes and gives what the schemas say", async () => {
    const definition = defineTesseract({ name: "typed", inputs, outputs, apply: ({ x }) => ({ y: x }) });
    const tess = await fromTesseractApi(definition);
    const given = { x: new Float64Array(1), layers: [{ weights: [[1]] }], params: { k: 1 }, plain: [1n, 2n] };
    const result = await tess.apply(given);
    expectTypeOf(result).toEqualTypeOf<{ y: HostArray<"float64">; note: string }>();
    // @ts-expect-error x is missing
    await tess.apply({ layers: [], params: {}, plain: [1, 2] });
    // @ts-expect-error there is no such mode
    await tess.apply({ ...given, mode: "slow" });
  });

  test("from a path is typed by whoever knows better", async () => {
    interface Scale {
      readonly inputs: { readonly x: Float64Array };
      readonly outputs: { readonly y: HostArray<"float64"> };
    }
    const tess = await fromTesseractApi<Scale>("./scale.ts");
    expectTypeOf(await tess.apply({ x: new Float64Array(1) })).toEqualTypeOf<Scale["outputs"]>();
    expectTypeOf((await (await fromTesseractApi("./scale.ts")).apply({})).y).toEqualTypeOf<HostArray | undefined>();
  });
});

test("differentiable takes arrays alone", () => {
  // @ts-expect-error a number isn't one
  differentiable(z.number());
});
