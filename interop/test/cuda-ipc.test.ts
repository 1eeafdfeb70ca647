import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TesseractError } from "@tesseract-ts/core";
import type { DeviceArray } from "@tesseract-ts/transport-cuda-ipc";
import { transform } from "esbuild";
import { expect, test } from "vitest";
import type { CudaClient } from "../src/cuda-client.js";
import { serveLocally } from "../src/local-server.js";
import { repositoryRoot } from "../src/python.js";
import { forward } from "../src/recording-proxy.js";
import { describeOnSimulator, onSimulatedMachine, shared } from "../src/simulated.js";

const gpu = { gpuTransport: "cuda_ipc" };

describeOnSimulator("the reference runtime over simulated cuda_ipc", () => {
  const machine = shared({ devices: 2, delay: "1ms..3ms" }, async ({ cuda, serve, client }) => {
    const servers = Promise.all([serve("rotate"), serve("echo"), serve("mixed")]);
    const [[rotate, echo, mixed], process] = await Promise.all([servers, client()]);
    return { cuda, rotate, echo, mixed, client: process, start: client };
  });

  test("takes and gives device arrays on every endpoint, and no array goes through the host", async () => {
    const { cuda, client, rotate } = machine();
    const before = { client: cuda.trace.filter({ pid: client.pid }).copiesToHost, all: cuda.trace.copiesToHost };
    const result = await client.run(
      ({ connected, upload, download, kept }, url) =>
        connected(url, {}, async (tess) => {
          const transport = await tess.resolveGpuTransport();
          const onDevice = tess.withEncoding({ gpuTransport: transport });
          const x = await upload([1, 2, 3, 4]);
          const applied = (await onDevice.apply({ x, by: 1 })) as { y: unknown };
          const jvp = await onDevice.jacobianVectorProduct({ x, by: 1 }, ["x"], ["y"], { x });
          const vjp = await onDevice.vectorJacobianProduct({ x, by: 1 }, ["x"], ["y"], { y: x });
          const jacobian = await onDevice.jacobian({ x, by: 1 }, ["x"], ["y"]);
          const abstract = await onDevice.abstractEval({ x, by: 1 });
          x.dispose();
          return {
            transport,
            applied: await download(applied.y),
            jvp: await download(jvp.y),
            vjp: await download(vjp.x),
            jacobian: await download(jacobian.y?.x),
            abstract,
            warnings: kept.warnings,
          };
        }),
      rotate.url,
    );
    expect(result).toEqual({
      transport: "cuda_ipc",
      applied: [2, 3, 4, 1],
      jvp: [2, 3, 4, 1],
      vjp: [4, 1, 2, 3],
      jacobian: [0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0],
      abstract: { y: { shape: [4], dtype: "float64" } },
      warnings: [],
    });
    // The check's array on each side, and the four looks of this test at its results.
    const copies = cuda.trace.filter({ pid: client.pid }).copiesToHost - before.client;
    expect(copies).toBe(1 + 4);
    expect(cuda.trace.copiesToHost - before.all - copies).toBe(1);
  });

  test("meets memory without handles on either side, which is copied on the device", async () => {
    const { cuda, client, rotate } = machine();
    const values = await client.run(
      ({ connected, cuda: { openDriver, Batch }, download }, url, options) =>
        connected(url, options, async (tess) => {
          const device = (await openDriver()).device();
          const results: number[][] = [];
          for (const kind of ["plain", "virtual", "pool"] as const) {
            for (const memory of ["plain", "virtual", "pool"]) {
              const batch = new Batch();
              const allocated = batch.alloc(24, { kind });
              batch.copyFromHost(allocated, new Uint8Array(new Float64Array([1, 2, 3]).buffer));
              const pointer = (await device.submit(batch)).get(allocated);
              const x = { cudaArrayInterface: { shape: [3], typestr: "<f8", data: [pointer, false], version: 3 } };
              const { y } = (await tess.apply({ x: x as never, by: 1, memory })) as { y: unknown };
              results.push(await download(y));
              await device.free(pointer);
            }
          }
          return results;
        }),
      rotate.url,
      gpu,
    );
    expect(values).toEqual(Array.from({ length: 9 }, () => [2, 3, 1]));
    expect(cuda.trace.filter({ pid: client.pid, failed: true }).calls).toEqual([]);
  });

  test("echoes every dtype, scalars and empty arrays", async () => {
    const { client, echo } = machine();
    const result = await client.run(
      ({ connected, core, cuda }, url, options) =>
        connected(url, options, async (tess) => {
          const inputs: Record<string, DeviceArray> = {};
          for (const [index, dtype] of core.dtypes.entries()) {
            const shape = [[2, 3], [], [0, 2]][index % 3] ?? [];
            const size = core.elementCount(shape) * core.itemSize(dtype);
            const bytes = new Uint8Array(size).map((_, at) => (at * 7 + 1) % 2);
            inputs[dtype] = await cuda.DeviceArray.fromHost(
              core.makeHostArray(dtype, shape, core.viewAs(dtype, bytes.buffer)),
            );
          }
          const { devices, ...outputs } = (await tess.apply(inputs)) as Record<string, unknown>;
          const differences: string[] = [];
          for (const [dtype, input] of Object.entries(inputs)) {
            const output = outputs[dtype];
            if (!(output instanceof cuda.DeviceArray)) differences.push(`${dtype} isn't on the device`);
            else {
              const [before, after] = await Promise.all([input.copyToHost(), output.copyToHost()]);
              const same = Buffer.compare(core.bytesOf(before), core.bytesOf(after)) === 0;
              if (!same || String(before.shape) !== String(after.shape) || before.dtype !== after.dtype) {
                differences.push(`${dtype} differs`);
              }
              output.dispose();
            }
            input.dispose();
          }
          return { differences, count: Object.keys(outputs).length, devices };
        }),
      echo.url,
      gpu,
    );
    expect(result.differences).toEqual([]);
    expect(result.count).toBe(14);
  });

  test("takes trees with arrays of the GPU and of the host in them, and gives each back where it was", async () => {
    const { cuda, client, mixed } = machine();
    const before = cuda.trace.copiesToHost;
    const result = await client.run(
      ({ connected, upload, download, core }, url, options) =>
        connected(url, options, async (tess) => {
          const [first, second] = [await upload([1, 2]), await upload([3])];
          const answer = await tess.apply({
            pair: { a: first, b: Float64Array.of(4, 5) },
            more: [Float64Array.of(6), second, [7, 8]],
            named: { "a key": first, other: Float64Array.of(9) },
          });
          first.dispose();
          second.dispose();
          const { pair, more, named, on_gpu } = answer as unknown as {
            pair: Record<string, unknown>;
            more: unknown[];
            named: Record<string, unknown>;
            on_gpu: boolean[];
          };
          const values: (number[] | string)[] = [];
          for (const array of [pair.a, pair.b, ...more, named["a key"], named.other]) {
            if (core.isHostArray(array)) values.push(`host ${String(array.data)}`);
            else values.push(await download(array));
          }
          return { values, on_gpu };
        }),
      mixed.url,
      gpu,
    );
    expect(result).toEqual({
      values: [[1, 2], "host 4,5", "host 6", [3], "host 7,8", [1, 2], "host 9"],
      on_gpu: [true, false, false, true, false, true, false],
    });
    expect(cuda.trace.copiesToHost - before).toBe(3);
  });

  test("is understood by a client that numbers the devices differently", async () => {
    const { echo, start } = machine();
    const client = await start({ visibleDevices: "1,0" });
    const result = await client.run(
      ({ connected, cuda, download }, url, options) =>
        connected(url, options, async (tess) => {
          const first = await cuda.DeviceArray.fromHost(new Float64Array([1]), { device: 0 });
          const second = await cuda.DeviceArray.fromHost(new Float32Array([2]), { device: 1 });
          const { devices, float64, float32 } = (await tess.apply({ float64: first, float32: second })) as unknown as {
            devices: unknown;
            float64: DeviceArray;
            float32: DeviceArray;
          };
          first.dispose();
          second.dispose();
          const back = [float64.ordinal, float32.ordinal];
          return { devices, back, values: [await download(float64), await download(float32)] };
        }),
      echo.url,
      gpu,
    );
    expect(result).toEqual({ devices: { float64: 1, float32: 0 }, back: [0, 1], values: [[1], [2]] });
  });

  test("answers 16 calls that come at once", async () => {
    const { client, rotate } = machine();
    const values = await client.run(
      ({ connected, upload, download }, url, options) =>
        connected(url, options, (tess) =>
          Promise.all(
            Array.from({ length: 16 }, async (_, index) => {
              const x = await upload([index, 100, 200]);
              const { y } = (await tess.apply({ x, by: 1 })) as { y: unknown };
              x.dispose();
              return download(y);
            }),
          ),
        ),
      rotate.url,
      gpu,
    );
    expect(values).toEqual(Array.from({ length: 16 }, (_, index) => [100, 200, index]));
  });

  test("is called by the README's first program", async () => {
    const { cuda, rotate } = machine();
    const readme = await readFile(join(repositoryRoot, "packages/transport-cuda-ipc/README.md"), "utf8");
    const [, program = ""] = /```ts\n(.*?)```/s.exec(readme) ?? [];
    const { code } = await transform(program.replaceAll("http://localhost:8000", rotate.url), {
      loader: "ts",
      format: "esm",
      target: "node20",
    });
    const args = ["--conditions=source", "--import", "tsx", "--input-type=module", "--eval", code];
    const { stdout, stderr } = await cuda.run(process.execPath, args, { cwd: join(repositoryRoot, "interop") });
    expect([stdout, stderr]).toEqual(["Float64Array(3) [ 2, 3, 1 ]\n", ""]);
  });

  test("is called again and again without anything piling up", async () => {
    const { cuda, client, rotate } = machine();
    const calls = Number(process.env.TESSERACT_CALLS ?? 1_000);
    const run = await client.run(
      ({ connected, upload, cuda: { openDriver } }, url, options, count) =>
        connected(url, options, async (tess) => {
          const driver = await openDriver();
          const { monitorEventLoopDelay } = process.getBuiltinModule("node:perf_hooks");
          const x = await upload(Float64Array.from({ length: 1000 }, (_, index) => index));
          const once = async (): Promise<void> => {
            const { y } = (await tess.apply({ x, by: 1 })) as unknown as { y: DeviceArray };
            y.dispose();
          };
          for (let i = 0; i < 10; i++) await once();
          const before = driver.held();
          const delay = monitorEventLoopDelay({ resolution: 1 });
          delay.enable();
          for (let i = 10; i < count; i++) await once();
          delay.disable();
          const after = driver.held();
          x.dispose();
          return { before, after, longest: delay.max / 1e6, usual: delay.percentile(99) / 1e6 };
        }),
      rotate.url,
      gpu,
      calls,
    );
    expect(run.after).toEqual(run.before);
    // How long it was held up is printed rather than asserted: on a busy machine others hold it up as well.
    console.log(
      `${calls} calls: the event loop was held up for ${run.usual.toFixed(1)} ms (99 %), ${run.longest.toFixed(1)} ms at most`,
    );
    const { allocations } = await cuda.status();
    expect(allocations.filter(({ owner }) => owner === client.pid).length).toBeLessThan(10);
  }, 300_000);
});

