/** What an engine's `run` is told, for docker and for podman. */
import { describe, expect, test } from "vitest";
import { commandWords } from "../../src/containers/command-words.js";
import { whatIsNotShared } from "../../src/containers/diagnosed-backend.js";
import { containerEnvironment } from "../../src/containers/environment.js";
import { gpuArguments } from "../../src/containers/gpus.js";
import { type Container, runArguments } from "../../src/containers/run-arguments.js";
import { requireSources, volumeArguments } from "../../src/containers/volumes.js";
import { failureOf, tesseractError } from "../support.js";

const container: Container = {
  name: "tesseract-1",
  image: "heat",
  host: "127.0.0.1",
  port: 49152,
  environment: { A: "b c" },
};
const told = (more: Partial<Container>, kind: "docker" | "podman" = "docker"): string =>
  runArguments(kind, { ...container, ...more }).join(" ");

describe("the arguments of run", () => {
  test("publish the port on the address that was given, and serve on all within", () => {
    expect(told({})).toContain("--publish 127.0.0.1:49152:8000");
    expect(told({})).toMatch(/ heat serve --host 0\.0\.0\.0 --port 8000$/);
    expect(told({ host: "::1" })).toContain("--publish [::1]:49152:8000");
  });

  test("publish nothing in the host's network, where the container listens on the address itself", () => {
    expect(told({ network: "host" })).not.toContain("--publish");
    expect(told({ network: "host" })).toMatch(/--network host .* heat serve --host 127\.0\.0\.1 --port 49152$/);
  });

  test("give GPUs in each engine's way", () => {
    expect(gpuArguments("docker", ["all"])).toEqual(["--gpus", "all"]);
    expect(gpuArguments("docker", [0, "GPU-1a2b"])).toEqual(["--gpus", '"device=0,GPU-1a2b"']);
    expect(gpuArguments("podman", [0, 1])).toEqual(["--device", "nvidia.com/gpu=0", "--device", "nvidia.com/gpu=1"]);
    expect(gpuArguments("podman", [])).toEqual([]);
  });

  test("have what was asked for, before the image", () => {
    const args = told({
      ipc: "host",
      pid: "host",
      memory: "2g",
      user: "7:8",
      network: "n",
      networkAlias: "a",
      ports: ["9000:9000"],
      workers: 3,
      engineArguments: ["--cpus", "2"],
    });
    for (const part of [
      "--ipc host",
      "--pid host",
      "--memory 2g",
      "--user 7:8",
      "--network n",
      "--network-alias a",
      "--publish 9000:9000",
      "--env A=b c",
      "--cpus 2 heat",
    ]) {
      expect(args).toContain(part);
    }
    expect(args).toMatch(/--num-workers 3$/);
  });

  test.each<[string, Partial<Container>]>([
    ["no network", { network: "none" }],
    ["an alias without a network", { networkAlias: "a" }],
    ["an amount of memory that is none", { memory: "much" }],
    ["half a worker", { workers: 0.5 }],
    ["GPUs that would end the argument", { gpus: ['0" --privileged'] }],
  ])("are refused for %s", async (_, more) => {
    expect(await failureOf(() => told(more))).toEqual(tesseractError("INVALID_ARGUMENT"));
  });
});

describe("volumes", () => {
  test("are read only unless told, by absolute paths; what has no slash and no dot is the engine's", () => {
    expect(volumeArguments(["/a:/b", { source: "/c", target: "/d", mode: "rw" }, "data:/e:rw"])).toEqual([
      "/a:/b:ro",
      "/c:/d:rw",
      "data:/e:rw",
    ]);
    expect(volumeArguments(["./x:/y"])).toEqual([`${process.cwd()}/x:/y:ro`]);
  });

  test.each([["/a"], ["/a:b"], ["/a:/b:ro:z"], [":/b"]])("are refused as %s", async (volume) => {
    expect(await failureOf(() => volumeArguments([volume]))).toEqual(tesseractError("INVALID_ARGUMENT"));
  });

  test("are refused where two are at one place, or the source isn't there", async () => {
    expect(await failureOf(() => volumeArguments(["/a:/b", "/c:/b"]))).toEqual(
      tesseractError("INVALID_ARGUMENT", "at /b already"),
    );
    expect(await failureOf(() => requireSources(["/no/such/folder:/b"]))).toEqual(
      tesseractError("INVALID_ARGUMENT", "/no/such/folder"),
    );
  });
});

describe("the environment of a container", () => {
  test("has each setting by both names that the runtime reads; the caller's variables win", () => {
    const environment = containerEnvironment(
      { runtimeConfig: { profiling: true, cudaIpcPoolFraction: 0.5 }, env: { TESSERACT_PROFILING: "0" } },
      { gpuTransport: "cuda_ipc", isOurs: false },
    );
    expect(environment).toMatchObject({
      TESSERACT_PROFILING: "0",
      TESSERACT_RUNTIME_PROFILING: "1",
      TESSERACT_CUDA_IPC_POOL_FRACTION: "0.5",
      TESSERACT_RUNTIME_GPU_TRANSPORT: "cuda_ipc",
      TESSERACT_INPUT_PATH: "/tesseract/input_data",
    });
    expect(environment).not.toHaveProperty("TESSERACT_SHUTDOWN_LIMIT");
  });
});

describe("why GPU arrays can't cross", () => {
  test.each([
    [{}, 'ipc: "host"'],
    [{ ipc: "private" }, "of its own"],
    [{ ipc: "host", gpus: [] }, 'gpus: ["all"]'],
    [{ ipc: "host", gpus: ["all"] }, 'pid: "host"'],
  ])("is read from how the container was started: %j", (settings, part) => {
    expect(whatIsNotShared(settings)).toContain(part);
  });

  test("isn't, where everything is shared", () => {
    expect(whatIsNotShared({ ipc: "host", pid: "host", gpus: ["all"] })).toBeUndefined();
  });
});

describe("an engine's command", () => {
  test("is split as a shell splits it", () => {
    expect(commandWords(String.raw`podman  --root "/my images" '--a b' c\ d "e\"f" g"h"i`, "X")).toEqual([
      "podman",
      "--root",
      "/my images",
      "--a b",
      "c d",
      'e"f',
      "ghi",
    ]);
    expect(commandWords("", "X")).toEqual([]);
  });

  test("is refused with a quote that has no end", async () => {
    expect(await failureOf(() => commandWords('podman "x', "TESSERACT_ENGINE"))).toEqual(
      tesseractError("INVALID_ARGUMENT", "TESSERACT_ENGINE"),
    );
  });
});
