/** One whose process is held up, and whose channel to its parent another process may hold open. */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { defineTesseract } from "@tesseract-ts/inprocess";
import { z } from "zod";

/** The channel's descriptor: `fork` gives its child the first after the standard streams. */
const CHANNEL = 3;

export default defineTesseract({
  name: "held-up",
  inputs: z.object({ sign: z.string().optional(), channelIsHeld: z.boolean().default(false) }),
  outputs: z.object({ pid: z.int(), holder: z.int().nullable() }),
  apply({ sign, channelIsHeld }) {
    if (sign !== undefined) {
      // That it is held up from here on.
      writeFileSync(`${sign}-${process.pid}`, "");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    }
    if (!channelIsHeld) return { pid: process.pid, holder: null };
    const holder = spawn("sleep", ["120"], { stdio: ["ignore", "ignore", "ignore", CHANNEL], detached: true });
    holder.unref();
    return { pid: process.pid, holder: holder.pid ?? null };
  },
});
