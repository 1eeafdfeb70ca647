import { numpy as np } from "@jax-js/jax";
import { type HostArray, hostArray } from "@tesseract-ts/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  applyTesseract,
  grad,
  hessian,
  jacrev,
  jaxArray,
  jit,
  jvp,
  makeProgram,
  saveIntermediates,
  sow,
  stopGradient,
  valueAndGrad,
  vmap,
} from "../src/index.js";
import { type Fake, square } from "./fake-tesseract.js";

type Outputs = { y: np.Array; total: np.Array };
const call = (fake: Fake, inputs: Record<string, unknown>, options = {}): Outputs =>
  applyTesseract(fake.tesseract, inputs, options) as unknown as Outputs;

const numbers = async (array: unknown): Promise<unknown> => (array as np.Array).jsAsync();
const loss =
  (fake: Fake, options = {}) =>
  (x: np.Array): np.Array =>
    np.sum(call(fake, { x }, options).y);

afterEach(() => {
  vi.restoreAllMocks();
});

describe("outside programs a call", () => {
  test("gives HostArrays for typed arrays, without asking for shapes", async () => {
    const fake = square();
    const { y } = await applyTesseract(fake.tesseract, { x: new Float64Array([1, 2, 3]) });
    expect((y as HostArray).data).toEqual(new Float64Array([1, 4, 9]));
    expect(fake.routes()).toEqual(["apply"]);
  });

  test("gives jax-js arrays for jax-js arrays, which it consumes", async () => {
    const x = await jaxArray([1, 2, 3]);
    const { y } = await applyTesseract(square().tesseract, { x });
    expect(y).toBeInstanceOf(np.Array);
    expect(await numbers(y)).toEqual([1, 4, 9]);
    expect(x.refCount).toBe(0);
  });

  test("that isn't awaited says so when its result is used", () => {
    const forgotten = applyTesseract(square().tesseract, { x: new Float64Array(3) });
    expect(() => forgotten.y).toThrow(
      expect.objectContaining({ code: "AWAIT_MISSING", hint: expect.stringContaining("await") }),
    );
  });
});

