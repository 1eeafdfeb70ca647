// Tesseracts that were built with runtime 1.12 or 1.13: what works with them, and what is refused before it does harm.

import {
  dtypes,
  type HostArray,
  type HostTransport,
  hostArray,
  TesseractError,
  type TesseractWarning,
} from "@tesseract-ts/core";
import { base64, host } from "@tesseract-ts/transport-host";
import { describe, expect, test } from "vitest";
import { asJsonAnswers, scatteredArray, specialValues, written } from "../src/array-values.js";
import {
  arrayOf,
  byPath,
  cotangentsAt,
  derivativeAt,
  dtypeAt,
  examplePoint,
  flat,
  inputAt,
  inputPaths,
  inputsAt,
  outputAt,
  outputPaths,
  tangentsAt,
} from "../src/closed-forms.js";
import { connect, sharedClient } from "../src/connect.js";
import type { Faults, Identity } from "../src/fixture-types.js";
import { describeWithRuntime, sharedRuntimes } from "../src/with-runtime.js";

const formats = ["json", "json+base64", "json+binref"] as const;
const point = examplePoint;
const inputs = inputsAt(point);

const codeOf = async (call: () => unknown): Promise<unknown> => {
  try {
    await call();
    return "no error";
  } catch (error) {
    return error instanceof TesseractError ? error.code : error;
  }
};

/** A transport that the client has and no server knows. */
const smoke = (): HostTransport => ({ ...base64(), name: "smoke" });

const runtimesOf = (version: "1.12" | "1.13") =>
  sharedRuntimes({
    vectors: { fixture: "vectors", version },
    // Which clients can't ask of it.
    identity: { fixture: "identity", version, compression: "lz4" },
    faults: { fixture: "faults", version },
  });

