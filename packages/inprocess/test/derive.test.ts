import { type HostArray, type Tesseract, toNestedList } from "@tesseract-ts/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  array,
  type DerivedGradient,
  defineTesseract,
  derivatives,
  differentiable,
  fromTesseractApi,
} from "../src/index.js";
import { open, tesseractError } from "./support.js";

const vector = () => differentiable(array("float64", [null]));
const schemas = {
  inputs: z.object({ x: vector(), a: differentiable(array("float64", [])), w: z.array(vector()) }),
  outputs: z.object({ y: vector(), s: differentiable(array("float64", [])) }),
};

/** y = a x² + w₀, s = Σ x w₀ */
const apply = ({ x, a, w }: z.output<typeof schemas.inputs>) => {
  const [factor, offset] = [a.data[0] as number, w[0]?.data as Float64Array];
  return {
    y: x.data.map((value, index) => factor * value * value + (offset[index] as number)),
    s: x.data.reduce((sum, value, index) => sum + value * (offset[index] as number), 0),
  };
};

const derived = (
  endpoints: Partial<Record<"jacobian" | "jacobianVectorProduct" | "vectorJacobianProduct", DerivedGradient>>,
) =>
  open(
    fromTesseractApi(defineTesseract({ name: "quadratic", ...schemas, apply, ...endpoints })),
  ) as unknown as Promise<Tesseract>;

const everything = (endpoint: DerivedGradient) =>
  derived({ jacobian: endpoint, jacobianVectorProduct: endpoint, vectorJacobianProduct: endpoint });

const point = { x: [1, -2, 3], a: 0.5, w: [[4, 5, 6]] };
const paths = { wrt: ["x", "a", "w.[0]"], of: ["y", "s"] };

const jacobian = {
  y: {
    x: [
      [1, 0, 0],
      [0, -2, 0],
      [0, 0, 3],
    ],
    a: [1, 4, 9],
    "w.[0]": [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ],
  },
  s: { x: [4, 5, 6], a: 0, "w.[0]": [1, -2, 3] },
};

/** Nested lists whose numbers are close. */
function expectClose(actual: unknown, expected: unknown, tolerance: number): void {
  const flat = (value: unknown): number[] => (Array.isArray(value) ? value.flatMap(flat) : [value as number]);
  const [one, other] = [flat(actual), flat(expected)];
  expect(one.length).toBe(other.length);
  one.forEach((value, index) => {
    expect(Math.abs(value - (other[index] as number))).toBeLessThanOrEqual(tolerance);
  });
}

async function expectJacobian(tess: Tesseract, tolerance: number): Promise<void> {
  const found = await tess.jacobian(point, paths.wrt, paths.of);
  for (const [output, row] of Object.entries(jacobian)) {
    for (const [input, block] of Object.entries(row)) {
      expectClose(toNestedList(found[output]?.[input] as HostArray), block, tolerance);
    }
  }
}

async function expectProducts(tess: Tesseract, tolerance: number): Promise<void> {
  const tangents = { x: [1, 2, -1], a: 2, "w.[0]": [0, 1, 0] };
  const forward = await tess.jacobianVectorProduct(point, paths.wrt, paths.of, tangents);
  expectClose(toNestedList(forward.y as HostArray), [1 + 2, -4 + 8 + 1, -3 + 18], tolerance);
  expectClose(toNestedList(forward.s as HostArray), 4 + 10 - 6 - 2, tolerance);
  const cotangents = { y: [1, -1, 2], s: 3 };
  const backward = await tess.vectorJacobianProduct(point, paths.wrt, paths.of, cotangents);
  expectClose(toNestedList(backward.x as HostArray), [1 + 12, 2 + 15, 6 + 18], tolerance);
  expectClose(toNestedList(backward.a as HostArray), 1 - 4 + 18, tolerance);
  expectClose(toNestedList(backward["w.[0]"] as HostArray), [1 + 3, -1 - 6, 2 + 9], tolerance);
}

