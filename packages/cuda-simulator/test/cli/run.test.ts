import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { filesOf } from "../../src/machine/shared-memory.js";
import { builtCommand, cli, describeWithBoth, pythonCopies, start, temporaryFolder } from "../support.js";

const folder = temporaryFolder();

const run = (options: readonly string[], ...command: readonly string[]) => cli(["run", ...options, "--", ...command]);
const python = (options: readonly string[], program: string) => run(options, "python3", "-c", program);

describeWithBoth("cuda-simulator run", () => {
  test("stands in for the program: input, output, status", async () => {
    const { child, ended } = start(process.execPath, [
      builtCommand,
      "run",
      "--",
      "sh",
      "-c",
      "cat; echo no >&2; exit 7",
    ]);
    child.stdin.end("hello");
    expect(await ended).toEqual({ code: 7, signal: null, stdout: "hello", stderr: "no\n" });
  });

  test("puts the program on a machine with the devices that were asked for", async () => {
    const { stdout } = await python(
      ["--devices", "2", "--memory", "4MiB"],
      `
import ctypes
cuda, count, total = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_size_t()
cuda.cuInit(0)
cuda.cuDeviceGetCount(ctypes.byref(count))
cuda.cuDeviceTotalMem_v2(ctypes.byref(total), 0)
print(count.value, total.value)`,
    );
    expect(stdout).toBe("2 4194304\n");
  });

  test("writes a trace anew, adds to it when asked to, and replaces nothing else", async () => {
    const trace = join(folder, "a.jsonl");
    const options = ["--memory", "4MiB", "--trace", trace];
    const begins = () => readFileSync(trace, "utf8").match(/"type":"begin"/g)?.length;
    expect((await python(options, pythonCopies())).code).toBe(0);
    expect(begins()).toBe(1);
    await python(options, pythonCopies());
    expect(begins()).toBe(1);
    await python([...options, "--append"], pythonCopies());
    expect(begins()).toBe(2);
    const precious = join(folder, "pipeline.py");
    writeFileSync(precious, "print(1)\n");
    expect(await run(["--trace", precious], "true")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("no trace"),
    });
    expect(readFileSync(precious, "utf8")).toBe("print(1)\n");
  });

  test("tells at the end what leaked, when asked to", async () => {
    const options = ["--memory", "4MiB", "--leaks"];
    const { code, stderr } = await python(options, pythonCopies({ free: false }));
    expect(code).toBe(0);
    expect(stderr).toContain("cuda-simulator: Leaks: 1 (64.0 KiB)");
    expect((await python(options, pythonCopies())).stderr).toBe(
      "cuda-simulator: Hazards: none\ncuda-simulator: Leaks: none\n",
    );
    expect((await run(["--leaks"], "true")).stderr).toContain("Leaks: none");
    expect((await python(["--memory", "4MiB"], pythonCopies({ free: false }))).stderr).toBe("");
  });

  test("deals out faults, and leaves nothing of a program that one kills", async () => {
    const faults = ["--fault", "cudaMalloc@1=2", "--fault", "cudaFree@1=die"];
    const machine = `test-${process.pid}`;
    const named = `import os\nprint(os.environ["CUDA_SIMULATOR_MACHINE"])\n${pythonCopies()}`;
    const { signal, stdout } = await python(["--memory", "4MiB", ...faults], named);
    expect(signal).toBe("SIGKILL"); // the command ends as the program did
    expect(stdout).toMatch(/^run-.*\n2\n/);
    expect(filesOf(stdout.split("\n")[0] ?? "")).toEqual([]);
    // A machine of a name is left to the others that may be on it; whoever comes next clears up.
    await python(["--memory", "4MiB", "--machine", machine, "--fault", "cudaFree@1=die"], pythonCopies());
    await python(["--memory", "4MiB", "--machine", machine], pythonCopies());
    expect(filesOf(machine)).toEqual([]);
  });

  test("passes signals on, and ends as the program does", async () => {
    const script = "trap 'echo got it; exit 9' TERM; trap 'echo int' INT; echo ready; while :; do sleep 0.1; done";
    const { child, printed, ended } = start(process.execPath, [builtCommand, "run", "--", "sh", "-c", script]);
    while (!printed.stdout.includes("ready")) await sleep(20);
    child.kill("SIGINT");
    while (!printed.stdout.includes("int")) await sleep(20);
    child.kill("SIGTERM");
    expect(await ended).toMatchObject({ code: 9, stdout: "ready\nint\ngot it\n" });
    expect(await run([], "sh", "-c", "kill -TERM $$")).toMatchObject({ code: null, signal: "SIGTERM" });
  });

  test("says so if there is no such program", async () => {
    expect(await run([], "no-such-program")).toMatchObject({
      code: 127,
      stderr: expect.stringContaining("no-such-program can't be started"),
    });
  });
});

describeWithBoth("cuda-simulator status", () => {
  test("tells what a machine holds", async () => {
    const machine = `status-${process.pid}`;
    const go = join(folder, "go");
    const program = `${pythonCopies({ free: false })}
import os, time
while not os.path.exists(${JSON.stringify(go)}): time.sleep(0.02)`;
    const options = ["--memory", "4MiB", "--machine", machine, "--host", "b"];
    const { printed, ended } = start(process.execPath, [
      builtCommand,
      "run",
      ...options,
      "--",
      "python3",
      "-c",
      program,
    ]);
    while (!printed.stdout.includes("\n")) await sleep(20);
    const { code, stdout } = await cli(["status", machine]);
    const { stdout: json } = await cli(["status", machine, "--json"]);
    writeFileSync(go, "");
    expect(await ended).toMatchObject({ code: 0 });
    expect(code).toBe(0);
    expect(stdout).toContain(`${machine} on host b`);
    expect(stdout).toMatch(/device 0 {2}GPU-[0-9a-f-]{36} {2}64\.0 KiB of 4\.00 MiB in use/);
    expect(stdout).toMatch(/process \d+: 1 allocation, 64\.0 KiB/);
    expect(JSON.parse(json)).toMatchObject([{ machine, host: "b", running: true, devices: [{ used: 65_536 }] }]);
    expect(await cli(["status", machine])).toMatchObject({
      code: 1,
      stdout: `The machine ${machine} isn't running.\n`,
    });
  });
});
