import { numpy as np } from "@jax-js/jax";
import { type HostArray, hostArray, type Tesseract, toNestedList } from "@tesseract-ts/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { array, differentiable, fromTesseractApi } from "../src/index.js";
import { defineJaxTesseract } from "../src/jax/index.js";
import { open, tesseractError } from "./support.js";

/** y = x² a + b, s = Σ x; b isn't differentiable, and count is no array. */
const wave = (dtype: "float32" | "float64") =>
  defineJaxTesseract({
    name: "wave",
    inputs: z.object({
      x: differentiable(array(dtype, [null])),
      more: z.object({ a: differentiable(array(dtype, [])), b: array(dtype, [null]) }),
      count: z.int().default(1),
    }),
    outputs: z.object({
      y: differentiable(array(dtype, [null])),
      s: differentiable(array(dtype, [])),
      unused: array(dtype, []),
    }),
    compute: ({ x, more, count }) => {
      const y = x.ref.mul(x.ref).mul(more.a.ref).mul(count).add(more.b);
      return { y, s: np.sum(x), unused: more.a };
    },
  });

const tesseract = async (dtype: "float32" | "float64"): Promise<Tesseract> =>
  (await open(fromTesseractApi(wave(dtype)))) as unknown as Tesseract;

const point = { x: [1, 2, 3], more: { a: 2, b: [10, 20, 30] }, count: 3 };
const list = (value: unknown): unknown => toNestedList(value as HostArray);

describe.each(["float32", "float64"] as const)("a Tesseract from a jax-js function, in %s", (dtype) => {
  test("applies it", async () => {
    const tess = await tesseract(dtype);
    const { y, s } = await tess.apply(point);
    expect([y?.dtype, list(y), list(s)]).toEqual([dtype, [16, 44, 84], 6]);
  });

  test("has every endpoint", async () => {
    expect([...(await tesseract(dtype)).availableEndpoints].sort()).toEqual([
      "abstractEval",
      "apply",
      "health",
      "jacobian",
      "jacobianVectorProduct",
      "test",
      "vectorJacobianProduct",
    ]);
  });

  test("traces its shapes, and computes nothing", async () => {
    const abstract = (shape: number[]) => ({ shape, dtype });
    const inputs = { x: abstract([5]), more: { a: abstract([]), b: abstract([5]) } };
    expect(await (await tesseract(dtype)).abstractEval(inputs)).toEqual({
      y: abstract([5]),
      s: abstract([]),
      unused: abstract([]),
    });
  });

  test("differentiates it forward, backward and whole", async () => {
    const tess = await tesseract(dtype);
    const forward = await tess.jacobianVectorProduct(point, ["x", "more.a"], ["y", "s"], { x: [1, 0, 2], "more.a": 1 });
    expect([list(forward.y), list(forward.s)]).toEqual([[12 + 3, 12, 72 + 27], 3]);
    const backward = await tess.vectorJacobianProduct(point, ["x", "more.a"], ["y", "s"], { y: [1, 0, 2], s: 5 });
    expect([list(backward.x), list(backward["more.a"])]).toEqual([[12 + 5, 5, 72 + 5], 3 + 54]);
    const { y, s } = await tess.jacobian(point, ["x", "more.a"], ["y", "s"]);
    expect(list(y?.x)).toEqual([
      [12, 0, 0],
      [0, 24, 0],
      [0, 0, 36],
    ]);
    expect([list(y?.["more.a"]), list(s?.x), list(s?.["more.a"])]).toEqual([[3, 12, 27], [1, 1, 1], 0]);
  });

  test("answers the same again and again", async () => {
    const tess = await tesseract(dtype);
    const once = await tess.vectorJacobianProduct(point, ["x"], ["y"], { y: [1, 1, 1] });
    for (let time = 0; time < 5; time++) {
      expect(await tess.vectorJacobianProduct(point, ["x"], ["y"], { y: [1, 1, 1] })).toEqual(once);
    }
  });

  test("takes arrays without elements", async () => {
    const tess = await tesseract(dtype);
    const empty = { x: [], more: { a: 1, b: [] } };
    expect((await tess.apply(empty)).y?.shape).toEqual([0]);
    expect((await tess.jacobian(empty, ["x"], ["y"])).y?.x?.shape).toEqual([0, 0]);
  });
});

test("float64 keeps its precision", async () => {
  const third = hostArray(new Float64Array([1 / 3, 0.1, 1e-300]), { dtype: "float64" });
  const tess = await open(
    fromTesseractApi(
      defineJaxTesseract({
        name: "identity",
        inputs: z.object({ x: array("float64", [null]) }),
        outputs: z.object({ x: array("float64", [null]) }),
        compute: (inputs) => inputs,
      }),
    ),
  );
  expect((await tess.apply({ x: third })).x.data).toEqual(third.data);
  expect("Float16Array" in globalThis).toBe((process.versions.node.split(".").map(Number)[0] as number) >= 24);
});

test("integers and booleans go in and out; what jax-js hasn't is a clear error", async () => {
  const schema = z.object({
    i: array("int32", [null]),
    u: array("uint32", [null]),
    b: array("bool", [null]),
  });
  const same = defineJaxTesseract({ name: "same", inputs: schema, outputs: schema, compute: (inputs) => inputs });
  const inputs = { i: [-1, 2], u: [1, 2], b: [true, false] };
  const outputs = await (await open(fromTesseractApi(same))).apply(inputs);
  expect(Object.fromEntries(Object.entries(outputs).map(([key, value]) => [key, list(value)]))).toEqual(inputs);

  const wide = z.object({ x: array("int64", []) });
  const tess = await open(
    fromTesseractApi(defineJaxTesseract({ name: "wide", inputs: wide, outputs: wide, compute: (all) => all })),
  );
  await expect(tess.apply({ x: 1 })).rejects.toEqual(tesseractError("ENDPOINT_FAILED", '"x"', "int64"));
});

test("float16 goes in and out where there is a Float16Array, and is a clear error elsewhere", async () => {
  const schema = z.object({ h: array("float16", [null]) });
  const tess = await open(
    fromTesseractApi(defineJaxTesseract({ name: "half", inputs: schema, outputs: schema, compute: (all) => all })),
  );
  const call = tess.apply({ h: [1.5, -2] });
  if ("Float16Array" in globalThis) expect(list((await call).h)).toEqual([1.5, -2]);
  else await expect(call).rejects.toEqual(tesseractError("ENDPOINT_FAILED", "Float16Array"));
});

test("without differentiable arrays there are no derivatives", async () => {
  const schema = z.object({ x: array("float32", [null]) });
  const plain = defineJaxTesseract({
    name: "plain",
    inputs: schema,
    outputs: schema,
    compute: ({ x }) => ({ x: x.mul(2) }),
  });
  expect([...(await open(fromTesseractApi(plain))).availableEndpoints].sort()).toEqual([
    "abstractEval",
    "apply",
    "health",
    "test",
  ]);
});
