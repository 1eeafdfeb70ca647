// The command line with Tesseracts in Python: started, called, checked, and tested by cases that both sides read.

import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createRunner } from "../../packages/inprocess/src/index.js";
import vectorsTwin from "../../packages/inprocess/test/parity/twins/vectors.js";
import { applySchemasOf } from "../../packages/serve/src/cli/schema/schema-tree.js";
import { typescriptOf } from "../../packages/serve/src/cli/schema/typescript.js";
import { cli } from "../../packages/serve/test/cli/support.js";
import { findPython, repositoryRoot, runProgram } from "../src/python.js";
import { type Runtime, startRuntime } from "../src/runtime.js";
import { describeWithRuntime } from "../src/with-runtime.js";

vi.setConfig({ testTimeout: 240_000 });

const fixture = (name: string): string => join(repositoryRoot, "interop/fixtures", name, "tesseract_api.py");
const inputs = JSON.stringify({
  x: [1, -2],
  affine: {
    matrix: [
      [1, 2],
      [3, 4],
      [5, 6],
    ],
    shift: [0.5, 0, 0],
  },
  gain: 2,
  terms: [
    [1, 2],
    [0.1, 0.2],
  ],
  weights: { "a.b": [3, 4] },
});

describeWithRuntime("1.15", "with the reference runtime", () => {
  let folder: string;
  let runtime: Runtime;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "tesseract-cli-"));
    await writeFile(join(folder, "inputs.json"), inputs);
    runtime = await startRuntime({ fixture: "vectors", debug: true, startTimeout: 200_000 });
  }, 240_000);
  afterAll(async () => {
    await runtime?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const reference = async (file: string): Promise<unknown> => {
    const runner = join(repositoryRoot, ".venv/bin/tesseract-runtime");
    const env = { TESSERACT_API_PATH: fixture("vectors") };
    return JSON.parse(await runProgram(runner, ["test", `@${file}`], { env, cwd: folder, timeout: 200_000 }));
  };

  test("a file is started for the call, and its arrays are written for NumPy", async () => {
    const args = [
      "call",
      fixture("vectors"),
      "apply",
      "@inputs.json",
      "--python",
      findPython(),
      "--out",
      "results",
      "--start-timeout",
      "200",
    ];
    const { code, out, err } = await cli(args, { directory: folder });
    expect(err).not.toContain("tesseract-ts:");
    expect(code).toBe(0);
    expect(out).toContain("y  float64 [3]  min -14  max -5  mean -9.667");
    const program = `import json, numpy as np; print(json.dumps([[str(a.dtype), a.tolist()] for a in map(np.load, ["results/y.npy", "results/stats.norm2.npy", "results/scaled.a.b.npy"])]))`;
    const read = JSON.parse(await runProgram(findPython(), ["-c", program], { cwd: folder, timeout: 200_000 }));
    expect(read).toEqual([
      ["float64", [-5, -10, -14]],
      ["float64", 5],
      ["float32", [3, -8]],
    ]);
  });

  test("derivatives of a Tesseract in Python are checked, at every kind of path", async () => {
    const { code, out } = await cli(["check", runtime.url, "@inputs.json", "--json"], { directory: folder });
    const { passed, endpoints } = JSON.parse(out);
    expect({ code, passed }).toEqual({ code: 0, passed: true });
    expect(endpoints.map(({ endpoint }: { endpoint: string }) => endpoint)).toHaveLength(3);
    for (const each of endpoints) expect(each.compared).toBeGreaterThan(100);
  });

  test("a case that is recorded here passes in the reference, and one that is off fails in both", async () => {
    for (const [file, endpoint] of [
      ["one.json", "apply"],
      ["jac.json", "jacobian"],
    ] as const) {
      await cli(["call", runtime.url, endpoint, "@inputs.json", "--record", file], { directory: folder });
      expect(await reference(join(folder, file))).toMatchObject({ status: "passed", endpoint });
    }
    const recorded = JSON.parse(await readFile(join(folder, "one.json"), "utf8"));
    await writeFile(
      join(folder, "off.json"),
      JSON.stringify({ ...recorded, payload: { inputs: { ...recorded.payload.inputs, gain: 2.5 } } }),
    );
    expect(await reference(join(folder, "off.json"))).toMatchObject({ status: "failed" });
    const cases = ["one.json", "jac.json", "off.json"].flatMap((file) => ["--cases", file]);
    const { code, out } = await cli(["test", runtime.url, ...cases, "--json"], { directory: folder });
    expect(code).toBe(1);
    const statuses = JSON.parse(out).cases.map(({ file, status }: { file: string; status: string }) => [file, status]);
    expect(statuses).toEqual([
      ["jac.json", "passed"],
      ["off.json", "failed"],
      ["one.json", "passed"],
    ]);
  });

  test("a case that is written by hand runs here, in Python and in TypeScript", async () => {
    const base64 = (values: Float64Array, shape: readonly number[]) => ({
      object_type: "array",
      shape,
      dtype: "float64",
      data: { buffer: Buffer.from(values.buffer).toString("base64"), encoding: "base64" },
    });
    const given = JSON.parse(inputs);
    const expected = {
      y: base64(Float64Array.of(-5, -10, -14), [3]),
      stats: { norm2: { object_type: "array", shape: [], dtype: "float64", data: { buffer: 5, encoding: "json" } } },
      products: [base64(Float64Array.of(1, -4), [2]), base64(Float64Array.of(0.1, -0.4), [2])],
      scaled: {
        "a.b": { object_type: "array", shape: [2], dtype: "float32", data: { buffer: [3, -8], encoding: "json" } },
      },
      rows: 3,
    };
    await writeFile(
      join(folder, "by-hand.json"),
      JSON.stringify({ endpoint: "apply", payload: { inputs: given }, expected_outputs: expected, rtol: 1e-6 }),
    );
    expect(await reference(join(folder, "by-hand.json"))).toMatchObject({ status: "passed" });
    const twin = join(repositoryRoot, "packages/inprocess/test/parity/twins/vectors.ts");
    for (const target of [runtime.url, twin]) {
      const { out } = await cli(
        ["test", target, "--cases", "by-hand.json", ...(target === twin ? ["--start-timeout", "200"] : [])],
        { directory: folder },
      );
      expect(out).toContain("1 passed, 0 failed");
    }
  });

  test("types are the same for a Tesseract in Python and its twin in TypeScript", async () => {
    const { out } = await cli(["types", runtime.url, "--name", "Vectors"]);
    const twin = typescriptOf(applySchemasOf(createRunner(vectorsTwin).openapi()), {
      name: "Vectors",
      source: `Made by: tesseract-ts types ${runtime.url}`,
    });
    const plain = (text: string): string => text.replaceAll(/^\/\*\* .*\*\/\n/gm, "");
    expect(plain(out)).toBe(plain(twin));
  });
});

