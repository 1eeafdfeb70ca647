import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hostArray, type TesseractError } from "@tesseract-ts/core";
import ndarray from "ndarray";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { array, defineTesseract, differentiable, fromTesseractApi } from "../src/index.js";
import { floats, open, scale, tesseractError } from "./support.js";

describe("a Tesseract in this process", () => {
  test("runs apply, with defaults filled in", async () => {
    const tess = await open(fromTesseractApi(scale));
    expect(await tess.apply({ x: new Float64Array([1, 2, 3]) })).toEqual({ y: floats(2, 4, 6) });
    expect(await tess.apply({ x: [1, 2], factor: 10 })).toEqual({ y: floats(10, 20) });
  });

  test("takes arrays of other libraries", async () => {
    const tess = await open(fromTesseractApi(scale));
    const matrix = ndarray(new Float64Array([1, 2, 3, 4]), [4], [-1], 3);
    expect((await tess.apply({ x: matrix })).y.data).toEqual(new Float64Array([8, 6, 4, 2]));
  });

  test("answers what its schema says, and knows its endpoints", async () => {
    const tess = await open(fromTesseractApi(scale));
    expect([...tess.availableEndpoints].sort()).toEqual(["apply", "health", "test", "vectorJacobianProduct"]);
    expect(tess.serverCapabilities).toBeUndefined();
    expect(tess.openapiSchema).toMatchObject({
      info: { title: "scale", version: "1.2.3", description: "Scales a vector." },
    });
    expect(await tess.health()).toEqual({ status: "ok" });
    await expect(tess.jacobian({ x: [1] }, ["x"], ["y"])).rejects.toEqual(
      tesseractError("ENDPOINT_NOT_FOUND", "jacobian"),
    );
  });

  test("computes derivatives that are written", async () => {
    const tess = await open(fromTesseractApi(scale));
    const gradient = await tess.vectorJacobianProduct({ x: [1, 2], factor: 3 }, ["x"], ["y"], { y: [1, 10] });
    expect(gradient).toEqual({ x: floats(3, 30) });
  });

  test("refuses a request as a served one does: the code, and the issues with their places", async () => {
    const tess = await open(fromTesseractApi(scale));
    const refused = tess.apply({ x: "no numbers" as never, factor: "many" as never });
    await expect(refused).rejects.toEqual(tesseractError("VALIDATION_FAILED", "body.inputs.x", "body.inputs.factor"));
    const { issues } = (await refused.catch((error: TesseractError) => error)) as TesseractError;
    expect(issues.map(({ type, path }) => [type, path])).toEqual([
      ["array_non_numeric", ["body", "inputs", "x"]],
      ["float_parsing", ["body", "inputs", "factor"]],
    ]);
  });

  test("says why an array doesn't fit", async () => {
    const tess = await open(fromTesseractApi(scale));
    const matrix = hostArray(new Float64Array(4), { shape: [2, 2] });
    await expect(tess.apply({ x: matrix })).rejects.toEqual(tesseractError("VALIDATION_FAILED", "[2, 2]", "[any]"));
    const complex = hostArray(new Float64Array(4), { dtype: "complex128" });
    await expect(tess.apply({ x: complex })).rejects.toEqual(
      tesseractError("VALIDATION_FAILED", "complex128", "float64"),
    );
  });

  test("doesn't send what can't be sent to a server either", async () => {
    const tess = await open(fromTesseractApi(scale));
    await expect(tess.apply({ x: new Map() as never })).rejects.toEqual(tesseractError("INVALID_TREE", "Map"));
    await expect(tess.apply({ x: [Number.NaN] })).rejects.toEqual(tesseractError("INVALID_TREE", "NaN"));
  });

  test("views its encoding without a change of what it does", async () => {
    const tess = await open(fromTesseractApi(scale));
    const view = tess.withEncoding({ outputFormat: "json", compression: "lz4" });
    expect(await view.apply({ x: [1] })).toEqual({ y: floats(2) });
    await view.close();
    expect(await tess.apply({ x: [1] })).toEqual({ y: floats(2) });
  });

  test("ends: calls in flight and later ones fail with CLOSED", async () => {
    const tess = await fromTesseractApi(slow(10_000));
    const call = tess.apply({});
    await tess.close();
    await expect(call).rejects.toEqual(tesseractError("CLOSED", "slow"));
    await expect(tess.apply({})).rejects.toEqual(tesseractError("CLOSED"));
    await tess.close();
  });
});

/** Waits, and heeds its signal. */
const slow = (ms: number) =>
  defineTesseract({
    name: "slow",
    inputs: z.object({}),
    outputs: z.object({ waited: z.boolean() }),
    apply: async (_inputs, { signal }) => {
      await sleep(ms, undefined, { signal });
      return { waited: true };
    },
  });

