import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { CudaSimulatorError } from "../../src/errors.js";
import { type SimulatedCuda, simulatedCuda } from "../../src/index.js";
import { filesOf, removeFilesOf } from "../../src/machine/shared-memory.js";
import { describeWithLibraries, pythonCopies, simulatorError, start, temporaryFolder } from "../support.js";

afterEach(() => vi.unstubAllEnvs());
const folder = temporaryFolder();

/** Allocates and waits. */
const holder = `${pythonCopies({ free: false })}\nimport time\ntime.sleep(60)`;

const python = (cuda: SimulatedCuda, program: string, options = {}) => cuda.run("python3", ["-c", program], options);

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await holds()); tries++) {
    if (tries > 500) throw new Error("It didn't come to that");
    await sleep(20);
  }
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describeWithLibraries("a simulated machine", () => {
  test("runs a program, and knows what it did", async () => {
    await using cuda = await simulatedCuda({ memory: "8MiB" });
    expect(await python(cuda, pythonCopies())).toEqual({
      exitCode: 0,
      signal: null,
      stdout: "0\n0\n0\n0\n",
      stderr: "",
    });
    expect(cuda.trace.bytes).toEqual({ HtoD: 65_536, DtoH: 1000, DtoD: 0, HtoH: 0 });
    expect(cuda.trace.copiesToHost).toBe(1);
    expect(cuda.trace.leaks).toEqual([]);
    expect(cuda.trace.hazards).toEqual([]);
    expect(cuda.trace.filter({ library: "runtime" }).calls.map((call) => call.function)).toEqual([
      "cudaMalloc",
      "cudaMemcpy",
      "cudaMemcpy",
      "cudaFree",
    ]);
    for (const { function: name, duration } of cuda.trace.calls)
      expect([name, duration]).toEqual([name, expect.any(Number)]);
    expect(cuda.trace.filter({ function: "cudaMemcpy" }).calls.every(({ duration = 0 }) => duration > 0)).toBe(true);
  });

  test("knows what leaked", async () => {
    await using cuda = await simulatedCuda({ memory: "8MiB" });
    await python(cuda, pythonCopies({ free: false }));
    expect(cuda.trace.leaks).toMatchObject([{ kind: "memory", bytes: 65_536 }]);
  });

  test("hands on how a program ended, and what it read and printed", async () => {
    await using cuda = await simulatedCuda();
    expect(await cuda.run("cat", [], { input: "çuda" })).toMatchObject({ exitCode: 0, stdout: "çuda" });
    expect(await cuda.run("sh", ["-c", "echo no >&2; exit 3"])).toMatchObject({
      exitCode: 3,
      signal: null,
      stderr: "no\n",
    });
    expect(await cuda.run("sh", ["-c", "kill -USR1 $$"])).toMatchObject({ exitCode: null, signal: "SIGUSR1" });
    expect(await cuda.run("pwd", [], { cwd: "/" })).toMatchObject({ stdout: "/\n" });
    await expect(cuda.run("no-such-program")).rejects.toEqual(simulatorError("SPAWN_FAILED", "no-such-program"));
    await expect(cuda.run("true", [], { cwd: "/none" })).rejects.toEqual(simulatorError("SPAWN_FAILED"));
  });

  test("has devices, memory and faults as asked, whatever is set outside", async () => {
    vi.stubEnv("CUDA_VISIBLE_DEVICES", "");
    vi.stubEnv("CUDA_SIMULATOR_FAULTS", "cuInit@1=999");
    vi.stubEnv("CUDA_SIMULATOR_HOST", "elsewhere");
    await using cuda = await simulatedCuda({ devices: 3, memory: "4MiB" });
    const count = `
import ctypes
cuda, count, free, total = ctypes.CDLL("libcudart.so"), ctypes.c_int(), ctypes.c_size_t(), ctypes.c_size_t()
cuda.cudaGetDeviceCount(ctypes.byref(count))
cuda.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total))
print(count.value, total.value)`;
    expect((await python(cuda, count)).stdout).toBe("3 4194304\n");
    expect((await python(cuda, count, { visibleDevices: "2" })).stdout).toBe("1 4194304\n");
    const { stdout } = await python(cuda, pythonCopies(), { faults: [{ call: "cudaMalloc", code: 2 }] });
    expect(stdout).toMatch(/^2\n/);
  });

  test("keeps a library path of the caller's behind its own", async () => {
    vi.stubEnv("LD_LIBRARY_PATH", "/outer");
    await using cuda = await simulatedCuda();
    const own = cuda.env.LD_LIBRARY_PATH?.split(":")[0];
    const path = async (env?: Record<string, string>) =>
      (await cuda.run("sh", ["-c", "echo $LD_LIBRARY_PATH"], { env })).stdout;
    expect(await path()).toBe(`${own}:/outer\n`);
    expect(await path({ LD_LIBRARY_PATH: "/mine" })).toBe(`${own}:/mine\n`);
  });

  test("says from outside what it holds", async () => {
    await using cuda = await simulatedCuda({ devices: 2, memory: "8MiB" });
    expect(await cuda.status()).toMatchObject({ running: false, devices: [], processes: [] });
    await using program = await cuda.spawn("python3", ["-c", holder]);
    await until(() => program.output.stdout !== "");
    const { running, devices, processes, allocations } = await cuda.status();
    expect(running).toBe(true);
    expect(devices).toMatchObject([
      { index: 0, memory: 8 << 20, used: 65_536 },
      { index: 1, used: 0 },
    ]);
    expect(processes).toEqual([{ pid: program.pid, alive: true }]);
    expect(allocations).toMatchObject([
      { bytes: 65_536, kind: "plain", owner: program.pid, freed: false, mappedBy: [] },
    ]);
  });

  test("has hosts, each with devices of its own", async () => {
    await using cuda = await simulatedCuda({ memory: "8MiB" });
    await using program = await cuda.spawn("python3", ["-c", holder], { host: "b" });
    await until(() => program.output.stdout !== "");
    expect(await cuda.status()).toMatchObject({ running: false });
    expect(await cuda.status({ host: "b" })).toMatchObject({ running: true, processes: [{ pid: program.pid }] });
  });

  test("keeps its trace where it was asked to", async () => {
    const traceFile = join(folder, "kept.jsonl");
    {
      await using cuda = await simulatedCuda({ memory: "8MiB", traceFile });
      await python(cuda, pythonCopies());
    }
    expect(existsSync(traceFile)).toBe(true);
    await expect(simulatedCuda({ traceFile: join(folder, "none/x.jsonl") })).rejects.toEqual(
      simulatorError("WRITE_FAILED"),
    );
  });
});

