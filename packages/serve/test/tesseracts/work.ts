/** Does what it is asked to: answers, throws, waits, computes for long, never ends, writes. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { array, defineTesseract, differentiable, type TesseractDefinition } from "@tesseract-ts/inprocess";
import { z } from "zod";

export const work = (runIn: "event loop" | "worker"): TesseractDefinition =>
  defineTesseract({
    name: "work",
    version: "1.2.3",
    description: "Does <what> it is asked to.",
    runIn,
    inputs: z.object({
      action: z
        .enum(["return", "throw", "wait", "compute", "never", "forever", "log", "print", "write", "exit", "wrong"])
        .default("return"),
      milliseconds: z.number().default(0),
      x: differentiable(array("float64", [null])).prefault([]),
      note: z.record(z.string(), z.any()).optional(),
    }),
    outputs: z.object({ y: differentiable(array("float64", [null])), ended: z.string() }),
    async apply({ action, milliseconds, x }, context) {
      let ended = "by itself";
      switch (action) {
        case "throw":
          throw new RangeError("asked to fail");
        case "wait":
          await sleep(milliseconds, undefined, { signal: context.signal }).catch(() => {
            ended = "by its signal";
          });
          break;
        case "compute":
          for (const end = performance.now() + milliseconds; performance.now() < end; );
          break;
        case "never":
          await new Promise(() => {});
          break;
        case "forever":
          for (;;);
        case "log":
          context.log("one line");
          context.log("another");
          break;
        case "print":
          process.stdout.write(`${context.runId} prints\n`);
          await sleep(milliseconds);
          process.stderr.write(new TextEncoder().encode(`${context.runId} prints again\n`));
          break;
        case "write":
          await writeFile(join(await context.outputDirectory(), "result.txt"), context.runId);
          break;
        case "exit":
          process.exit(3);
          break;
        case "wrong":
          return { y: "nothing" as never, ended };
      }
      return { y: x, ended };
    },
  });

export default work("event loop");
