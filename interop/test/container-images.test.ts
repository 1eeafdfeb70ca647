import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type HostArray, TesseractError } from "@tesseract-ts/core";
import { buildImage, type FromImageOptions, fromImage } from "@tesseract-ts/serve";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { cli } from "../../packages/serve/test/cli/support.js";
import { sessionsOf } from "../src/console.js";
import { describeWithContainers, engine, networkFor, remains } from "../src/containers.js";
import { repositoryRoot, runPython } from "../src/python.js";

// A machine that is busy starts containers slowly. What they wait for are conditions.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const tesseract = (name: string): string =>
  fileURLToPath(new URL(`../containers/tesseracts/${name}.ts`, import.meta.url));
/** Each takes seconds. */
const KILLED_MOMENTS = Number(process.env.TESSERACT_TS_KILLED_MOMENTS ?? 3);
const OURS = "localhost/tesseract-ts-test-scale:1";
const vectors = {
  x: [1, 2],
  affine: {
    matrix: [
      [1, 0],
      [0, 2],
    ],
    shift: [10, 20],
  },
};

interface Inspected {
  readonly Healthcheck?: { readonly Test: readonly string[] };
  readonly Config: {
    readonly Env: readonly string[];
    readonly Healthcheck?: { readonly Test: readonly string[] };
  };
}

async function failureOf(work: Promise<unknown>): Promise<TesseractError> {
  const outcome = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (outcome instanceof TesseractError) return outcome;
  throw new Error(`Expected a TesseractError, not ${String(outcome)}`);
}

