/** Gives back what it gets, wherever that lives. */
import { setTimeout as sleep } from "node:timers/promises";
import { array, defineTesseract } from "@tesseract-ts/inprocess";
import { z } from "zod";

export default defineTesseract({
  name: "gpu",
  gpuArrays: true,
  inputs: z.object({
    x: array("float64", [null]),
    action: z.enum(["return", "throw", "wait", "host"]).default("return"),
    milliseconds: z.number().default(0),
  }),
  outputs: z.object({ y: array("float64", [null]), z: array("float64", [null]) }),
  async apply({ x, action, milliseconds }, { signal }) {
    if (action === "throw") throw new RangeError("asked to fail");
    if (action === "wait") await sleep(milliseconds, undefined, { signal }).catch(() => {});
    if (action === "host") return { y: [1], z: [2] };
    return { y: x, z: [3] };
  },
});