describeOnSimulator("the check against the reference", () => {
  test("fails with a reason where handles can't be opened, and the arrays may go through the host", () =>
    onSimulatedMachine({}, async ({ serve, client: start }) => {
      const [server, client] = await Promise.all([serve("rotate", { pidNamespace: "container" }), start()]);
      const { resolved, explanation, asked, warnings } = await client.run(
        ({ connected, kept }: CudaClient, url: string) =>
          connected(url, {}, async (tess) => ({
            resolved: await tess.resolveGpuTransport(),
            explanation: await tess.explainGpuTransport(),
            asked: await tess
              .withEncoding({ gpuTransport: "cuda_ipc" })
              .resolveGpuTransport()
              .catch(({ code, message, hint }: TesseractError) => ({ code, message, hint })),
            warnings: kept.warnings,
          })),
        server.url,
      );
      expect(resolved).toBe("none");
      expect(explanation).toMatchObject({
        requested: undefined,
        offered: ["none", "cuda_ipc"],
        resolved: "none",
        checks: [{ transport: "cuda_ipc", outcome: "failed", reason: expect.any(String) }],
      });
      expect(asked).toMatchObject({ code: "TRANSPORT_UNUSABLE", hint: expect.stringContaining('"none"') });
      expect(warnings).toMatchObject([{ code: "GPU_TRANSPORT_UNUSABLE" }]);
    }));

  test("isn't made where the server doesn't offer cuda_ipc", () =>
    onSimulatedMachine({}, async ({ serve, client: start }) => {
      const none = { env: { TESSERACT_RUNTIME_GPU_TRANSPORT: "none" } };
      const [server, client] = await Promise.all([serve("rotate", {}, none), start()]);
      const result = await client.run(
        async ({ connected }, url, options) => ({
          resolved: await connected(url, {}, (tess) => tess.resolveGpuTransport()),
          asked: await connected(url, options, async () => "connected").catch(({ code }: TesseractError) => code),
          checks: await connected(url, {}, async (tess) =>
            (await tess.explainGpuTransport()).checks.map(({ outcome }) => outcome),
          ),
        }),
        server.url,
        gpu,
      );
      expect(result).toEqual({ resolved: "none", asked: "ENCODING_UNAVAILABLE", checks: ["not_offered"] });
    }));

  test("fails with the server's reason where it can't make an array of its own", () =>
    onSimulatedMachine({}, async ({ serve, client: start }) => {
      const faults = [{ call: "cuIpcGetMemHandle", nth: "every", code: 999 }] as const;
      const [server, client] = await Promise.all([serve("rotate", { faults }), start()]);
      const checks = await client.run(
        ({ connected }, url) => connected(url, {}, async (tess) => (await tess.explainGpuTransport()).checks),
        server.url,
      );
      expect(checks).toMatchObject([
        { outcome: "failed", reason: expect.stringContaining("cudaIpcGetMemHandle failed") },
      ]);
    }));

  test("raises an HTTP error of the server, and asks again", () =>
    onSimulatedMachine({}, async ({ serve, client: start }) => {
      const [server, client] = await Promise.all([serve("rotate"), start()]);
      let checks = 0;
      // The first check goes where the server has nothing.
      await using proxy = await serveLocally(async (request, response) => {
        const lost = request.path === "/check_gpu_transport" && checks++ === 0;
        const { status, answerHeaders, answer } = await forward(
          server.url,
          lost ? { ...request, path: "/lost" } : request,
        );
        response.writeHead(status, answerHeaders).end(answer);
      });
      const result = await client.run(
        ({ connected, kept }, url) =>
          connected(url, {}, async (tess) => [
            await tess.resolveGpuTransport().catch(({ code, status }: TesseractError) => `${code} ${status}`),
            await tess.resolveGpuTransport(),
            await tess.resolveGpuTransport(),
            kept.warnings,
          ]),
        proxy.url,
      );
      expect(result).toEqual(["ENDPOINT_NOT_FOUND 404", "cuda_ipc", "cuda_ipc", []]);
      expect(checks).toBe(2);
    }));
});