describe("a call", () => {
  test("is given up when its signal is aborted, or its time is over", async () => {
    const tess = await open(fromTesseractApi(slow(10_000)));
    const controller = new AbortController();
    const call = tess.apply({}, { signal: controller.signal });
    controller.abort();
    await expect(call).rejects.toEqual(tesseractError("ABORTED"));
    await expect(tess.apply({}, { timeout: 20 })).rejects.toEqual(tesseractError("TIMEOUT", "20 ms"));
    await expect(tess.apply({}, { signal: controller.signal })).rejects.toEqual(tesseractError("ABORTED"));
  });

  test("tells its endpoint that it was given up", async () => {
    let resolve: (reason: unknown) => void = () => {};
    const seen = new Promise<unknown>((settle) => {
      resolve = settle;
    });
    const patient = defineTesseract({
      name: "patient",
      inputs: z.object({}),
      outputs: z.object({}),
      apply: async (_inputs, { signal }) => {
        signal.addEventListener("abort", () => resolve(signal.reason));
        await seen;
        return {};
      },
    });
    const tess = await open(fromTesseractApi(patient, { timeout: 10 }));
    await expect(tess.apply({})).rejects.toEqual(tesseractError("TIMEOUT"));
    expect(await seen).toEqual(tesseractError("TIMEOUT"));
  });

  test("runs beside others", async () => {
    let running = 0;
    let allRun: () => void = () => {};
    const all = new Promise<void>((resolve) => {
      allRun = resolve;
    });
    const together = defineTesseract({
      name: "together",
      inputs: z.object({}),
      outputs: z.object({}),
      apply: async () => {
        running += 1;
        if (running === 20) allRun();
        await all;
        return {};
      },
    });
    const tess = await open(fromTesseractApi(together));
    expect(await Promise.all(Array.from({ length: 20 }, () => tess.apply({})))).toEqual(Array(20).fill({}));
  });

  test("whose endpoint throws fails with ENDPOINT_FAILED and the cause", async () => {
    const cause = new RangeError("too hot");
    const failing = defineTesseract({
      name: "failing",
      inputs: z.object({}),
      outputs: z.object({}),
      apply: () => {
        throw cause;
      },
    });
    const tess = await open(fromTesseractApi(failing));
    await expect(tess.apply({})).rejects.toEqual(tesseractError("ENDPOINT_FAILED", "apply", "failing", "too hot"));
    await expect(tess.apply({})).rejects.toMatchObject({ cause });
  });

  test("whose results don't fit fails with INVALID_OUTPUTS, and each place", async () => {
    const wrong = defineTesseract({
      name: "wrong",
      inputs: z.object({}),
      outputs: z.object({ a: array("float64", [2]), b: z.int(), c: array("int32", []) }),
      apply: () => ({ a: [1, 2, 3], b: 1.5, c: 1, d: 4 }),
    });
    const tess = await open(fromTesseractApi(wrong));
    const failed = tess.apply({});
    await expect(failed).rejects.toEqual(tesseractError("INVALID_OUTPUTS", "a:", "[3]", "b:", "d:"));
    await expect(failed).rejects.toMatchObject({
      issues: [
        { type: "array_shape_mismatch", path: ["a"] },
        { type: "int_from_float", path: ["b"] },
        { type: "extra_forbidden", path: ["d"] },
      ],
    });
  });

  test("whose derivatives are of other paths than those asked for fails", async () => {
    const wrong = defineTesseract({ ...definitionOf(), vectorJacobianProduct: () => ({ z: [1] }) as never });
    const tess = await open(fromTesseractApi(wrong));
    await expect(tess.vectorJacobianProduct({ x: [1] }, ["x"], ["y"], { y: [1] })).rejects.toEqual(
      tesseractError("INVALID_OUTPUTS", '"x"', '"z"'),
    );
  });
});

const differentiableVector = () => differentiable(array("float64", [null]));

const definitionOf = () => ({
  name: "scale",
  inputs: z.object({ x: differentiableVector() }),
  outputs: z.object({ y: differentiableVector() }),
  apply: () => ({ y: [1] }),
});

describe("an endpoint's context", () => {
  const writer = defineTesseract({
    name: "writer",
    inputs: z.object({ text: z.string() }),
    outputs: z.object({ folder: z.string(), run: z.string() }),
    apply: async ({ text }, { log, outputDirectory, runId }) => {
      const folder = await outputDirectory();
      await writeFile(join(folder, "text.txt"), text);
      log(`wrote ${text.length} characters`);
      return { folder, run: runId };
    },
  });

  test("has a folder for the run, which goes when the Tesseract is closed", async () => {
    const lines: [string, string][] = [];
    const tess = await fromTesseractApi(writer, { onLog: (line, { runId }) => lines.push([runId, line]) });
    const { folder, run } = await tess.apply({ text: "abc" }, { runId: "mine" });
    expect(run).toBe("mine");
    expect(folder).toMatch(/run_mine$/);
    expect(existsSync(join(folder, "text.txt"))).toBe(true);
    expect(lines).toEqual([["mine", "wrote 3 characters"]]);
    await tess.close();
    expect(existsSync(folder)).toBe(false);
  });

  test("names a run that nobody named", async () => {
    const tess = await open(fromTesseractApi(writer, { onLog: () => {} }));
    const runs = await Promise.all([tess.apply({ text: "" }), tess.apply({ text: "" })]);
    expect(new Set(runs.map(({ run }) => run)).size).toBe(2);
  });

  test("keeps to its folder", async () => {
    const tess = await open(fromTesseractApi(writer, { onLog: () => {} }));
    for (const runId of ["../x", "a/b", "", "a\0b", "x".repeat(201)]) {
      await expect(tess.apply({ text: "" }, { runId })).rejects.toEqual(
        tesseractError("INVALID_ARGUMENT", "name a run"),
      );
    }
  });
});
