// Multiplies by a factor; and does to its process what a test needs.
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { array, defineTesseract } from "@tesseract-ts/inprocess";
import { z } from "zod";

export default defineTesseract({
  name: "scale",
  inputs: z.object({
    x: array("float64", [null]),
    factor: z.number().default(2),
    afterwards: z.enum(["answer", "exit", "be killed", "wait for a file", "block"]).default("answer"),
    file: z.string().default(""),
  }),
  outputs: z.object({ y: array("float64", [null]) }),
  apply: async ({ x, factor, afterwards, file }, context) => {
    context.log(`scaling by ${factor}`);
    console.log(`afterwards: ${afterwards}`);
    if (afterwards === "exit") process.exit(7);
    if (afterwards === "be killed") process.kill(process.pid, "SIGKILL");
    while (afterwards === "wait for a file" && !existsSync(file)) await sleep(10);
    while (afterwards === "block");
    return { y: x.data.map((value) => value * factor) };
  },
});