describeWithContainers("Tesseracts from images", (found) => {
  const options: FromImageOptions = { engine: found.command, startTimeout: 300_000, ...networkFor(found) };
  let kept: string;

  beforeAll(async () => {
    kept = await mkdtemp(join(tmpdir(), "tesseract-kept-"));
    await buildImage(tesseract("scale"), {
      tag: OURS,
      base: found.node,
      engine: found.command,
      include: ["lib/factor.txt"],
      keep: kept,
    });
  });
  afterAll(async () => {
    await engine(found, "rmi", "--force", OURS);
    await rm(kept, { recursive: true, force: true });
    expect(await remains(found)).toEqual([]);
  });

  test("an image of the reference answers in every encoding, and is gone at the end with all that was made for it", async (context) => {
    if (found.reference === undefined) return context.skip("The reference's environment isn't made");
    const lines: string[] = [];
    const running = await fromImage(found.reference, { ...options, onLog: (line) => lines.push(line) });
    const { inputPath, outputPath } = running;
    for (const outputFormat of ["json", "json+base64", "json+binref"]) {
      const { y } = (await running.withEncoding({ outputFormat }).apply(vectors)) as { readonly y: HostArray };
      expect(Array.from(y.data as Float64Array)).toEqual([11, 24]);
    }
    expect(lines.join("\n")).toContain("Uvicorn running");
    await running.close();
    expect(await running.ended).toMatchObject({ kind: "exited" });
    for (const folder of [inputPath, outputPath]) expect(await exists(folder)).toBe(false);
    expect(await remains(found)).toEqual([]);
  });

  test("an image of ours answers, with its files and its log, and knows whether it is healthy", async () => {
    const lines: string[] = [];
    await using scale = await fromImage(OURS, { ...options, onLog: (line) => lines.push(line) });
    const { y } = (await scale.apply({ x: Float64Array.of(1, 2) })) as { readonly y: HostArray };
    expect(Array.from(y.data as Float64Array)).toEqual([3, 6]);
    expect(lines).toContain("scaling 2 numbers");
    const [name = ""] = (await engine(found, "ps", "--format", "{{.Names}}")).trim().split("\n");
    await engine(
      found,
      "exec",
      name,
      "node",
      "/tesseract/node_modules/@tesseract-ts/serve/dist/image-entry.js",
      "health",
    );
  });

  test.runIf(found.publishes)("an image of ours runs by itself, and the reference's client calls it", async () => {
    const port = await freePort();
    const name = `tesseract-alone-${process.pid}`;
    await engine(
      found,
      "run",
      "--detach",
      "--name",
      name,
      "--no-healthcheck",
      "--publish",
      `127.0.0.1:${port}:8000`,
      OURS,
    );
    try {
      const url = `http://127.0.0.1:${port}`;
      while (!(await fetch(`${url}/health`).catch(() => undefined))?.ok) await sleep(100);
      const script = `
import sys
from tesseract_core import Tesseract
tesseract = Tesseract.from_url(sys.argv[1])
print(tesseract.apply({"x": [1.0, 2.0]})["y"].tolist())
`;
      expect((await runPython("-c", [script, url], { timeout: 300_000 })).trim()).toBe("[3.0, 6.0]");
    } finally {
      await engine(found, "rm", "--force", name);
    }
  });

  test("an image of ours isn't root's, says what it is, and its recipe can be kept", async () => {
    const user = await engine(
      found,
      "run",
      "--rm",
      "--network",
      "host",
      "--entrypoint",
      "node",
      OURS,
      "-p",
      "process.getuid()",
    );
    expect(user.trim()).toBe("9999");
    const recipe = await readFile(join(kept, "Containerfile"), "utf8");
    expect(recipe).toContain(`FROM ${found.node}`);
    expect(recipe).toContain('TESSERACT_DESCRIPTION="Says \\"scaled\\", for \\$1"');
    expect(await exists(join(kept, "tesseract", "lib", "factor.txt"))).toBe(true);
    const [image] = JSON.parse(await engine(found, "image", "inspect", OURS)) as [Inspected];
    expect(image.Config).toMatchObject({ User: "9999:9999", Cmd: ["serve", "--host", "0.0.0.0", "--port", "8000"] });
    expect(image.Config.Env).toContain('TESSERACT_DESCRIPTION=Says "scaled", for $1');
    // Docker and podman have it in two places.
    expect((image.Config.Healthcheck ?? image.Healthcheck)?.Test.at(-1)).toBe("health");
  });

  test("each failure says what is wrong and what to do, and leaves nothing", async () => {
    await using taken = await listening();
    const isPodman = found.command[0] === "podman";
    const failures: readonly (readonly [string, FromImageOptions, string, string])[] = [
      ["localhost/tesseract-ts-test-nothing:1", {}, "IMAGE_NOT_FOUND", "tesseract-ts build"],
      [found.node, {}, "IMAGE_INVALID", "TESSERACT_NAME"],
      [OURS, { port: taken.port }, "PORT_TAKEN", `port ${taken.port} is taken`],
      [OURS, { env: { TESSERACT_RUNTIME_API_PATH: "/nothing.mjs" } }, "START_FAILED", "/nothing.mjs"],
      [OURS, { engineArguments: ["--entrypoint", "nothing"] }, "IMAGE_INVALID", "entrypoint"],
      [OURS, { volumes: ["./nothing-here:/data"] }, "INVALID_ARGUMENT", "doesn't exist"],
      [OURS, { startTimeout: 1 }, "START_TIMED_OUT", "startTimeout"],
      ...(isPodman ? ([[OURS, { gpus: ["all"] }, "ENGINE_FAILED", "nvidia-ctk cdi generate"]] as const) : []),
    ];
    for (const [image, more, code, words] of failures) {
      const { message, hint, log, ...error } = await failureOf(fromImage(image, { ...options, ...more }));
      expect({ image, code: error.code, said: `${message} ${hint} ${log?.join("\n")}` }).toEqual({
        image,
        code,
        said: expect.stringContaining(words),
      });
    }
    expect(await remains(found)).toEqual([]);
  });

  test.runIf(found.command[0] === "podman")(
    "GPUs that are only offered don't keep it from starting without",
    async () => {
      await using scale = await fromImage(OURS, { ...options, offerGpuTransport: "cuda_ipc" });
      expect(scale.serverCapabilities?.gpuTransports).toEqual(["none"]);
    },
  );

  test("an aborted start and an aborted build leave nothing", async () => {
    const starting = new AbortController();
    const start = fromImage(OURS, {
      ...options,
      signal: starting.signal,
      onProgress: ({ step }) => step === "process" && void sleep(200).then(() => starting.abort()),
    });
    expect((await failureOf(start)).code).toBe("ABORTED");
    const building = new AbortController();
    const build = buildImage(tesseract("scale"), {
      tag: "localhost/tesseract-ts-test-aborted:1",
      base: found.node,
      engine: found.command,
      include: ["lib/factor.txt"],
      signal: building.signal,
      onLog: (line) => line.includes("COPY") && building.abort(),
    });
    expect((await failureOf(build)).code).toBe("ABORTED");
    expect(await remains(found)).toEqual([]);
  });

  test("the command line makes an image, and calls it", async () => {
    const image = "localhost/tesseract-ts-test-command:1";
    vi.stubEnv("TESSERACT_ENGINE", found.command.join(" "));
    const { network } = networkFor(found);
    try {
      const include = ["--include", "lib/factor.txt"];
      const built = await cli(["build", tesseract("scale"), "--tag", image, "--base", found.node, ...include]);
      expect(built.code).toBe(0);
      // What the page about the command line says.
      const page = await readFile(join(repositoryRoot, "docs/command-line.md"), "utf8");
      const step = sessionsOf(page)
        .flatMap(({ steps }) => steps)
        .find(({ command }) => command.includes(" build "));
      const said = (text: string, tag: string): string =>
        text.replaceAll(tag, "TAG").replace(/\(\S+ \S+\)/, "(NAME VERSION)");
      for (const line of said(step?.printed ?? "no such session", "squares").split("\n")) {
        expect(said(built.out + built.err, image)).toContain(line.replace("(TAG VERSION)", "(NAME VERSION)"));
      }
      const target = [image, "apply", '{"x": [1, 2]}', "--start-timeout", "300"];
      const called = await cli(["call", ...target, ...(network === undefined ? [] : ["--network", network])]);
      expect(called).toMatchObject({ code: 0, out: expect.stringMatching(/y +float64 \[2\].* 3, 6/) });
      const missing = await cli(["call", "localhost/tesseract-ts-test-nothing:1", "apply", "{}"]);
      expect(missing).toMatchObject({ code: 3, err: expect.stringContaining("tesseract-ts build") });
    } finally {
      vi.unstubAllEnvs();
      await engine(found, "rmi", "--force", image);
    }
    expect(await remains(found)).toEqual([]);
  });

  test.runIf(found.publishes)("a network is made for it, and removed with it", async () => {
    const network = `tesseract-test-${process.pid}`;
    {
      await using scale = await fromImage(OURS, { ...options, network, networkAlias: "scale" });
      expect(await scale.health()).toEqual({ status: "ok" });
      expect(await engine(found, "network", "ls", "--format", "{{.Name}}")).toContain(network);
    }
    expect(await remains(found)).toEqual([]);
  });

  test("killing the parent leaves nothing, whatever it was at", async () => {
    const steps = ["image", "process", "ready"];
    const times: number[] = [];
    for (let moment = 0; moment < KILLED_MOMENTS; moment++) {
      const step = steps[moment % steps.length];
      // The engine sets a container up in half a second.
      const delay = (step === "process" ? 500 : 1_500) * Math.random();
      const parent = startParent();
      const exited = once(parent, "exit");
      for await (const line of createInterface({ input: parent.stdout as NodeJS.ReadableStream })) {
        if (line === step) break;
      }
      await sleep(delay);
      parent.kill("SIGKILL");
      await exited;
      const began = performance.now();
      await expect.poll(() => remains(found), { timeout: 120_000, interval: 100 }).toEqual([]);
      times.push(Math.round(performance.now() - began));
      // What it began just before may still have come; the guard sees to that.
      await sleep(1_000);
      expect(await remains(found), `killed ${delay} ms after "${step}"`).toEqual([]);
    }
    if (process.env.TESSERACT_TS_KILLED_MOMENTS !== undefined) console.log("milliseconds:", times.join(" "));
  });

  function startParent(): ChildProcess {
    const program = fileURLToPath(new URL("../src/container-parent.ts", import.meta.url));
    return spawn(
      process.execPath,
      ["--import", "tsx", "--conditions=source", program, JSON.stringify({ image: OURS, options })],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
  }
});

const exists = (path: string): Promise<boolean> =>
  readFile(path).then(
    () => true,
    ({ code }) => code !== "ENOENT",
  );

async function freePort(): Promise<number> {
  await using server = await listening();
  return server.port;
}

async function listening(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    port: typeof address === "object" ? (address?.port ?? 0) : 0,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, "close");
    },
  };
}