describe.each(["1.12", "1.13"] as const)("runtime %s", (version) => {
  const runtimes = runtimesOf(version);

  describeWithRuntime(version, "vectors", () => {
    const runtime = runtimes.vectors;
    const client = sharedClient(runtime);

    describe.each(formats)("in %s", (outputFormat) => {
      const view = () => client().withEncoding({ outputFormat });

      test("applies", async () => {
        const outputs: Record<string, unknown> = await view().apply(inputs);
        expect(flat(outputs.y as HostArray)).toEqual(outputAt(point, "y"));
        const [first] = outputs.products as HostArray[];
        expect(flat(first as HostArray)).toEqual(outputAt(point, "products.[0]"));
        expect(outputs.rows).toBe(3);
      });

      test("gives all derivatives", async () => {
        const jacobian = await view().jacobian(inputs, inputPaths, outputPaths);
        for (const output of outputPaths) {
          for (const input of inputPaths) {
            expect(flat(jacobian[output]?.[input] as HostArray)).toEqual(derivativeAt(point, output, input));
          }
        }
        const tangents = byPath(inputPaths, (path) => inputAt(point, path));
        const cotangents = byPath(outputPaths, (path) => outputAt(point, path));
        const arrays = (at: typeof tangents) =>
          byPath(Object.keys(at), (path) => arrayOf(at[path] ?? { shape: [], values: [] }, dtypeAt(path)));
        const jvp = await view().jacobianVectorProduct(inputs, inputPaths, outputPaths, arrays(tangents));
        expect(byPath(outputPaths, (path) => flat(jvp[path] as HostArray))).toEqual(
          tangentsAt(point, tangents, outputPaths),
        );
        const vjp = await view().vectorJacobianProduct(inputs, inputPaths, outputPaths, arrays(cotangents));
        expect(byPath(inputPaths, (path) => flat(vjp[path] as HostArray))).toEqual(
          cotangentsAt(point, cotangents, inputPaths),
        );
      });
    });

    test("evaluates abstractly, is well, and says what it has", async () => {
      expect(await client().abstractEval(inputs)).toMatchObject({ y: { shape: [3], dtype: "float64" }, rows: 3 });
      expect(await client().health()).toEqual({ status: "ok" });
      expect([...client().availableEndpoints].sort()).toEqual(
        ["abstractEval", "apply", "health", "jacobian", "jacobianVectorProduct", "vectorJacobianProduct"].sort(),
      );
    });

    test("may be asked for no GPU transport, which is what it does anyway", async () => {
      await using plain = await connect(runtime(), { gpuTransport: "none" });
      expect(flat((await plain.apply(inputs)).y as HostArray)).toEqual(outputAt(point, "y"));
    });

    test("reports validation errors with their places", async () => {
      const error: unknown = await client()
        .apply({ ...inputs, x: "abc", zz: 1 })
        .catch((reason: unknown) => reason);
      expect(error).toMatchObject({
        code: "VALIDATION_FAILED",
        issues: [
          { path: ["body", "inputs", "x"], type: "array_non_numeric" },
          { path: ["body", "inputs", "zz"], type: "extra_forbidden" },
        ],
      });
    });
  });

  describeWithRuntime(version, "identity, compressed because the server was configured so", () => {
    const client = sharedClient<Identity>(runtimes.identity);

    test.each(formats)("gives every dtype back bit for bit in %s", async (outputFormat) => {
      const sent = dtypes.flatMap((dtype) => [
        specialValues(dtype),
        scatteredArray(dtype, []),
        scatteredArray(dtype, [2, 3]),
        scatteredArray(dtype, [50, 40]),
      ]);
      const { arrays } = await client().withEncoding({ outputFormat }).apply({ arrays: sent });
      const carried = (array: HostArray): HostArray => (outputFormat === "json" ? asJsonAnswers(array) : array);
      expect(arrays.map(written)).toEqual(sent.map(carried).map(written));
    });
  });

  describeWithRuntime(version, "what it is too old for", () => {
    const runtime = runtimes.faults;
    const ran = () => runtime().calls();

    test("a GPU transport is refused before anything runs", async () => {
      await using client = await connect<Faults>(runtime());
      expect(await codeOf(() => client.withEncoding({ gpuTransport: "cuda_ipc" }))).toBe("RUNTIME_TOO_OLD");
      expect(await codeOf(() => connect(runtime(), { gpuTransport: "cuda_ipc" }))).toBe("RUNTIME_TOO_OLD");
      expect(await ran()).toEqual([]);
    });

    test("an output format that it doesn't have is refused before anything runs", async () => {
      const { inputPath, outputPath } = runtime();
      const transports = [smoke(), host({ inputPath, outputPath })];
      await using client = await connect<Faults>(runtime(), { transports });
      expect(client.currentEncoding.outputFormat).toBe("json+base64");
      expect(await codeOf(() => client.withEncoding({ outputFormat: "json+smoke" }).apply({}))).toBe(
        "ENCODING_UNAVAILABLE",
      );
      expect(await codeOf(() => connect(runtime(), { transports: [smoke()] }))).toBe("ENCODING_UNAVAILABLE");
      expect(await ran()).toEqual([]);
    });

    if (version === "1.12") {
      test.each(["lz4", "none"] as const)("the compression %s is refused before anything runs", async (compression) => {
        await using client = await connect<Faults>(runtime());
        expect(await codeOf(() => client.withEncoding({ compression }))).toBe("RUNTIME_TOO_OLD");
        expect(await codeOf(() => connect(runtime(), { compression }))).toBe("RUNTIME_TOO_OLD");
        expect(await ran()).toEqual([]);
      });

      test("serverCapabilities are unknown", async () => {
        await using client = await connect<Faults>(runtime());
        expect(client.serverCapabilities).toEqual({
          outputFormats: undefined,
          gpuTransports: undefined,
          compressions: undefined,
        });
      });
    } else {
      test("a compression earns one warning for each client, and the call works without it", async () => {
        const warnings: TesseractWarning[] = [];
        const onWarning = (warning: TesseractWarning): void => void warnings.push(warning);
        await using client = await connect<Faults>(runtime(), { compression: "lz4", onWarning });
        const view = client.withEncoding({ compression: "lz4", outputFormat: "json+binref" });
        for (const asked of [client, view, view.withEncoding({ compression: "none" })]) {
          expect((await asked.apply({ x: hostArray([1, 2]) })).y.data).toEqual(Float64Array.of(1, 2));
        }
        expect(warnings.map(({ code }) => code)).toEqual(["COMPRESSION_NOT_ADVERTISED"]);
        expect(await ran()).toEqual(["apply return", "apply return", "apply return"]);
      });

      test("serverCapabilities are its formats, and the rest is unknown", async () => {
        await using client = await connect<Faults>(runtime());
        expect(client.serverCapabilities).toEqual({
          outputFormats: ["json", "json+base64", "json+binref"],
          gpuTransports: undefined,
          compressions: undefined,
        });
      });
    }
  });
});
