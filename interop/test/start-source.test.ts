// What is started from source: TypeScript and JavaScript, by what is built.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TesseractError } from "@tesseract-ts/core";
import type { FromSourceOptions, StartedTesseract } from "@tesseract-ts/serve";
import { binref } from "@tesseract-ts/transport-host";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { MARK, processesMarked } from "../../packages/serve/test/start/left-behind.js";
import { repositoryRoot } from "../src/python.js";
import { builtServe, fromSource } from "../src/start-built.js";

const tesseractAt = (name: string): string =>
  fileURLToPath(new URL(`../src/start-tesseracts/${name}`, import.meta.url));
const scale = tesseractAt("scale.ts");
const mark = randomBytes(8).toString("hex");
/** Long, for machines with much else to do. */
const PATIENT: FromSourceOptions = { startTimeout: 300_000, env: { [MARK]: mark } };
const LIMIT_MS = 300_000;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "from-source-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function failureOf(work: Promise<unknown>): Promise<TesseractError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason) => reason,
  );
  if (error instanceof TesseractError) return error;
  throw new Error(`No TesseractError, but ${String(error)}`);
}

describe("a Tesseract in TypeScript", { timeout: LIMIT_MS }, () => {
  const lines: { readonly line: string; readonly runId: string | undefined }[] = [];
  const steps: string[] = [];
  let tess: StartedTesseract;
  beforeAll(async () => {
    tess = await fromSource(scale, {
      ...PATIENT,
      onLog: (line, runId) => lines.push({ line, runId }),
      onProgress: ({ step }) => steps.push(step),
    });
  }, LIMIT_MS);
  afterAll(() => tess?.close());

  test("is called in a process of its own", async () => {
    expect(processesMarked(mark)).not.toEqual([]);
    const { y } = await tess.apply({ x: new Float64Array([1, 2, 3]) });
    expect(y).toMatchObject({ dtype: "float64", data: new Float64Array([2, 4, 6]) });
    expect(steps).toEqual(["process", "connection"]);
  });

  test("is there for other clients too, at its URL", async () => {
    expect(tess.url).toBe(`http://127.0.0.1:${tess.port}`);
    expect((await fetch(`${tess.url}/openapi.json`)).status).toBe(200);
  });

  test("tells what a call logs while it runs, by its run's id, and what is printed", async () => {
    const released = join(folder, "released");
    const call = tess.apply(
      { x: new Float64Array(1), factor: 5, afterwards: "wait for a file", file: released },
      { runId: "waits" },
    );
    await expect.poll(() => lines, { timeout: 60_000 }).toContainEqual({ line: "scaling by 5", runId: "waits" });
    writeFileSync(released, "");
    await call;
    expect(lines).toContainEqual({ line: "afterwards: wait for a file", runId: undefined });
    expect(tess.log).toContain("afterwards: wait for a file");
  });

  test("answers through files in its directories", async () => {
    const x = new Float64Array([1, 2]);
    const { y } = await tess.withEncoding({ outputFormat: "json+binref" }).apply({ x }, { runId: "files" });
    expect(y).toMatchObject({ data: new Float64Array([2, 4]) });
    expect(existsSync(join(tess.outputPath, "run_files"))).toBe(true);
  });
});

