import { hostArray } from "@tesseract-ts/core";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { array, defineTesseract, fromTesseractApi } from "../src/index.js";
import { floats, open, tesseractError } from "./support.js";

const schema = z.object({ x: array("float64", [null]) });

describe("inputs", () => {
  test("are the caller's own arrays, not copies", async () => {
    let seen: unknown;
    const looking = defineTesseract({
      name: "looking",
      inputs: schema,
      outputs: z.object({}),
      apply: ({ x }) => {
        seen = x.data;
        return {};
      },
    });
    const tess = await open(fromTesseractApi(looking));
    const x = new Float64Array([1, 2]);
    await tess.apply({ x });
    expect(seen).toBe(x);
  });

  /** Takes the mean away, and forgets that x is the caller's. */
  const inPlace = defineTesseract({
    name: "in place",
    inputs: schema,
    outputs: schema,
    apply: ({ x }) => {
      const mean = x.data.reduce((sum, value) => sum + value, 0) / x.data.length;
      for (let index = 0; index < x.data.length; index++) x.data[index] = (x.data[index] as number) - mean;
      return { x };
    },
  });

  test("that an endpoint changes in place are found in development, named, and put back", async () => {
    const tess = await open(fromTesseractApi(inPlace, { development: true }));
    const x = new Float64Array([1, 3]);
    await expect(tess.apply({ x })).rejects.toEqual(tesseractError("INPUT_CHANGED", "in place", '"x"'));
    expect(x).toEqual(new Float64Array([1, 3]));
  });

  test("that it changes are found although it throws then, and NaNs aren't changes", async () => {
    const broken = defineTesseract({
      name: "broken",
      inputs: z.object({ a: array("float64", "any rank"), list: z.array(array("int8", [null])) }),
      outputs: z.object({}),
      apply: ({ list }) => {
        list[1]?.data.fill(9);
        throw new Error("later");
      },
    });
    const tess = await open(fromTesseractApi(broken, { development: true }));
    const inputs = { a: hostArray(Number.NaN), list: [new Int8Array(1), new Int8Array(2)] };
    await expect(tess.apply(inputs)).rejects.toEqual(tesseractError("INPUT_CHANGED", '"list.[1]"'));
    await expect(tess.apply({ ...inputs, list: [] })).rejects.toEqual(tesseractError("ENDPOINT_FAILED", "later"));
  });

  test("aren't put back once the caller has given up, and may have changed them itself", async () => {
    let finish: () => void = () => {};
    const late = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let done = false;
    const slow = defineTesseract({
      name: "slow",
      inputs: schema,
      outputs: schema,
      apply: async ({ x }) => {
        await late;
        done = true;
        return { x };
      },
    });
    const tess = await open(fromTesseractApi(slow, { development: true }));
    const x = new Float64Array([1]);
    await expect(tess.apply({ x }, { timeout: 10 })).rejects.toEqual(tesseractError("TIMEOUT"));
    x[0] = 5;
    finish();
    await vi.waitFor(() => expect(done).toBe(true));
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(x).toEqual(new Float64Array([5]));
  });

  test("that are as the schema's default are fresh for each call", async () => {
    const defaults = defineTesseract({
      name: "defaults",
      inputs: z.object({ x: array("float64", [2]).default(hostArray([1, 2], { dtype: "float64" })) }),
      outputs: schema,
      apply: ({ x }) => ({ x: x.data.fill(x.data[0] === 1 ? 7 : 8) }),
    });
    const tess = await open(fromTesseractApi(defaults));
    expect(await tess.apply({})).toEqual({ x: floats(7, 7) });
    expect(await tess.apply({})).toEqual({ x: floats(7, 7) });
  });
});

describe("results", () => {
  const echo = defineTesseract({
    name: "echo",
    inputs: schema,
    outputs: z.object({
      x: array("float64", [null]),
      part: array("float64", [null]),
      again: z.array(array("float64", [null])),
    }),
    apply: ({ x }) => {
      const own = new Float64Array([5, 6]);
      return { x, part: x.data.subarray(1), again: [own, own] };
    },
  });

  test("are the caller's own: what shares memory with an input or another result is copied", async () => {
    const tess = await open(fromTesseractApi(echo));
    const x = new Float64Array([1, 2, 3]);
    const { x: back, part, again } = await tess.apply({ x });
    expect(back.data).toEqual(x);
    x.fill(0);
    expect([back.data, part.data]).toEqual([new Float64Array([1, 2, 3]), new Float64Array([2, 3])]);
    again[0]?.data.fill(0);
    expect(again[1]?.data).toEqual(new Float64Array([5, 6]));
  });

  test("that share nothing aren't copied", async () => {
    const own = new Float64Array([1]);
    const tess = await open(
      fromTesseractApi(
        defineTesseract({ name: "own", inputs: z.object({}), outputs: schema, apply: () => ({ x: own }) }),
      ),
    );
    expect((await tess.apply({})).x.data).toBe(own);
  });
});