describe("finite differences", () => {
  test.each([
    ["central", 1e-8],
    ["forward", 1e-6],
  ] as const)("%s give all three derivatives", async (method, tolerance) => {
    const tess = await everything(derivatives.finiteDifferences({ method }));
    await expectJacobian(tess, tolerance);
    await expectProducts(tess, tolerance);
  });

  test("take a step for all inputs, or one for each", async () => {
    await expectJacobian(await everything(derivatives.finiteDifferences({ step: 1e-3 })), 1e-6);
    const each = { x: 1e-3, a: 1e-4, "w.[0]": 1e-2 };
    await expectJacobian(await everything(derivatives.finiteDifferences({ step: each })), 1e-6);
    const tess = await everything(derivatives.finiteDifferences({ step: { x: 1e-3 } }));
    await expect(tess.jacobian(point, ["a"], ["y"])).rejects.toEqual(
      tesseractError("ENDPOINT_FAILED", 'no step for "a"'),
    );
  });

  test("along random directions come close in the mean, with few calls of apply", async () => {
    let calls = 0;
    const n = 400;
    const linear = defineTesseract({
      name: "linear",
      inputs: z.object({ x: vector() }),
      outputs: z.object({ s: differentiable(array("float64", [])) }),
      apply: ({ x }) => {
        calls++;
        return { s: x.data.reduce((sum, value) => sum + value, 0) };
      },
      vectorJacobianProduct: derivatives.finiteDifferences({ method: "random", samples: 100, seed: 7 }),
    });
    const tess = await open(fromTesseractApi(linear));
    const { x } = await tess.vectorJacobianProduct({ x: new Float64Array(n) }, ["x"], ["s"], { s: 1 });
    expect(calls).toBe(200);
    // Each element is 1, plus the noise of the others: of mean 0 and a standard deviation of sqrt(n / samples) = 2.
    const mean = Array.from((x as HostArray<"float64">).data).reduce((sum, value) => sum + value, 0) / n;
    expect(Math.abs(mean - 1)).toBeLessThan(0.5);
    const again = await tess.vectorJacobianProduct({ x: new Float64Array(n) }, ["x"], ["s"], { s: 1 });
    expect(again.x).toEqual(x);
  });

  test("along random directions go by single elements where that costs no more", async () => {
    await expectJacobian(await everything(derivatives.finiteDifferences({ method: "random" })), 1e-8);
  });

  test("of float32 and float16 arrays have steps that they can tell", async () => {
    const schema = z.object({ x: differentiable(array("float32", [null])), h: differentiable(array("float16", [])) });
    const square = defineTesseract({
      name: "square",
      inputs: schema,
      outputs: z.object({ y: differentiable(array("float32", [null])) }),
      apply: ({ x }) => ({ y: x.data.map((value) => value * value) }),
      jacobian: derivatives.finiteDifferences(),
    });
    const tess = await open(fromTesseractApi(square));
    const found = await tess.jacobian({ x: new Float32Array([3, 100]), h: 1 }, ["x", "h"], ["y"]);
    expect(found.y?.x?.dtype).toBe("float32");
    expectClose(
      toNestedList(found.y?.x as HostArray),
      [
        [6, 0],
        [0, 200],
      ],
      0.05,
    );
    expectClose(toNestedList(found.y?.h as HostArray), [0, 0], 0);
  });

  test("end when the call is given up, and leave the event loop its turns", async () => {
    const endless = defineTesseract({
      name: "endless",
      inputs: z.object({ x: vector() }),
      outputs: z.object({ y: vector() }),
      apply: ({ x }) => ({ y: x.data }),
      vectorJacobianProduct: derivatives.finiteDifferences(),
    });
    const tess = await open(fromTesseractApi(endless));
    const x = new Float64Array(20_000);
    await expect(tess.vectorJacobianProduct({ x }, ["x"], ["y"], { y: x }, { timeout: 100 })).rejects.toEqual(
      tesseractError("TIMEOUT"),
    );
  });

  test("refuse what they can't do", async () => {
    expect(() => derivatives.finiteDifferences({ step: 0 })).toThrow(
      tesseractError("INVALID_ARGUMENT", "step") as Error,
    );
    expect(() => derivatives.finiteDifferences({ method: "best" as never })).toThrow(
      tesseractError("INVALID_ARGUMENT", "best") as Error,
    );
    expect(() => derivatives.finiteDifferences({ samples: 0 })).toThrow(
      tesseractError("INVALID_ARGUMENT", "samples") as Error,
    );
    const tess = await everything(derivatives.finiteDifferences());
    await expect(tess.vectorJacobianProduct(point, ["x"], ["y"], { y: [1] })).rejects.toEqual(
      tesseractError("ENDPOINT_FAILED", "shape [1]", "[3]"),
    );
  });

  test("of the derivative of a polynomial are the polynomial's, at any point", async () => {
    const tess = await everything(derivatives.finiteDifferences());
    const number = fc.double({ min: -100, max: 100, noNaN: true });
    await fc.assert(
      fc.asyncProperty(fc.array(number, { minLength: 1, maxLength: 4 }), number, async (x, a) => {
        const inputs = { x, a: { dtype: "float64", shape: [], data: Float64Array.of(a) }, w: [x] };
        const found = await tess.vectorJacobianProduct(inputs, ["x"], ["y"], { y: x.map(() => 1) });
        const expected = x.map((value) => 2 * a * value);
        expectClose(toNestedList(found.x as HostArray), expected, 1e-4);
      }),
      { numRuns: 30 },
    );
  });
});