describe("a started Tesseract", { timeout: LIMIT_MS }, () => {
  afterEach(async () => {
    await expect.poll(() => processesMarked(mark), { timeout: 60_000 }).toEqual([]);
  });

  test("needs no `type` in its package.json", async () => {
    // Where `npm init` has written a package.json, and the packages have been installed beside it.
    const project = mkdtempSync(join(repositoryRoot, "interop/.project-"));
    try {
      writeFileSync(join(project, "package.json"), '{ "name": "project" }');
      copyFileSync(scale, join(project, "scale.ts"));
      await using own = await fromSource(join(project, "scale.ts"), PATIENT);
      expect(await own.apply({ x: [4] })).toMatchObject({ y: { data: new Float64Array([8]) } });
    } finally {
      rmSync(project, { recursive: true, force: true });
    }
  });

  test("keeps a program alive that waits for its end", async () => {
    const program = file(
      "waits.mjs",
      `import { fromSource } from ${JSON.stringify(builtServe)};
      const tess = await fromSource(${JSON.stringify(tesseractAt("plain.mjs"))}, { startTimeout: 300000 });
      setTimeout(() => tess.close(), 300).unref();
      await tess.ended;`,
    );
    const child = spawn(process.execPath, [program], { stdio: ["ignore", "ignore", "inherit"] });
    // 13 is Node's word for a program that waits for what can't come.
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test("without GPU arrays isn't in the way of an offer of them", async () => {
    await using own = await fromSource(scale, { ...PATIENT, offerGpuTransport: "cuda_ipc" });
    expect((await own.explainGpuTransport()).offered).toEqual(["none"]);
  });

  test("may be JavaScript, and is gone with its folders at the end of its block", async () => {
    let outputPath: string;
    let url: string;
    {
      await using tess = await fromSource(tesseractAt("plain.mjs"), PATIENT);
      const { y } = await tess.apply({ x: new Float64Array([4]) });
      expect(y).toMatchObject({ data: new Float64Array([4]) });
      ({ outputPath, url } = tess);
      expect(existsSync(outputPath)).toBe(true);
    }
    expect(existsSync(join(outputPath, ".."))).toBe(false);
    await expect(fetch(url)).rejects.toThrow();
  });

  test("keeps directories that were given", async () => {
    const [inputPath, outputPath] = [join(folder, "in"), join(folder, "deep/out")];
    const transports = [binref({ inputPath, outputPath })];
    await using tess = await fromSource(tesseractAt("plain.mjs"), { ...PATIENT, inputPath, outputPath, transports });
    await tess.apply({ x: new Float64Array([4]) }, { runId: "kept" });
    await tess.close();
    expect(readdirSync(outputPath)).toEqual(["run_kept"]);
    expect(existsSync(inputPath)).toBe(true);
  });

  test("that is killed in the middle of a call says so, and what it printed; later calls too", async () => {
    await using tess = await fromSource(scale, PATIENT);
    const error = await failureOf(tess.apply({ x: new Float64Array(1), afterwards: "be killed" }));
    expect(error.code).toBe("PROCESS_ENDED");
    expect(error.message).toMatch(/^The call of "apply" failed: The Tesseract ".*scale\.ts" was killed by SIGKILL$/);
    expect(error.log).toEqual(["afterwards: be killed"]);
    expect(await tess.ended).toEqual({ kind: "killed", signal: "SIGKILL" });
    const view = tess.withEncoding({ compression: "lz4" });
    expect((await failureOf(view.apply({ x: new Float64Array(1) }))).message).toContain("can't be made");
    expect((await failureOf(tess.resolveGpuTransport())).code).toBe("PROCESS_ENDED");
    await tess.close();
    expect((await failureOf(tess.health())).code).toBe("CLOSED");
  });

  test("that exits by itself in the middle of a call says with what", async () => {
    await using tess = await fromSource(scale, PATIENT);
    const error = await failureOf(tess.apply({ x: new Float64Array(1), afterwards: "exit" }));
    expect(error).toMatchObject({ code: "PROCESS_ENDED", message: expect.stringContaining("ended with exit code 7") });
  });

  test("is ended by force in a call that never ends", async () => {
    await using tess = await fromSource(scale, { ...PATIENT, stopTimeout: 100 });
    const call = failureOf(tess.apply({ x: new Float64Array(1), afterwards: "block" }));
    await expect.poll(() => tess.log, { timeout: 60_000 }).toContain("afterwards: block");
    await tess.close();
    expect((await call).code).toBe("CLOSED");
    expect(await tess.ended).toEqual({ kind: "killed", signal: "SIGKILL" });
  });

  test("takes settings of the runtime, by any spelling", async () => {
    await using tess = await fromSource(scale, {
      ...PATIENT,
      runtimeConfig: { DEBUG: true, max_request_bytes: 1_000 },
    });
    expect(tess.availableEndpoints).toContain("test");
    const error = await failureOf(tess.apply({ x: new Float64Array(1_000) }));
    expect(error).toMatchObject({ code: "SERVER_ERROR", status: 413 });
  });
});

describe("what can't be started", { timeout: LIMIT_MS }, () => {
  afterEach(async () => {
    await expect.poll(() => processesMarked(mark), { timeout: 60_000 }).toEqual([]);
  });

  test("a path at which there is nothing", async () => {
    const error = await failureOf(fromSource(join(folder, "nothing.ts"), PATIENT));
    expect(error.code).toBe("LOAD_FAILED");
    expect(error.message).toContain("there is no such file");
    expect(error.hint).toContain(process.cwd());
  });

  test("a folder, and a file of another kind", async () => {
    mkdirSync(join(folder, "a-folder"));
    const inFolder = await failureOf(fromSource(join(folder, "a-folder"), PATIENT));
    expect(inFolder.hint).toContain("tesseract_api.py");
    const other = await failureOf(fromSource(file("notes.txt", ""), PATIENT));
    expect(other).toMatchObject({ code: "LOAD_FAILED", hint: expect.stringContaining(".ts") });
  });

  test("a module that defines no Tesseract", async () => {
    const error = await failureOf(fromSource(file("none.mjs", "export default 1;"), PATIENT));
    expect(error.code).toBe("LOAD_FAILED");
    expect(error.message).toContain("it exports no Tesseract");
    expect(error.hint).toContain("defineTesseract");
  });

  test("a module with a syntax error, with its place", async () => {
    const typescript = await failureOf(fromSource(file("wrong.ts", "\nexport default {{;\n"), PATIENT));
    expect(typescript.code).toBe("LOAD_FAILED");
    expect(`${typescript.message}${typescript.log?.join("\n")}`).toContain("wrong.ts:2");
    const javascript = await failureOf(fromSource(file("wrong.mjs", "\nexport default {{;\n"), PATIENT));
    expect(javascript.code).toBe("LOAD_FAILED");
    expect(javascript.log?.join("\n")).toContain("wrong.mjs:2");
  });

  test("a module that throws, with where it does", async () => {
    const error = await failureOf(fromSource(file("throws.mjs", '\nthrow new Error("on purpose");'), PATIENT));
    expect(error).toMatchObject({ code: "LOAD_FAILED", message: expect.stringContaining("on purpose") });
    expect(error.log?.join("\n")).toContain("throws.mjs:2");
  });

  test("a module that ends its process, with what it printed", async () => {
    const path = file("ends.mjs", 'console.log("farewell"); process.exit(5);');
    const error = await failureOf(fromSource(path, PATIENT));
    expect(error).toMatchObject({ code: "START_FAILED", log: ["farewell"] });
    expect(error.message).toContain("exit code 5");
  });

  test("a module that is never loaded", async () => {
    const path = file("waits.mjs", 'console.log("waiting"); setInterval(() => {}, 1000); await new Promise(() => {});');
    const error = await failureOf(fromSource(path, { ...PATIENT, startTimeout: 3_000 }));
    expect(error.code).toBe("START_TIMED_OUT");
    expect(error.hint).toContain("startTimeout");
  });

  test("anything, once the signal is aborted", async () => {
    const error = await failureOf(fromSource(scale, { ...PATIENT, signal: AbortSignal.abort("no") }));
    expect(error).toMatchObject({ code: "ABORTED", cause: "no" });
  });

  test("settings that there aren't", async () => {
    const unknown = await failureOf(fromSource(scale, { ...PATIENT, runtimeConfig: { profiling: true } }));
    expect(unknown).toMatchObject({ code: "INVALID_ARGUMENT", hint: expect.stringContaining("debug") });
    const wrong = await failureOf(fromSource(scale, { ...PATIENT, runtimeConfig: { debug: "yes" } }));
    expect(wrong.message).toBe("runtimeConfig.debug is a string, and must be a boolean");
  });

  test("a GPU transport that nobody has passed", async () => {
    const error = await failureOf(fromSource(scale, { ...PATIENT, gpuTransport: "rocm_ipc" }));
    expect(error).toMatchObject({ code: "TRANSPORT_MISSING" });
  });
});

describe("twelve side by side", { timeout: LIMIT_MS }, () => {
  test("are all called, and no port is used twice", async () => {
    const starts = Array.from({ length: 12 }, () => fromSource(tesseractAt("plain.mjs"), PATIENT));
    const started = (await Promise.allSettled(starts)).flatMap((each) =>
      each.status === "fulfilled" ? [each.value] : [],
    );
    const answers = started.map(async (tess, index) => (await tess.apply({ x: new Float64Array([index]) })).y);
    expect(await Promise.all(answers)).toMatchObject(started.map((_, index) => ({ data: new Float64Array([index]) })));
    expect(new Set(started.map(({ port }) => port)).size).toBe(12);
    await Promise.all(started.map((tess) => tess.close()));
    expect(processesMarked(mark)).toEqual([]);
  });
});
