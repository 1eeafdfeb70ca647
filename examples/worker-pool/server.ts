// Serves the pendulum with as many processes as it is told, until whoever started it is gone.

import { once } from "node:events";
import { serve } from "@tesseract-ts/serve";

/** What it is told, in its environment. */
const { WORKERS = "1", OUTPUT_PATH = "." } = process.env;

// Ctrl-C in a terminal reaches this process too; it is the parent that decides.
process.on("SIGINT", () => {});
const parentGone = once(process, "disconnect");

const served = await serve(new URL("pendulum.ts", import.meta.url), {
  port: 0,
  workers: Number(WORKERS),
  // Of each process: one that is computed, and one that comes meanwhile. Who asks for more is told to come again.
  maxConcurrentCalls: 2,
  outputPath: OUTPUT_PATH,
  shutdownLimit: 1_000,
});
if (process.connected) process.send?.(served.url);
await parentGone;
await served.close();
process.exit();