describeWithLibraries("a program that is to end", () => {
  test("ends on time, and with it what it started", async () => {
    await using cuda = await simulatedCuda({ timeout: 1_500 });
    const error: unknown = await cuda.run("sh", ["-c", "sleep 60 & echo $!; wait"]).catch((caught: unknown) => caught);
    expect(error).toEqual(simulatorError("TIMEOUT", "1500 ms"));
    const grandchild = Number(error instanceof CudaSimulatorError && error.output?.stdout);
    expect(grandchild).toBeGreaterThan(0);
    await until(() => !isAlive(grandchild));
  });

  test("ends when its signal is aborted", async () => {
    await using cuda = await simulatedCuda();
    const controller = new AbortController();
    const run = cuda.run("sleep", ["60"], { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(run).rejects.toEqual(simulatorError("ABORTED"));
    await expect(cuda.run("true", [], { signal: controller.signal })).rejects.toEqual(simulatorError("ABORTED"));
    await expect(cuda.run("true", [], { timeout: 0 })).rejects.toEqual(simulatorError("INVALID_OPTION", "timeout"));
  });

  test("is killed if it doesn't want to", async () => {
    await using cuda = await simulatedCuda();
    const program = await cuda.spawn("sh", ["-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"]);
    await until(() => program.output.stdout !== "");
    await program.end();
    expect(await program.exited).toEqual({ exitCode: null, signal: "SIGKILL" });
  });
});

describeWithLibraries("a machine that is disposed of", () => {
  test("ends its programs and leaves nothing, even of those that were killed", async () => {
    const cuda = await simulatedCuda({ memory: "8MiB" });
    const [first, second] = await Promise.all([1, 2].map(() => cuda.spawn("python3", ["-c", holder])));
    await until(() => first?.output.stdout !== "" && second?.output.stdout !== "");
    expect(filesOf(cuda.name).length).toBeGreaterThanOrEqual(3);
    first?.kill("SIGKILL");
    await cuda.dispose();
    expect(await second?.exited).toMatchObject({ signal: "SIGTERM" });
    expect(filesOf(cuda.name)).toEqual([]);
    expect(existsSync(dirname(cuda.env.CUDA_SIMULATOR_TRACE ?? ""))).toBe(false);
  });

  test("leaves nothing of a program that a fault killed", async () => {
    const cuda = await simulatedCuda({ memory: "8MiB" });
    const { signal } = await python(cuda, pythonCopies(), { faults: [{ call: "cudaFree", die: true }] });
    expect(signal).toBe("SIGKILL");
    expect(cuda.trace.faults).toMatchObject([{ function: "cudaFree", effect: "die" }]);
    await cuda.dispose();
    expect(filesOf(cuda.name)).toEqual([]);
  });

  test("ends what its programs left running", async () => {
    const cuda = await simulatedCuda({ memory: "8MiB" });
    const { stdout } = await cuda.run("sh", ["-c", "sleep 60 >/dev/null 2>&1 & echo $!"]);
    expect(isAlive(Number(stdout))).toBe(true);
    await cuda.dispose();
    await until(() => !isAlive(Number(stdout)));
  });

  test("can't be used any longer, and may be disposed of again", async () => {
    const cuda = await simulatedCuda();
    await Promise.all([cuda.dispose(), cuda.dispose()]);
    await expect(cuda.run("true")).rejects.toEqual(simulatorError("DISPOSED", cuda.name));
    await expect(cuda.status()).rejects.toEqual(simulatorError("DISPOSED"));
    expect(() => cuda.trace).toThrow(simulatorError("DISPOSED"));
  });

  test("tells of a program that someone else started on it, and takes nothing from it", async () => {
    const cuda = await simulatedCuda({ memory: "8MiB" });
    const other = start("python3", ["-c", holder], { env: { ...process.env, ...cuda.env } });
    try {
      await until(() => other.printed.stdout !== "");
      await expect(cuda.dispose()).rejects.toEqual(simulatorError("MACHINE_IN_USE", String(other.child.pid)));
      expect(filesOf(cuda.name).length).toBeGreaterThan(0);
    } finally {
      other.child.kill("SIGKILL");
      await other.ended;
      removeFilesOf(cuda.name);
    }
  });
});
