/** The example of two Tesseracts on one GPU. */
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { unmixed } from "../../examples/gpu-pipeline/mixing.js";
import { puff } from "../../examples/gpu-pipeline/puff.js";
import { shiftsOf } from "../../examples/gpu-pipeline/winds.js";
import { describeOnSimulator } from "../src/simulated.js";
import { answers, LOADED, runExample } from "./example/program.js";

const CELLS = 32;
const ROUNDS = 3;
/** From one sensor to the next. */
const EVERY = 4;
/** Bytes of the whole field, and of what its sensors read. */
const FIELD = 4 * CELLS ** 2;
const READINGS = 4 * (CELLS / EVERY) ** 2;

/** One step of the winds, cell by cell. */
function stirred(field: Float32Array, step: number): Float32Array {
  const along = shiftsOf(step, "rows", CELLS, CELLS, 0.3);
  const across = shiftsOf(step, "columns", CELLS, CELLS, 0.3);
  const result = new Float32Array(field.length);
  field.forEach((value, i) => {
    const [row, column] = [Math.floor(i / CELLS), i % CELLS];
    const toColumn = (column + (along[row] ?? 0)) % CELLS;
    const toRow = (row + (across[toColumn] ?? 0)) % CELLS;
    result[toRow * CELLS + toColumn] = value;
  });
  return result;
}

/** How far from mixed the sensors find it after each round. */
function expected(): string[] {
  let field: Float32Array = puff(CELLS);
  return Array.from({ length: ROUNDS }, (_, round) => {
    field = stirred(field, round);
    const readings = field.filter((_, i) => Math.floor(i / CELLS) % EVERY === 0 && (i % CELLS) % EVERY === 0);
    return unmixed(readings, CELLS / EVERY).toFixed(3);
  });
}

const numbersAfter = (output: string, label: string): number[] =>
  new RegExp(`^ *${label} +([\\d, ]+)$`, "m")
    .exec(output)?.[1]
    ?.trim()
    .split(/ +/)
    .map((text) => Number(text.replaceAll(",", ""))) ?? [];

describeOnSimulator("the example gpu-pipeline", () => {
  test(
    "keeps its arrays on the simulated GPU, gets what the host gets, says that it is simulated, and leaves nothing",
    async () => {
      const file = join(tmpdir(), `gpu-pipeline-${process.pid}.svg`);
      const args = ["--cells", `${CELLS}`, "--rounds", `${ROUNDS}`, "--picture", file];
      const noGpu = { TESSERACT_CUDA_DRIVER: "/nowhere/libcuda.so.1" };
      const { status, output, isThere } = await runExample("gpu-pipeline/main.ts", args, noGpu);
      expect({ status, output }).toEqual({ status: 0, output: expect.stringContaining("the same, to the last bit") });
      expect(output).toContain("Simulated, since there is no GPU to use");
      expect(output).toContain("on a simulated GPU");

      const found = [...output.matchAll(/round \d +█+ (\d\.\d+)/g)].map(([, value]) => value);
      expect(found).toEqual(expected());

      const passed = ROUNDS * (3 * FIELD + READINGS);
      expect(numbersAfter(output, "arrays")).toEqual([passed, passed]);
      // On the GPU nothing is copied to the host or from it. Through the host, each server has its input copied to the GPU.
      expect(numbersAfter(output, "GPU to host")).toEqual([0, ROUNDS * (FIELD + READINGS)]);
      expect(numbersAfter(output, "host to GPU")).toEqual([0, ROUNDS * 2 * FIELD]);
      // The messages say where the arrays are; as base64 they have the arrays in them.
      const [bySockets = 0, throughHost = 0] = numbersAfter(output, "sockets");
      expect(throughHost - bySockets).toBeGreaterThan(passed);

      expect(output).toContain("holds 0 allocations, 0 mappings, 0 pending operations");
      expect(output).toContain("3 have used it");
      expect(output).toContain("0 allocations, 0 leaks, 0 hazards");
      await expect.poll(isThere, { timeout: LOADED / 2 }).toBe(false);
      const servers = [...output.matchAll(/http:\/\/127\.0\.0\.1:\d+/g)].map(([url]) => url);
      expect(servers).toHaveLength(2);
      expect(await Promise.all(servers.map(answers))).toEqual([false, false]);

      const picture = await readFile(file, "utf8");
      await rm(file);
      expect(picture).toContain("on a simulated GPU");
      expect(picture.match(/<image /g)).toHaveLength(2 + ROUNDS);
    },
    LOADED,
  );
});