describe("derivatives from one another", () => {
  const exact = derivatives.finiteDifferences();

  test("jvp and vjp come from jacobian", async () => {
    const from = derivatives.fromJacobian();
    await expectProducts(
      await derived({ jacobian: exact, jacobianVectorProduct: from, vectorJacobianProduct: from }),
      1e-7,
    );
  });

  test("jacobian and vjp come from jvp", async () => {
    const from = derivatives.fromJacobianVectorProduct();
    const tess = await derived({ jacobian: from, jacobianVectorProduct: exact, vectorJacobianProduct: from });
    await expectJacobian(tess, 1e-7);
    await expectProducts(tess, 1e-7);
  });

  test("jacobian and jvp come from vjp", async () => {
    const from = derivatives.fromVectorJacobianProduct();
    const tess = await derived({ jacobian: from, jacobianVectorProduct: from, vectorJacobianProduct: exact });
    await expectJacobian(tess, 1e-7);
    await expectProducts(tess, 1e-7);
  });

  test("one may come from another that is derived itself", async () => {
    const tess = await derived({
      jacobian: derivatives.fromJacobianVectorProduct(),
      jacobianVectorProduct: exact,
      vectorJacobianProduct: derivatives.fromJacobian(),
    });
    await expectProducts(tess, 1e-7);
  });

  test("empty inputs have empty derivatives", async () => {
    for (const from of [exact, derivatives.fromJacobianVectorProduct(), derivatives.fromVectorJacobianProduct()]) {
      const tess = await derived({
        jacobian: from,
        jacobianVectorProduct: exact,
        vectorJacobianProduct: exact,
      });
      const found = await tess.jacobian({ x: [], a: 1, w: [[]] }, ["x", "a"], ["y", "s"]);
      expect(found.y?.x?.shape).toEqual([0, 0]);
      expect(found.s?.x?.shape).toEqual([0]);
      expect(found.y?.a?.shape).toEqual([0]);
    }
  });

  test("a circle, or a source that isn't there, is refused when the Tesseract is defined", () => {
    const define = (endpoints: object) => () => defineTesseract({ name: "circle", ...schemas, apply, ...endpoints });
    const [jvp, vjp] = [derivatives.fromJacobianVectorProduct(), derivatives.fromVectorJacobianProduct()];
    expect(define({ jacobianVectorProduct: vjp, vectorJacobianProduct: jvp })).toThrow(
      tesseractError("INVALID_ARGUMENT", "from itself") as Error,
    );
    expect(define({ jacobian: jvp })).toThrow(
      tesseractError("INVALID_ARGUMENT", "jacobianVectorProduct", "doesn't have") as Error,
    );
  });
});

describe("abstractEval from the schema", () => {
  test("tells the shapes and dtypes that it fixes", async () => {
    const fixed = defineTesseract({
      name: "fixed",
      inputs: z.object({ x: array("float64", "any rank") }),
      outputs: z.object({
        y: array("float32", [2, 3]),
        more: z.object({ z: array("bool", []) }),
        maybe: z.int().optional(),
      }),
      apply: () => ({ y: [[1, 2, 3]], more: { z: true } }),
      abstractEval: derivatives.fromSchema(),
    });
    const tess = await open(fromTesseractApi(fixed));
    expect(await tess.abstractEval({ x: { shape: [5], dtype: "float64" } })).toEqual({
      y: { shape: [2, 3], dtype: "float32" },
      more: { z: { shape: [], dtype: "bool" } },
    });
  });

  test.each([
    ["y", array("float64", [null])],
    ["y", array("float64", "any rank")],
    ["y", array("any dtype", [])],
    ["y", z.object({ z: array("float64", [null]) })],
    ["y", z.number()],
    ["y", z.array(array("float64", []))],
  ])("is refused where it doesn't fix %s", (path, schema) => {
    const define = () =>
      defineTesseract({
        name: "loose",
        inputs: z.object({}),
        outputs: z.object({ y: schema }),
        apply: () => ({ y: 1 as never }),
        abstractEval: derivatives.fromSchema(),
      });
    expect(define).toThrow(tesseractError("INVALID_ARGUMENT", "abstractEval", path) as Error);
  });
});
