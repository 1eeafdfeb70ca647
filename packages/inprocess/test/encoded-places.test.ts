import { describe, expect, test } from "vitest";
import { z } from "zod";
import { array, createRunner, defineTesseract, UndecodableArray } from "../src/index.js";
import trees from "./parity/twins/trees.js";
import vectors from "./parity/twins/vectors.js";
import { floats, scale } from "./support.js";

const encoded = (shape: number[], dtype = "float64", encoding = "base64", buffer = "AAAA") => ({
  object_type: "array",
  shape,
  dtype,
  data: { encoding, buffer },
});
const context = {
  signal: new AbortController().signal,
  runId: "run",
  outputDirectory: () => Promise.resolve("/nowhere"),
  log: () => {},
};

describe("the encoded arrays of a request", () => {
  test("are found where the schema wants arrays, however deep", () => {
    const payload = {
      inputs: {
        branch: { left: { x: encoded([2]) }, right: { x: [1, 2] } },
        stack: [encoded([]), 5],
        params: { a: encoded([1, 1]) },
        grid: { b: [[encoded([3])]] },
        array_or_text: encoded([4]),
        shape: { kind: "square", side: encoded([]) },
      },
    };
    const places = createRunner(trees).encodedArrays("apply", payload);
    expect(places.map(({ loc }) => loc.join("."))).toEqual([
      "inputs.branch.left.x",
      "inputs.stack.0",
      "inputs.params.a",
      "inputs.grid.b.0.0",
      "inputs.array_or_text",
      "inputs.shape.side",
    ]);
  });

  test("aren't those that the schema doesn't admit, or that the runner reads itself", () => {
    const at = (x: unknown) => createRunner(scale).encodedArrays("apply", { inputs: { x } });
    expect(at(encoded([2], "float32"))).toHaveLength(1);
    expect(at({ ...encoded([2]), object_type: undefined })).toHaveLength(1);
    for (const x of [
      encoded([2, 2]),
      encoded([2], "complex64"),
      encoded([2], "float64", "json"),
      encoded([2], "float64", "zip"),
      [1],
    ]) {
      expect(at(x)).toEqual([]);
    }
    // Unless the server has a transport for it.
    const transports = [
      { name: "zip", carries: "host" },
      { name: "shm", carries: "device", aliases: ["old-shm"] },
    ] as const;
    const withTransports = (x: unknown) =>
      createRunner(scale, { transports }).encodedArrays("apply", { inputs: { x } }).length;
    expect(withTransports(encoded([2], "float32", "zip"))).toBe(1);
    expect(withTransports(encoded([2], "float32", "paper"))).toBe(0);
    expect(withTransports(encoded([2], "float64", "old-shm"))).toBe(1);
    expect(withTransports(encoded([2], "float32", "shm"))).toBe(0);
    // A GPU array isn't cast, so it isn't mapped to be refused.
    const handle = "00000000-0000-0000-0000-000000000000:AAAA:0:8";
    expect(at(encoded([1], "float32", "cuda_ipc", handle))).toEqual([]);
    expect(at(encoded([1], "float64", "cuda_ipc", handle))).toHaveLength(1);
  });

  test("are replaced by what they are decoded to, or refused with the reason at their place", async () => {
    const runner = createRunner(scale);
    const good = { inputs: { x: encoded([2]) } };
    runner.encodedArrays("apply", good)[0]?.put(floats(1, 2));
    expect(await runner.run({ route: "apply", payload: good, context, ownsInputs: true })).toEqual({
      kind: "answered",
      outputs: { y: floats(2, 4) },
    });
    const bad = { inputs: { x: encoded([2]) } };
    runner.encodedArrays("apply", bad)[0]?.put(new UndecodableArray("base64", "it is cut short"));
    expect(await runner.run({ route: "apply", payload: bad, context, ownsInputs: true })).toMatchObject({
      kind: "refused",
      issues: [
        {
          type: "array_decode_error",
          loc: ["inputs", "x"],
          ctx: { encoding: "base64", error: "it is cut short" },
        },
      ],
    });
    const forgotten = { inputs: { x: encoded([2]) } };
    expect(await runner.run({ route: "apply", payload: forgotten, context, ownsInputs: true })).toMatchObject({
      issues: [{ type: "array_decode_error" }],
    });
  });

  test("are found among tangents, cotangents and what a test expects", () => {
    const runner = createRunner(vectors);
    const found = (route: Parameters<typeof runner.encodedArrays>[0], payload: object) =>
      runner.encodedArrays(route, payload).map(({ loc }) => loc.join("."));
    const vjp = {
      inputs: { x: encoded([1]) },
      vjp_inputs: ["x"],
      vjp_outputs: ["y"],
      cotangent_vector: { y: encoded([1]), q: encoded([1]) },
    };
    expect(found("vector_jacobian_product", vjp)).toEqual(["inputs.x", "cotangent_vector.y"]);
    expect(found("jacobian_vector_product", { inputs: {}, tangent_vector: { "terms.[0]": encoded([1]) } })).toEqual([
      "tangent_vector.terms.[0]",
    ]);
    expect(found("abstract_eval", { inputs: { x: encoded([1]) } })).toEqual([]);
    expect(
      found("test", { endpoint: "vector_jacobian_product", payload: vjp, expected_outputs: { x: encoded([1]) } }),
    ).toEqual(["payload.inputs.x", "payload.cotangent_vector.y", "expected_outputs.x"]);
    expect(found("test", { endpoint: "apply", payload: {}, expected_outputs: { y: encoded([1]) } })).toEqual([
      "expected_outputs.y",
    ]);
    expect(
      found("test", { endpoint: "jacobian", payload: {}, expected_outputs: { y: { x: encoded([1, 1]) } } }),
    ).toEqual(["expected_outputs.y.x"]);
  });

  test("of anything that isn't a request are none", () => {
    const runner = createRunner(scale);
    for (const payload of [undefined, null, 5, "x", [], {}, { inputs: null }, { inputs: [] }]) {
      expect(runner.encodedArrays("apply", payload)).toEqual([]);
    }
  });

  test("are each found once, in time that grows with the request", () => {
    const item = z.union([array("float64", [null]), array("float64", "any rank"), z.string()]);
    const many = defineTesseract({
      name: "many",
      inputs: z.object({ list: z.array(item) }),
      outputs: z.object({}),
      apply: () => ({}),
    });
    const payload = { inputs: { list: Array.from({ length: 20_000 }, () => encoded([1])) } };
    expect(createRunner(many).encodedArrays("apply", payload)).toHaveLength(20_000);
  });
});
