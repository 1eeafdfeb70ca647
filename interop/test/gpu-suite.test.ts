import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { describeOnSimulator } from "../src/simulated.js";

const program = fileURLToPath(new URL("../../gpu/scripts/test.mjs", import.meta.url));

interface Found {
  readonly simulated: boolean;
  readonly findings: readonly { readonly group: string; readonly name: string; readonly status: string }[];
  readonly sizes: readonly { readonly bytes: number; readonly apply: Readonly<Record<string, object>> }[];
}

async function suite(...args: readonly string[]): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  }
  const status = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { status, ...output };
}

describeOnSimulator("the GPU suite", () => {
  test("passes on the simulator, in which case it says so", async () => {
    const folder = await mkdtemp(join(tmpdir(), "gpu-suite-"));
    try {
      const json = join(folder, "results.json");
      const { status, stdout, stderr } = await suite("--simulated", "--most", "4KiB", "--rules", "ipc", "--json", json);
      expect({ status, said: status === 0 ? "" : stderr + stdout }).toEqual({ status: 0, said: "" });
      expect(stdout).toContain("not on a GPU: the checks are simulated");
      const found = JSON.parse(readFileSync(json, "utf8")) as Found;
      expect(found.simulated).toBe(true);
      const skipped = found.findings.filter((each) => each.status !== "passed").map(({ name }) => name);
      // Libraries of the GPU that need a real one.
      expect(skipped).toEqual(["CuPy arrays", "PyTorch arrays", "JAX arrays"]);
      expect(new Set(found.findings.map(({ group }) => group)).size).toBe(7);
      expect(found.sizes.map(({ bytes }) => bytes)).toEqual([1024, 4096]);
      for (const { apply } of found.sizes) {
        for (const timing of Object.values(apply)) expect(timing).toHaveProperty("median");
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  }, 240_000);

  test("without a driver it checks nothing, says why, and exits with 2", async () => {
    const { status, stdout } = await suite("--driver", "/nowhere/libcuda.so.1", "--no-rules");
    expect(status).toBe(2);
    expect(stdout).toMatch(/There is no CUDA driver: .*\/nowhere\/libcuda\.so\.1/);
  }, 120_000);
});