describe("a program", () => {
  test("asks for shapes once, however often it is called", async () => {
    const fake = square();
    const f = loss(fake);
    const x = await jaxArray([1, 2, 3]);
    expect(await numbers(await valueAndGrad(f)(x.ref).then(([value]) => value))).toBe(14);
    await valueAndGrad(f)(x.ref);
    expect(fake.routes()).toEqual([
      "abstract_eval",
      "apply",
      "vector_jacobian_product",
      "apply",
      "vector_jacobian_product",
    ]);
    expect(x.refCount).toBe(1);
  });

  test("of jit executes its function no more once its calls are known", async () => {
    const fake = square();
    let executed = 0;
    const program = jit((x: np.Array) => {
      executed += 1;
      return np.sum(call(fake, { x }).y);
    });
    await program(await jaxArray([1, 2]));
    const before = executed;
    expect(await numbers(await program(await jaxArray([3, 4])))).toBe(25);
    expect(executed).toBe(before);
    await program(await jaxArray([1, 2, 3]));
    expect(executed).toBeGreaterThan(before);
    program.dispose();
  });

  test("without jit sees what its function takes from outside anew", async () => {
    const fake = square();
    let factor = 2;
    const f = (x: np.Array): np.Array => np.sum(call(fake, { x }).y.mul(factor));
    const gradient = grad(f);
    expect(await numbers(await gradient(await jaxArray([1, 2])))).toEqual([4, 8]);
    factor = 3;
    expect(await numbers(await gradient(await jaxArray([1, 2])))).toEqual([6, 12]);
  });

  test("makes equal calls of equal inputs once", async () => {
    const fake = square();
    const f = (x: np.Array): np.Array => call(fake, { x: x.ref.mul(2) }).y.add(call(fake, { x: x.mul(2) }).y);
    expect(await numbers(await jit(f)(await jaxArray([1, 2])))).toEqual([8, 32]);
    expect(fake.routes()).toEqual(["abstract_eval", "apply"]);
  });

  test("makes independent calls at the same time, dependent ones one after another", async () => {
    const [together, after] = [square({ delay: 20 }), square({ delay: 20 })];
    const x = await jaxArray([1, 2]);
    await jit((x: np.Array) => call(together, { x: x.ref }).y.add(call(together, { x: x.mul(2) }).y))(x.ref);
    await jit((x: np.Array) => call(after, { x: call(after, { x }).y }).y)(x);
    expect([together.concurrent(), after.concurrent()]).toEqual([2, 1]);
  });

  test("makes no call whose results nothing uses", async () => {
    const fake = square();
    const f = (x: np.Array): np.Array => {
      call(fake, { x: x.ref }).y.dispose();
      return np.sum(x);
    };
    await jit(f)(await jaxArray([1, 2]));
    expect(fake.routes()).toEqual(["abstract_eval"]);
  });

  test("asks only for the derivatives that it uses", async () => {
    const fake = square();
    const f = (x: np.Array, w: np.Array): np.Array => np.sum(call(fake, { x, w }).y);
    await grad(f, { argnums: 1 })(await jaxArray([1, 2]), await jaxArray([3, 4]));
    expect(fake.routes()).toEqual(["abstract_eval", "vector_jacobian_product"]);
    expect(fake.asked[1]?.payload).toMatchObject({ vjp_inputs: ["w"], vjp_outputs: ["y"] });
  });

  test("asks for no derivative where the cotangent is zero", async () => {
    const fake = square();
    const f = (x: np.Array): np.Array => np.sum(stopGradient(call(fake, { x: x.ref }).y).mul(x));
    expect(await numbers(await grad(f)(await jaxArray([2, 3])))).toEqual([4, 9]);
    expect(fake.routes()).toEqual(["abstract_eval", "apply"]);
  });

  test("gives back what it doesn't touch, without sending it anywhere", async () => {
    const fake = square();
    const x = await jaxArray([1, 2]);
    const [same, y] = await jit((x: np.Array) => [x.ref, call(fake, { x }).y] as const)(x.ref);
    expect(same).toBe(x);
    expect(await numbers(y)).toEqual([1, 4]);
  });

  test("takes typed arrays and HostArrays, and keeps float64", async () => {
    const fake = square();
    const program = jit((x: np.Array) => call(fake, { x }).y.mul(0.1));
    const expected = [0.1 * 0.1 * 0.1, 0.2 * 0.2 * 0.1];
    expect(await numbers(await program(new Float64Array([0.1, 0.2])))).toEqual(expected);
    expect(await numbers(await program(hostArray([0.1, 0.2])))).toEqual(expected);
  });

  test("may be a part of another, which is compiled as a whole", async () => {
    const fake = square();
    const step = jit((x: np.Array, rate: np.Array) => {
      const [value, gradient] = valueAndGrad(loss(fake))(x.ref);
      return [value, x.sub(gradient.mul(rate))] as const;
    });
    const [value, next] = await step(await jaxArray([1, 2]), 0.25);
    expect([await numbers(value), await numbers(next)]).toEqual([5, [0.5, 1]]);
    expect(fake.routes()).toEqual(["abstract_eval", "apply", "vector_jacobian_product"]);
  });

  test("ends its calls when one of them fails, and says why", async () => {
    const fake = square({
      apply: () => {
        throw new Error("diverged");
      },
    });
    const x = await jaxArray([1, 2]);
    await expect(jit(loss(fake))(x)).rejects.toThrow("diverged");
    expect(x.refCount).toBe(0);
  });
});

describe("second derivatives", () => {
  test("of the parts between Tesseracts work, beside a Tesseract", async () => {
    const fake = square();
    const f = (w: np.Array): np.Array =>
      np.sum(
        call(fake, { x: new Float64Array([1, 2]) })
          .y.mul(w.ref)
          .mul(w),
      );
    expect(await numbers(await hessian(f)(await jaxArray([3, 5])))).toEqual([
      [2, 0],
      [0, 8],
    ]);
  });

  test("that are mixed ask for a product at the new vectors", async () => {
    const fake = square();
    const f = (x: np.Array, w: np.Array): np.Array => np.sum(call(fake, { x }).y.mul(w.ref).mul(w));
    const byX = (x: np.Array) => (w: np.Array) => grad(f)(x.ref, w);
    const x = await jaxArray([1, 2]);
    const [, change] = await jvp(byX(x), [await jaxArray([3, 5])], [await jaxArray([1, 1])]);
    expect(await numbers(change)).toEqual([12, 40]);
  });

  test("of a Tesseract are refused", async () => {
    await expect(hessian(loss(square()))(await jaxArray([1, 2]))).rejects.toMatchObject({ code: "SECOND_DERIVATIVE" });
  });
});

