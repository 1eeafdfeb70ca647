/** Tells which process it runs in, and does what ends one. */
import { setTimeout as sleep } from "node:timers/promises";
import { array, defineTesseract } from "@tesseract-ts/inprocess";
import { z } from "zod";

export default defineTesseract({
  name: "pids",
  gpuArrays: true,
  inputs: z.object({
    x: array("float64", [null]).prefault([]),
    milliseconds: z.number().default(0),
    die: z.boolean().default(false),
  }),
  outputs: z.object({ pid: z.int(), y: array("float64", [null]) }),
  async apply({ x, milliseconds, die }) {
    if (die) process.kill(process.pid, "SIGKILL");
    await sleep(milliseconds);
    return { pid: process.pid, y: x };
  },
});
