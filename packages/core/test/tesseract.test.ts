import { describe, expect, test } from "vitest";
import type { Backend, BackendCall } from "../src/backend.js";
import type { RequestedEncoding } from "../src/encoding.js";
import { TesseractError } from "../src/errors.js";
import { Tesseract } from "../src/tesseract.js";
import { failureOf, tesseractError } from "./support.js";

const everyPath = {
  "/apply": {},
  "/jacobian": {},
  "/jacobian_vector_product": {},
  "/vector_jacobian_product": {},
  "/abstract_eval": {},
  "/health": {},
  "/test": {},
};

/** A backend that records its calls. */
function stub(answer: unknown = {}, paths: unknown = everyPath) {
  const calls: BackendCall[] = [];
  const checked: RequestedEncoding[] = [];
  let closed = 0;
  const backend: Backend = {
    openapiSchema: { paths },
    serverCapabilities: undefined,
    defaultEncoding: { outputFormat: "json+base64" },
    checkEncoding(requested) {
      checked.push(requested);
      if (requested.outputFormat === "nonsense") throw new TesseractError("ENCODING_UNAVAILABLE", "no");
    },
    async resolveGpuTransport(requested) {
      return requested ?? "resolved";
    },
    async explainGpuTransport(requested) {
      return { requested, offered: undefined, resolved: requested ?? "resolved", checks: [] };
    },
    async call(call) {
      calls.push(call);
      return answer;
    },
    async close() {
      closed++;
    },
  };
  return { backend, calls, checked, closed: () => closed };
}

describe("each endpoint", () => {
  const inputs = { x: [1, 2] };
  const options = { timeout: 5, runId: "r" };

  test("gets its payload by the names on the wire", async () => {
    const { backend, calls } = stub();
    const tess = new Tesseract(backend);
    await tess.apply(inputs, options);
    await tess.jacobian(inputs, ["x"], ["y"], options);
    await tess.jacobianVectorProduct(inputs, ["x"], ["y"], { x: [3] }, options);
    await tess.vectorJacobianProduct(inputs, ["x"], ["y"], { y: [4] }, options);
    await tess.abstractEval(inputs, { timeout: 5 });
    await tess.health({ timeout: 5 });
    const common = { timeout: 5, encoding: { outputFormat: "json+base64" } };
    expect(calls).toEqual([
      { ...common, runId: "r", route: "apply", payload: { inputs } },
      { ...common, runId: "r", route: "jacobian", payload: { inputs, jac_inputs: ["x"], jac_outputs: ["y"] } },
      {
        ...common,
        runId: "r",
        route: "jacobian_vector_product",
        payload: { inputs, jvp_inputs: ["x"], jvp_outputs: ["y"], tangent_vector: { x: [3] } },
      },
      {
        ...common,
        runId: "r",
        route: "vector_jacobian_product",
        payload: { inputs, vjp_inputs: ["x"], vjp_outputs: ["y"], cotangent_vector: { y: [4] } },
      },
      { ...common, route: "abstract_eval", payload: { inputs } },
      { ...common, route: "health" },
    ]);
  });

  test("gives its answer as it is", async () => {
    const answer = { y: 1 };
    const tess = new Tesseract(stub(answer).backend);
    expect(await tess.apply({})).toBe(answer);
    expect(await tess.health()).toBe(answer);
  });

  test("that the Tesseract doesn't have is refused without a call", async () => {
    const { backend, calls } = stub({}, { "/apply": {}, "/health": {} });
    const tess = new Tesseract(backend);
    for (const [call, name] of [
      [() => tess.jacobian({}, [], []), "jacobian"],
      [() => tess.jacobianVectorProduct({}, [], [], {}), "jacobianVectorProduct"],
      [() => tess.vectorJacobianProduct({}, [], [], {}), "vectorJacobianProduct"],
      [() => tess.abstractEval({}), "abstractEval"],
    ] as const) {
      const error = await failureOf(call);
      expect(error).toEqual(tesseractError("ENDPOINT_NOT_FOUND", `"${name}"`));
      expect(error.hint).toBe("It has apply, health.");
    }
    expect((await failureOf(() => tess.test({ endpoint: "apply", payload: { inputs } }))).hint).toContain("debug mode");
    expect(calls).toEqual([]);
  });
});

describe("the available endpoints", () => {
  test("are those of the schema's paths, by their names in TypeScript", () => {
    expect(new Tesseract(stub().backend).availableEndpoints).toEqual([
      "apply",
      "jacobian",
      "jacobianVectorProduct",
      "vectorJacobianProduct",
      "abstractEval",
      "health",
      "test",
    ]);
  });

  test("are none of another server's, or of a schema without any", () => {
    const paths = {
      "/": {},
      "/docs": {},
      "/apply/more": {},
      "/toString": {},
      "/__proto__": {},
      "/jacobianVectorProduct": {},
    };
    for (const odd of [paths, {}, null, []]) {
      expect(new Tesseract(stub({}, odd).backend).availableEndpoints).toEqual([]);
    }
  });
});