describe("what can't be done is refused with a hint:", () => {
  const refused = async (f: (...args: never[]) => unknown, code: string, words = ""): Promise<void> => {
    const x = await jaxArray([1, 2]);
    const failure = await (async () => jit(f as (x: np.Array) => unknown)(x))().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code, message: expect.stringContaining(words), hint: expect.any(String) });
  };

  test("control flow on values", async () => {
    const fake = square();
    await refused((x: np.Array) => (Number(x.ref) > 0 ? x : call(fake, { x }).y), "VALUE_UNKNOWN");
    await refused((x: np.Array) => (call(fake, { x }).y.js()[0] > 0 ? 1 : 0), "VALUE_UNKNOWN", ".js()");
  });

  test("control flow on shapes is none of it", async () => {
    const fake = square();
    const f = (x: np.Array): np.Array => (call(fake, { x: x.ref }).y.shape[0] === 2 ? x.mul(2) : x);
    expect(await numbers(await jit(f)(await jaxArray([1, 2])))).toEqual([2, 4]);
  });

  test("await within a traced function", async () => {
    const fake = square();
    await refused(
      async (x: np.Array) => (await applyTesseract(fake.tesseract, { x })).y,
      "VALUE_UNKNOWN",
      "asynchronous",
    );
  });

  test("a function that makes other calls when it is executed again", async () => {
    const fake = square();
    let executed = 0;
    const f = (x: np.Array): np.Array => {
      executed += 1;
      return executed % 2 === 0 ? x : call(fake, { x }).y;
    };
    await refused(f, "IMPURE_FUNCTION");
  });

  test("one that calls a new Tesseract each time, or new shapes, isn't executed for ever", async () => {
    await refused((x: np.Array) => loss(square())(x), "IMPURE_FUNCTION");
    const fake = square();
    let size = 0;
    const growing = (x: np.Array): np.Array => {
      size += 1;
      return np.sum(call(fake, { x: np.tile(x, size) }).y);
    };
    await refused(growing, "IMPURE_FUNCTION");
  });

  test("a batch without a method", async () => {
    const fake = square();
    const x = await jaxArray([[1, 2]]);
    await expect(vmap((x: np.Array) => call(fake, { x }).y)(x)).rejects.toMatchObject({
      code: "VMAP_METHOD_MISSING",
      hint: expect.stringContaining("sequential"),
    });
  });

  test("derivatives by inputs and of outputs that aren't differentiable", async () => {
    const fake = square({
      inputs: { x: { rank: 1, differentiable: false }, w: { rank: 1 } },
      outputs: { y: {}, total: { differentiable: false } },
    });
    await expect(grad(loss(fake))(await jaxArray([1, 2]))).rejects.toMatchObject({
      code: "NOT_DIFFERENTIABLE",
      message: expect.stringContaining('"x"'),
      hint: expect.stringContaining("stopGradient"),
    });
    const total = (w: np.Array): np.Array => call(fake, { x: new Float64Array([1, 2]), w }).total;
    await expect(grad(total)(await jaxArray([1, 2]))).rejects.toMatchObject({
      code: "NOT_DIFFERENTIABLE",
      message: expect.stringContaining('"total"'),
    });
  });

  test("an endpoint that the Tesseract doesn't have", async () => {
    const fake = square({ without: ["vector_jacobian_product"] });
    await expect(grad(loss(fake))(await jaxArray([1, 2]))).rejects.toMatchObject({
      code: "ENDPOINT_NOT_FOUND",
      message: expect.stringContaining("vectorJacobianProduct"),
    });
    const mute = square({ without: ["abstract_eval"] });
    await expect(jit(loss(mute))(await jaxArray([1, 2]))).rejects.toMatchObject({ code: "ENDPOINT_NOT_FOUND" });
  });

  test("computing with a dtype that jax-js lacks", async () => {
    const fake = square({ outputs: { y: { dtype: "int64" }, total: {} } });
    await refused((x: np.Array) => call(fake, { x }).y.mul(2), "UNSUPPORTED_DTYPE", "int64");
  });
});

