/** The first example, as `npm start` runs it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryRoot } from "../src/python.js";
import { describeOnSimulator } from "../src/simulated.js";
import { describeWithRuntime } from "../src/with-runtime.js";

const client = join(repositoryRoot, "examples/heat/client.ts");

/** Without a GPU of this machine's, if it has one. */
async function runExample(...args: readonly string[]): Promise<{ readonly status: number; readonly output: string }> {
  const child = spawn(process.execPath, ["--import", "tsx", "--conditions=source", client, ...args], {
    cwd: repositoryRoot,
    env: {
      ...process.env,
      ...(args.includes("--simulated-gpu") ? {} : { TESSERACT_CUDA_DRIVER: "/nowhere/libcuda.so.1" }),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const [status] = (await once(child, "close")) as [number];
  return { status, output };
}

test("says that there is no GPU, sends all arrays through the host, and its derivatives agree", async () => {
  const { status, output } = await runExample();
  expect({ status, output }).toEqual({ status: 0, output: expect.stringContaining("they agree") });
  expect(output).toContain("There is no CUDA driver");
  expect(output).toContain("temperature back, through the host as json+base64");
  expect(output).not.toContain("GPU to GPU");
});

test("has a help text, and refuses options that it doesn't know", async () => {
  expect(await runExample("--help")).toEqual({ status: 0, output: expect.stringContaining("--simulated-gpu") });
  expect(await runExample("--gpu")).toEqual({ status: 1, output: expect.stringContaining("--gpu") });
});

describeOnSimulator("with a simulated GPU", () => {
  test("all arrays stay on it, and nothing is left", async () => {
    const { status, output } = await runExample("--simulated-gpu");
    expect({ status, output }).toEqual({ status: 0, output: expect.stringContaining("they agree") });
    expect(output).toContain("temperature back, GPU to GPU by cuda_ipc");
    expect(output).not.toContain("through the host");
    expect(output).toContain("0 leaks, 0 hazards");
  });
});

describeWithRuntime("1.15", "with the Tesseract in Python", () => {
  test("the derivatives agree too", async () => {
    const { status, output } = await runExample("--python");
    expect({ status, output }).toEqual({ status: 0, output: expect.stringContaining("they agree") });
    expect(output).toContain("A heat equation in Python");
  });
});