describe("what can't be started", { timeout: 240_000 }, () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "tesseract-cli-"));
    await writeFile(join(folder, "package.json"), '{"type": "module"}');
    await writeFile(join(folder, "tesseract_api.py"), "");
    await writeFile(join(folder, "broken.ts"), "export default {");
    await writeFile(join(folder, "empty.ts"), "export default 3;");
    await writeFile(join(folder, "throws.ts"), '// fails\nthrow new Error("too much");\nexport default 1;');
    await writeFile(join(folder, "dies.mjs"), 'console.log("the last words"); process.exit(3);');
    await writeFile(join(folder, "hangs.mjs"), "await new Promise((resolve) => setTimeout(resolve, 1e9));");
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const cases: readonly (readonly [what: string, args: readonly string[], message: RegExp])[] = [
    ["a file that isn't there", ["absent.ts"], /there is no such file/],
    ["a file of another language", ["./heat.jl"], /no such file|neither TypeScript nor Python/],
    [
      "an interpreter that isn't there",
      ["tesseract_api.py", "--python", "/nowhere/python"],
      /no interpreter "\/nowhere\/python"/,
    ],
    ["a syntax error", ["broken.ts"], /broken\.ts" can't be loaded/],
    ["a module that defines nothing", ["empty.ts"], /it exports no Tesseract/],
    ["a process that dies at once", ["dies.mjs"], /ended with exit code 3/],
    ["a start that never becomes healthy", ["hangs.mjs", "--start-timeout", "3"], /didn't answer within 3000 ms/],
  ];
  test.each(cases)("%s is a line, and exit code 3", async (_, args, message) => {
    const { code, out, err } = await cli(["call", ...args, "health"], { directory: folder });
    expect(err.split("\n")[0]).toMatch(message);
    expect(err).toContain("Hint: ");
    expect({ code, out }).toEqual({ code: 3, out: "" });
  });

  test("a module that throws says where", async () => {
    const { code, err } = await cli(["call", "throws.ts", "health"], { directory: folder });
    expect(code).toBe(3);
    expect(err).toContain("can't be loaded: too much");
    expect(err).toMatch(/Hint: It comes from .*throws\.ts:2:\d+; --debug shows more\./);
    expect(err).not.toMatch(/\n\s+at /);
  });

  test("Ctrl-C while one is being started leaves nothing behind", async () => {
    const interrupt = new AbortController();
    const calling = cli(["call", "hangs.mjs", "health"], { directory: folder, signal: interrupt.signal });
    while ((await processesOf(join(folder, "hangs.mjs"))) === 0) await sleep(50);
    interrupt.abort("SIGINT");
    expect(await calling).toEqual({ code: 130, out: "", err: "" });
    while ((await processesOf(folder)) > 0) await sleep(50);
  });

  test("the end of the log is shown", async () => {
    const { err } = await cli(["call", "dies.mjs", "health"], { directory: folder });
    expect(err).toContain("The end of its log:\n  the last words");
  });
});

/** How many processes name a path in their command. */
async function processesOf(path: string): Promise<number> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return commands.filter((command) => command.includes(path)).length;
}
