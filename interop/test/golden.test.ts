import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import {
  goldenAnswer,
  goldenAnswers,
  goldenBinrefPath,
  goldenEncodings,
  goldenOpenApi,
  goldenVectors,
} from "../src/golden.js";
import { runPython, runtimeVersions } from "../src/python.js";
import { describeWithRuntime } from "../src/with-runtime.js";

const goldenPath = fileURLToPath(new URL("../golden/", import.meta.url));

describe("the golden vectors", () => {
  test.each(goldenEncodings)("hold every dtype in every form in %s", (encoding) => {
    const names = goldenVectors(encoding).map((vector) => vector.name);
    expect(new Set(names).size).toBe(names.length);
    for (const form of ["scalar", "vector", "matrix", "empty", "special"]) {
      expect(names.filter((name) => name.endsWith(` ${form}`))).toHaveLength(14);
    }
  });

  test("agree with themselves: base64 is the true bytes", () => {
    for (const { name, dtype, shape, encoded, bytes } of goldenVectors("base64")) {
      expect(encoded.dtype, name).toBe(dtype);
      expect(encoded.shape, name).toEqual(shape);
      expect(new Uint8Array(Buffer.from(String(encoded.data.buffer), "base64")), name).toEqual(bytes);
    }
  });

  test("agree with themselves: binref points at the true bytes", () => {
    for (const { name, encoded, bytes } of goldenVectors("binref")) {
      const [path, offset] = String(encoded.data.buffer).split(":");
      const start = Number(offset);
      const found = readFileSync(join(goldenBinrefPath, String(path))).subarray(start, start + bytes.length);
      expect(new Uint8Array(found), name).toEqual(bytes);
    }
  });

  test("keep the exact text, with digits that a double can't hold", () => {
    const vector = goldenVectors("json").find(({ name }) => name === "uint64 special");
    expect(vector?.encodedText).toContain("18446744073709551615");
    expect(vector?.encodedText).toMatch(/^\{"object_type":.*\}$/);
  });
});

describe("the golden answers", () => {
  test.each(runtimeVersions)("of runtime %s come with an OpenAPI document", (version) => {
    expect(Object.keys(JSON.parse(goldenOpenApi(version)).paths)).toContain("/vector_jacobian_product");
    expect(goldenAnswers(version).map(({ status }) => status)).toEqual(expect.arrayContaining([200, 404, 422, 500]));
  });

  test("hold the bodies of errors", () => {
    expect(goldenAnswer("unacceptable")).toMatchObject({ status: 406 });
    expect(JSON.parse(goldenAnswer("unknown path").body).detail[0].type).toBe("literal_error");
  });
});

describeWithRuntime("1.15", "the reference runtime", () => {
  const folder = mkdtempSync(join(tmpdir(), "tesseract-golden-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("still writes the same vectors", { timeout: 60_000 }, async () => {
    await runPython(join(goldenPath, "make_golden.py"), ["--only", "vectors", "--out", folder]);
    const files = readdirSync(join(folder, "vectors"), { recursive: true, encoding: "utf8" });
    const made = files.filter((file) => /\.(json|bin)$/.test(file));
    expect(made).toHaveLength(7);
    for (const file of made) {
      const committed = join(goldenPath, "vectors", file);
      expect(existsSync(committed), file).toBe(true);
      expect(readFileSync(join(folder, "vectors", file)).equals(readFileSync(committed)), file).toBe(true);
    }
  });
});
