import { hostArray } from "@tesseract-ts/core";
import { describe, expect, test } from "vitest";
import { fromTesseractApi } from "../src/index.js";
import vectors from "./parity/twins/vectors.js";
import { open, scale, tesseractError } from "./support.js";

const inputs = { x: [1, 2], factor: 3 };

describe("the endpoint test", () => {
  test("passes where the outputs are close, by the tolerances given", async () => {
    const tess = await open(fromTesseractApi(scale));
    await tess.test({ endpoint: "apply", payload: { inputs }, expectedOutputs: { y: hostArray([3, 6]) } });
    const off = { endpoint: "apply", payload: { inputs }, expectedOutputs: { y: hostArray([3.01, 6]) } } as const;
    await expect(tess.test(off)).rejects.toEqual(
      tesseractError("REGRESSION_FAILED", "y", "1 of 2", "element 0", "3.01"),
    );
    await tess.test({ ...off, atol: 0.1 });
    await tess.test({ ...off, rtol: 0.01 });
  });

  test("compares dtypes and shapes without casting", async () => {
    const tess = await open(fromTesseractApi(scale));
    const expecting = (y: unknown) => tess.test({ endpoint: "apply", payload: { inputs }, expectedOutputs: { y } });
    await expect(expecting(hostArray(new Float32Array([3, 6])))).rejects.toEqual(
      tesseractError("REGRESSION_FAILED", "float32"),
    );
    await expect(expecting(hostArray([3, 6, 9]))).rejects.toEqual(tesseractError("REGRESSION_FAILED", "[3]"));
    await expect(expecting(hostArray([[3, 6]]))).rejects.toEqual(tesseractError("REGRESSION_FAILED", "dimensions"));
    await expect(tess.test({ endpoint: "apply", payload: { inputs }, expectedOutputs: {} })).rejects.toEqual(
      tesseractError("REGRESSION_FAILED", "y", "missing"),
    );
  });

  test("tests derivatives, and shapes", async () => {
    const tess = await open(fromTesseractApi(scale));
    const payload = { inputs, vjpInputs: ["x"], vjpOutputs: ["y"], cotangentVector: { y: [1, 2] } };
    await tess.test({ endpoint: "vectorJacobianProduct", payload, expectedOutputs: { x: hostArray([3, 6]) } });
    await expect(
      tess.test({ endpoint: "vectorJacobianProduct", payload, expectedOutputs: { x: hostArray([3, 7]) } }),
    ).rejects.toEqual(tesseractError("REGRESSION_FAILED", "x"));
    const shapes = await open(fromTesseractApi(vectors));
    const abstract = (shape: number[]) => ({ shape, dtype: "float64" });
    await shapes.test({
      endpoint: "abstractEval",
      payload: { inputs: { x: abstract([2]), affine: { matrix: abstract([1, 2]), shift: abstract([1]) } } },
      expectedOutputs: { y: abstract([1]), stats: { norm2: abstract([]) }, products: [], scaled: {}, rows: 1 },
    });
  });

  test("expects what is thrown, by its name and message", async () => {
    const tess = await open(fromTesseractApi(vectors));
    const bad = { x: [1], affine: { matrix: [[1, 2]], shift: [1] } };
    const expecting = (expectedException: string, expectedExceptionRegex?: string) =>
      tess.test({
        endpoint: "apply",
        payload: { inputs: bad },
        expectedException,
        ...(expectedExceptionRegex === undefined ? {} : { expectedExceptionRegex }),
      });
    await expecting("Error");
    await expecting("Exception", "^the shapes don't fit");
    await expect(expecting("RangeError")).rejects.toEqual(tesseractError("REGRESSION_FAILED", "RangeError", "Error"));
    await expect(expecting("Error", "^other")).rejects.toEqual(tesseractError("REGRESSION_FAILED", "other"));
    await tess.test({
      endpoint: "apply",
      payload: { inputs: {} },
      expectedException: "ValidationError",
      expectedExceptionRegex: "missing",
    });
    await expect(tess.test({ endpoint: "apply", payload: { inputs: {} }, expectedOutputs: { y: 1 } })).rejects.toEqual(
      tesseractError("REGRESSION_FAILED"),
    );
  });

  test("tells an error that wasn't expected from a difference", async () => {
    const tess = await open(fromTesseractApi(vectors));
    const payload = { inputs: { x: [1], affine: { matrix: [[1, 2]], shift: [1] } } };
    const expectedOutputs = { y: hostArray([1]), stats: { norm2: hostArray(1) }, products: [], scaled: {}, rows: 1 };
    await expect(tess.test({ endpoint: "apply", payload, expectedOutputs })).rejects.toEqual(
      tesseractError("REGRESSION_ERROR", "the shapes don't fit"),
    );
  });

  test("refuses a specification that isn't one", async () => {
    const tess = await open(fromTesseractApi(scale));
    await expect(tess.test({ endpoint: "apply", payload: { inputs } })).rejects.toEqual(
      tesseractError("VALIDATION_FAILED", "exactly one"),
    );
    await expect(tess.test({ endpoint: "jacobian", payload: { inputs }, expectedOutputs: {} })).rejects.toEqual(
      tesseractError("REGRESSION_FAILED", "no endpoint"),
    );
  });
});