test("an array of a dtype that jax-js lacks may be passed on, and is returned as a HostArray", async () => {
  const fake = square({ outputs: { y: { dtype: "int64" }, total: {} } });
  const { y } = (await jit((x: np.Array) => ({ y: call(fake, { x }).y }))(await jaxArray([1, 2]))) as unknown as {
    y: HostArray;
  };
  expect(y).toEqual({ dtype: "int64", shape: [2], data: new BigInt64Array([1n, 4n]) });
});

describe("static outputs", () => {
  test("are values at once within a program, and come out as they are", async () => {
    const fake = square({ statics: { backend: "fast" } });
    const f = (x: np.Array) => applyTesseract(fake.tesseract, { x }) as unknown as Outputs & { backend: string };
    expect(await jit((x: np.Array) => f(x).backend)(await jaxArray([1]))).toBe("fast");
  });

  test("that aren't as announced earn a warning, unless it is unwanted", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const fake = square({ statics: { backend: "fast" }, appliedStatics: { backend: "slow" } });
    await jit(loss(fake, { checkStaticOutputs: false }))(await jaxArray([1]));
    expect(warn).not.toHaveBeenCalled();
    await jit(loss(fake))(await jaxArray([1]));
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("backend"));
  });
});

describe("batches", () => {
  const xs = (): Promise<np.Array> =>
    jaxArray([
      [1, 2],
      [3, 4],
      [5, 6],
    ]);

  test.each([
    ["sequential", 3],
    ["expand_dims", 1],
    ["broadcast_all", 1],
    ["auto_experimental", 3],
  ] as const)("by %s make %i requests", async (vmapMethod, count) => {
    const fake = square();
    const f = (x: np.Array): np.Array => call(fake, { x }, { vmapMethod }).y;
    expect(await numbers(await jit(vmap(f))(await xs()))).toEqual([
      [1, 4],
      [9, 16],
      [25, 36],
    ]);
    expect(fake.routes().filter((route) => route === "apply")).toHaveLength(count);
  });

  test("of cotangents at one point ask for the Jacobian once, or for products if told so", async () => {
    const [auto, products] = [square(), square()];
    const x = await jaxArray([1, 2]);
    const expected = [
      [2, 0],
      [0, 4],
    ];
    expect(await numbers(await jacrev((x: np.Array) => call(auto, { x }).y)(x.ref))).toEqual(expected);
    const options = { materializeJacobian: false, vmapMethod: "sequential" } as const;
    expect(await numbers(await jacrev((x: np.Array) => call(products, { x }, options).y)(x))).toEqual(expected);
    expect(auto.routes()).toEqual(["abstract_eval", "jacobian"]);
    expect(products.routes()).toEqual(["abstract_eval", "vector_jacobian_product", "vector_jacobian_product"]);
  });
});

describe("what is sown", () => {
  const sown =
    (fake: Fake) =>
    (x: np.Array): np.Array =>
      np.sum(np.square(sow(call(fake, { x }).y, "squares")));

  test("does nothing by itself", async () => {
    expect(await numbers(await jit(sown(square()))(await jaxArray([1, 2])))).toBe(17);
  });

  test("comes out beside the result, with its cotangent or tangent", async () => {
    const [gradient, { squares }] = await saveIntermediates(grad(sown(square())))(await jaxArray([1, 2]));
    expect(await numbers(gradient)).toEqual([4, 32]);
    expect(await numbers(squares?.primal)).toEqual([1, 4]);
    expect(await numbers(squares?.cotangent)).toEqual([2, 8]);
  });

  test("twice under one name is an error", async () => {
    const f = (x: np.Array): np.Array => sow(sow(x, "a").mul(2), "a");
    await expect(saveIntermediates(f)(await jaxArray([1]))).rejects.toThrow("twice");
  });
});

test("a program is printed, and drawn", async () => {
  const fake = square();
  const program = await makeProgram(jit(grad(loss(fake))))(await jaxArray([1, 2]));
  expect(String(program)).toContain("call fake.vector_jacobian_product[y by x]");
  expect(program.toMermaid()).toMatch(/^flowchart TD\n/);
  expect(program.requests).toEqual({ vjp: 1 });
});
