/** Serves the Tesseract, with the transport among those that clients may ask for, until its parent is gone. */
import { serve } from "@tesseract-ts/serve";
import { host } from "@tesseract-ts/transport-host";
import { sharedMemory } from "./shared-memory.js";
import tesseract from "./tesseract.js";

const served = await serve(tesseract, { port: 0, transports: [sharedMemory(), host()] });
process.on("disconnect", () => void served.close());
process.send?.(served.url);
