// What is left when the process that uses the wrapper is interrupted, or just ends.

import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { filesOf } from "../../src/machine/shared-memory.js";
import { describeWithBoth, root, start } from "../support.js";

const index = pathToFileURL(`${root}/dist/index.js`).href;

const program = `
import { dirname } from "node:path";
import { simulatedCuda } from ${JSON.stringify(index)};
const cuda = await simulatedCuda({ memory: "8MiB" });
const program = await cuda.spawn("python3", ["-c", \`
import ctypes, time
cuda, pointer = ctypes.CDLL("libcudart.so.12"), ctypes.c_void_p()
cuda.cudaMalloc(ctypes.byref(pointer), 4096)
print("ready", flush=True)
time.sleep(60)\`]);
program.child.stdout.once("data", () => {
  console.log(cuda.name, program.pid, dirname(cuda.env.CUDA_SIMULATOR_TRACE));
  if (process.argv[1] === "exit") process.exit(5);
  if (process.argv[1] === "throw") throw new Error("on purpose");
});
`;

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describeWithBoth("nothing is left of a machine", () => {
  test.each([
    ["SIGINT", { signal: "SIGINT" }],
    ["SIGTERM", { signal: "SIGTERM" }],
    ["exit", { code: 5 }],
    ["throw", { code: 1 }],
  ])("when its process ends by %s", async (how, ending) => {
    const { child, printed, ended } = start(process.execPath, ["--input-type=module", "-e", program, how]);
    while (!printed.stdout.includes("\n")) await sleep(20);
    if (how.startsWith("SIG")) child.kill(how as NodeJS.Signals);
    expect(await ended).toMatchObject(ending);
    const [name = "", pid = "", folder = ""] = printed.stdout.trim().split(" ");
    for (let tries = 0; isAlive(Number(pid)) && tries < 200; tries++) await sleep(20);
    expect(isAlive(Number(pid))).toBe(false);
    expect(filesOf(name)).toEqual([]);
    expect(existsSync(folder)).toBe(false);
  });
});
