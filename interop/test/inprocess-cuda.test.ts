import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { describeOnSimulator, onSimulatedMachine } from "../src/simulated.js";

const program = fileURLToPath(new URL("../src/inprocess-gpu.ts", import.meta.url));

describeOnSimulator("a Tesseract in this process, with GPU arrays on the simulator", () => {
  test("gets the caller's own buffers: no copy, no IPC, no wait for the device, however many calls", () =>
    onSimulatedMachine({}, async ({ cuda }) => {
      const run = async (calls: number) => {
        const before = new Set(cuda.trace.pids);
        const { exitCode, stdout, stderr } = await cuda.run(
          process.execPath,
          ["--import", "tsx", "--conditions=source", program, String(calls)],
          { env: { TESSERACT_FORBID_DEVICE_HOST_COPY: "1" } },
        );
        expect([stderr, exitCode]).toEqual(["", 0]);
        const driverCalls: Record<string, number> = {};
        for (const { function: name, pid } of cuda.trace.calls) {
          if (!before.has(pid)) driverCalls[name] = (driverCalls[name] ?? 0) + 1;
        }
        return { seen: JSON.parse(stdout), driverCalls };
      };
      const [none, ten] = [await run(0), await run(10)];
      expect(ten.seen).toEqual({ same: 10, readOnly: 10, usableLater: 0, values: [1, 2, 3] });
      // The driver has been called for the upload and the download alone.
      expect(none.driverCalls).not.toEqual({});
      expect(ten.driverCalls).toEqual(none.driverCalls);
    }));
});
