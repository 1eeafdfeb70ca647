import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { startRuntime } from "../src/runtime.js";
import { describeWithRuntime, START_TIMEOUT } from "../src/with-runtime.js";

const isRunning = (processId: number): boolean => {
  try {
    process.kill(processId, 0);
    return true;
  } catch {
    return false;
  }
};

describeWithRuntime("1.15", "startRuntime", () => {
  test("leaves no process and no folder behind, even when it is stopped in a call", {
    timeout: START_TIMEOUT,
  }, async () => {
    let left: { processId: number; outputPath: string } | undefined;
    {
      await using runtime = await startRuntime({ fixture: "faults" });
      left = runtime;
      const busy = fetch(`${runtime.url}/apply`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ inputs: { action: "sleep", seconds: 60 } }),
      });
      busy.catch(() => {});
      while ((await runtime.calls()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(isRunning(left.processId)).toBe(false);
    expect(existsSync(left.outputPath)).toBe(false);
  });

  test("says why a server didn't start", { timeout: START_TIMEOUT }, async () => {
    const env = { TESSERACT_RUNTIME_OUTPUT_FORMAT: "nonsense" };
    await expect(startRuntime({ fixture: "plain", env })).rejects.toThrow(/ended with 2 before it answered.*nonsense/s);
  });

  test("gives up on a server that doesn't answer in time", { timeout: START_TIMEOUT }, async () => {
    await expect(startRuntime({ fixture: "plain", startTimeout: 10 })).rejects.toThrow("didn't answer within 10 ms");
  });

  test("knows its fixtures", async () => {
    await expect(startRuntime({ fixture: "nope" })).rejects.toThrow('No fixture "nope"');
  });
});

describeWithRuntime("1.15", "a runtime", () => orphanStops("1.15"));
describeWithRuntime("1.12", "an old runtime", () => orphanStops("1.12"));

function orphanStops(version: "1.15" | "1.12"): void {
  test("stops when the process that started it is killed", { timeout: START_TIMEOUT }, async () => {
    const source = fileURLToPath(new URL("../src/runtime.ts", import.meta.url));
    const program = `import { startRuntime } from ${JSON.stringify(source)};
      const runtime = await startRuntime({ fixture: "plain", version: "${version}" });
      console.log(runtime.processId);`;
    // A killed process can't remove its folders, so they go here.
    const folder = mkdtempSync(join(tmpdir(), "tesseract-orphan-"));
    const starter = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", program], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const processId = await new Promise<number>((resolve, reject) => {
        createInterface(starter.stdout).once("line", (line) => resolve(Number(line)));
        starter.once("exit", () => reject(new Error("It ended before it had started a runtime.")));
      });
      expect(isRunning(processId)).toBe(true);
      starter.kill("SIGKILL");
      await expect.poll(() => isRunning(processId), { timeout: 10_000 }).toBe(false);
    } finally {
      starter.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
