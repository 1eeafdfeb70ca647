// What the status program makes of a control segment that isn't, or isn't yet, one.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readStatus } from "../../src/machine/status.js";
import { libraryFolder } from "../../src/native/libraries.js";
import { describeWithLibraries, simulatorError, temporaryFolder } from "../support.js";

const machine = `segment-${process.pid}`;
const folder = temporaryFolder(); // where no start of a simulated machine takes the segment for a dead one's
const segment = join(folder, `cuda-simulator.${process.geteuid?.()}.${machine}`);

beforeEach(() => vi.stubEnv("CUDA_SIMULATOR_SHM", folder));
afterEach(() => vi.unstubAllEnvs());

describeWithLibraries("the state of a machine", () => {
  const status = () => readStatus(libraryFolder(), { machine, host: undefined });

  test("is that of none while its first process is making it", async () => {
    writeFileSync(segment, "");
    expect(await status()).toMatchObject({ running: false, devices: [], processes: [] });
  });

  test.each([
    ["was cut off in its first page", 100],
    ["was cut off behind its first page", 65_536],
  ])("can't be read from a segment that %s", async (_, size) => {
    writeFileSync(segment, Buffer.alloc(size));
    await expect(status()).rejects.toEqual(simulatorError("STATUS_FAILED", segment, "another version"));
  });

  test("can't be read from a segment of another version", async () => {
    writeFileSync(segment, Buffer.alloc(32 * 2 ** 20, 1));
    await expect(status()).rejects.toEqual(simulatorError("STATUS_FAILED", segment, "another version"));
  });
});