describe("a view", () => {
  test("asks for what it changes, and for the rest as before", async () => {
    const { backend, calls, checked } = stub();
    const tess = new Tesseract(backend, { compression: "lz4" });
    const view = tess.withEncoding({ gpuTransport: "none" });
    const further = view.withEncoding({ outputFormat: "json", compression: undefined });
    const back = further.withEncoding({ compression: "none" });
    expect([tess, view, further, back].map(({ currentEncoding }) => currentEncoding)).toEqual([
      { outputFormat: "json+base64", gpuTransport: undefined, compression: "lz4" },
      { outputFormat: "json+base64", gpuTransport: "none", compression: "lz4" },
      { outputFormat: "json", gpuTransport: "none", compression: "lz4" },
      { outputFormat: "json", gpuTransport: "none", compression: "none" },
    ]);
    await back.apply({});
    await tess.apply({});
    expect(calls.map(({ encoding }) => encoding)).toEqual([back.currentEncoding, tess.currentEncoding]);
    expect(checked).toEqual([
      { gpuTransport: "none" },
      { outputFormat: "json", compression: undefined },
      { compression: "none" },
    ]);
  });

  test("that can't be had is refused at once", async () => {
    const { backend } = stub();
    expect(await failureOf(() => new Tesseract(backend).withEncoding({ outputFormat: "nonsense" }))).toEqual(
      tesseractError("ENCODING_UNAVAILABLE"),
    );
  });

  test("owns nothing: closing it does nothing, closing the Tesseract does", async () => {
    const { backend, closed } = stub();
    const tess = new Tesseract(backend);
    {
      await using view = tess.withEncoding({ compression: "lz4" });
      await view.withEncoding({}).close();
    }
    expect(closed()).toBe(0);
    await tess.close();
    expect(closed()).toBe(1);
    {
      await using _ = new Tesseract(backend);
    }
    expect(closed()).toBe(2);
  });

  test("shares the schema", () => {
    const tess = new Tesseract(stub().backend);
    const view = tess.withEncoding({});
    expect(view.openapiSchema).toBe(tess.openapiSchema);
    expect(view.serverCapabilities).toBe(tess.serverCapabilities);
  });
});

describe("a regression test", () => {
  test("has the names on the wire, but keeps those of the Tesseract", async () => {
    const { backend, calls } = stub({ status: "passed", message: "" });
    await new Tesseract(backend).test({
      endpoint: "vectorJacobianProduct",
      payload: {
        inputs: { someInput: { innerName: 1 } },
        vjpInputs: ["someInput"],
        vjpOutputs: ["someOutput"],
        cotangentVector: { someOutput: [1] },
      },
      expectedOutputs: { someInput: [2] },
      atol: 1e-3,
      rtol: 0,
    });
    await new Tesseract(backend).test({
      endpoint: "apply",
      payload: { inputs: {}, jacInputs: ["a"], jacOutputs: ["b"], jvpInputs: [], jvpOutputs: [], tangentVector: {} },
      expectedException: "ValueError",
      expectedExceptionRegex: "^x",
    });
    expect(calls.map(({ route, payload }) => ({ route, payload }))).toEqual([
      {
        route: "test",
        payload: {
          endpoint: "vector_jacobian_product",
          payload: {
            inputs: { someInput: { innerName: 1 } },
            vjp_inputs: ["someInput"],
            vjp_outputs: ["someOutput"],
            cotangent_vector: { someOutput: [1] },
          },
          expected_outputs: { someInput: [2] },
          atol: 1e-3,
          rtol: 0,
        },
      },
      {
        route: "test",
        payload: {
          endpoint: "apply",
          payload: {
            inputs: {},
            jac_inputs: ["a"],
            jac_outputs: ["b"],
            jvp_inputs: [],
            jvp_outputs: [],
            tangent_vector: {},
          },
          expected_exception: "ValueError",
          expected_exception_regex: "^x",
        },
      },
    ]);
  });

  test.each<[unknown, "REGRESSION_FAILED" | "REGRESSION_ERROR", string]>([
    [{ status: "failed", message: "y differs" }, "REGRESSION_FAILED", "y differs"],
    [{ status: "error", message: "no such file" }, "REGRESSION_ERROR", "no such file"],
    [{ status: "failed" }, "REGRESSION_FAILED", "no reason"],
    [{}, "REGRESSION_ERROR", "no reason"],
    [null, "REGRESSION_ERROR", "no reason"],
    ["passed", "REGRESSION_ERROR", "no reason"],
    [{ status: { toString: 1 }, message: { toString: 1 } }, "REGRESSION_ERROR", "no reason"],
  ])("that answers %j isn't passed", async (answer, code, words) => {
    const tess = new Tesseract(stub(answer).backend);
    expect(await failureOf(() => tess.test({ endpoint: "apply", payload: { inputs: {} } }))).toEqual(
      tesseractError(code, words),
    );
  });
});
