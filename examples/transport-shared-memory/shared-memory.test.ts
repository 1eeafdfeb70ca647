/** The transport passes the suite that all transports must pass, and carries the arrays of real calls. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describeConformance, type ProcessSide, processSide, transportConformance } from "@tesseract-ts/testkit";
import { leftovers } from "./leftovers.js";

// A folder of its own, which no other program looks into; the processes that are started below inherit it.
process.env.SHARED_MEMORY_FOLDER = mkdtempSync("/dev/shm/tesseract-test-");
after(() => rmSync(process.env.SHARED_MEMORY_FOLDER ?? "", { recursive: true }));
const { sharedMemory } = await import("./shared-memory.js");

const execArgv = ["--import", "tsx", "--conditions", "source"];
const start = (): Promise<ProcessSide> => processSide(new URL("./side.ts", import.meta.url), { execArgv });

// In one process.
describeConformance(transportConformance({ name: "shm", create: () => ({ sender: sharedMemory(), leftovers }) }), {
  describe,
  test,
});

// Between two, as it is used.
describe("between two processes", () => {
  let sender: ProcessSide;
  let receiver: ProcessSide;
  before(async () => {
    [sender, receiver] = await Promise.all([start(), start()]);
  });
  after(() => Promise.all([sender?.end(), receiver?.end()]));
  describeConformance(
    transportConformance({
      name: "shm",
      create: () => ({ sender, receiver }),
      async createMortal() {
        const [mortal, other] = await Promise.all([start(), start()]);
        return { sender: mortal, receiver: other, kill: () => mortal.kill(), end: () => other.end() };
      },
    }),
    { describe, test },
  );
});

test("a client and a server of another process exchange their arrays by it, and leave nothing", async () => {
  const main = fileURLToPath(new URL("./main.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [...execArgv, main]);
  assert.equal(stdout, "json+shm Float64Array(3) [ 10, 20, 30 ]\n");
  assert.deepEqual(leftovers(), []);
});
