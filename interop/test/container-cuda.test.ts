import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { simulatedCuda } from "@tesseract-ts/cuda-simulator";
import { buildImage, type FromImageOptions } from "@tesseract-ts/serve";
import { expect, test, vi } from "vitest";
import { describeWithContainers, engine, networkFor, remains, type TestEngine } from "../src/containers.js";
import { describeOnSimulator } from "../src/simulated.js";

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const OURS = "localhost/tesseract-ts-test-rotate:1";
const program = fileURLToPath(new URL("../src/container-cuda.ts", import.meta.url));

const api = { TESSERACT_API_PATH: "/tesseract/rotate/tesseract_api.py" };

/** Copies to the host are the check's array on each side, and the look at the result. */
const onTheGpu = { said: { transport: "cuda_ipc", values: [2, 3, 4, 1] }, copiesToHost: 3, processes: 2 };

/** A client and a container on one simulated machine: what the client says, and the copies of arrays to the host. */
async function rotated(
  found: TestEngine,
  image: string,
  more: FromImageOptions = {},
): Promise<{ readonly said: unknown; readonly copiesToHost: number; readonly processes: number }> {
  await using cuda = await simulatedCuda({ memory: "16MiB" });
  const env = Object.fromEntries(Object.entries(cuda.env).map(([name, value]) => [name, value ?? ""]));
  const libraries = env.LD_LIBRARY_PATH?.split(":")[0] ?? "";
  const trace = dirname(env.CUDA_SIMULATOR_TRACE ?? "");
  const options: FromImageOptions = {
    engine: found.command,
    startTimeout: 300_000,
    ...networkFor(found),
    // The simulator's libraries are the driver, in the container as well.
    gpus: [],
    volumes: [`${libraries}:${libraries}`, `${trace}:${trace}:rw`],
    env: { ...env, TESSERACT_FORBID_DEVICE_HOST_COPY: "1", ...(image === OURS ? {} : api) },
    ...more,
  };
  const { stdout, stderr, exitCode } = await cuda.run(
    process.execPath,
    ["--import", "tsx", "--conditions=source", program, JSON.stringify({ image, options })],
    { env: { TESSERACT_FORBID_DEVICE_HOST_COPY: "1" } },
  );
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.any(String) });
  const { trace: calls } = cuda;
  return {
    said: JSON.parse(stdout.trim().split("\n").at(-1) ?? ""),
    copiesToHost: calls.copiesToHost,
    processes: calls.pids.length,
  };
}

describeOnSimulator("simulated cuda_ipc with containers", () => {
  describeWithContainers("of the reference and of ours", (found) => {
    test("keeps arrays on the GPU, with the host's IPC namespace: an image of the reference", async (context) => {
      if (found.reference === undefined) return context.skip("The reference's environment isn't made");
      expect(await rotated(found, found.reference)).toEqual(onTheGpu);
      expect(await remains(found)).toEqual([]);
    });

    test("keeps arrays on the GPU, with the host's IPC namespace: an image of ours", async () => {
      const file = fileURLToPath(new URL("../containers/tesseracts/rotate.ts", import.meta.url));
      await buildImage(file, { tag: OURS, base: found.node, engine: found.command });
      expect(await rotated(found, OURS)).toEqual(onTheGpu);
      await engine(found, "rmi", "--force", OURS);
      expect(await remains(found)).toEqual([]);
    });

    test("says that the IPC namespace isn't shared, where it isn't", async (context) => {
      if (found.reference === undefined) return context.skip("The reference's environment isn't made");
      const { said } = await rotated(found, found.reference, { ipc: "private" });
      expect(said).toMatchObject({
        code: "TRANSPORT_UNUSABLE",
        message: expect.stringContaining("invalid argument"),
        hint: expect.stringContaining('ipc: "host"'),
        checks: [{ transport: "cuda_ipc", outcome: "failed", hint: expect.stringContaining('ipc: "host"') }],
      });
      expect(await remains(found)).toEqual([]);
    });
  });
});
