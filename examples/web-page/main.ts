// Serves the Tesseract, for this page alone, and the page itself, by Vite.

import { mkdtemp, rm } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { TesseractError } from "@tesseract-ts/core";
import { serve } from "@tesseract-ts/serve";
import { createServer, defaultClientConditions, type ViteDevServer } from "vite";
import { bold, printRows } from "../heat/print.js";

const HELP = `npm start -w examples/web-page [-- --port N]

  --port N  where the page is: 5173, or the next port that is free`;

const ADDRESS = "127.0.0.1";

try {
  const { values } = parseArgs({
    options: { port: { type: "string", default: "5173" }, help: { type: "boolean", short: "h", default: false } },
  });
  if (values.help) console.log(HELP);
  else await run(Number(values.port));
} catch (error) {
  console.error(error instanceof TesseractError ? `${error.message}\n${error.hint ?? ""}` : error);
  process.exitCode = 1;
}

/** Until this process is asked to end. */
async function run(port: number): Promise<void> {
  let tesseract = "";
  const vite = await servePage(port, () => tesseract);
  // Vite's own would end this process before it has cleared up.
  process.removeAllListeners("SIGTERM");
  const ended = new Promise<NodeJS.Signals>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve(signal));
  });
  const outputPath = await mkdtemp(join(tmpdir(), "web-page-"));
  try {
    const origin = originOf(vite);
    // Browsers let no other page read an answer, and the server refuses their calls.
    await using served = await serve(new URL("gray-scott.ts", import.meta.url), {
      port: 0,
      cors: [origin],
      outputPath,
    });
    tesseract = served.url;
    console.log(bold("\nA web page that calls a Tesseract\n"));
    printRows([
      ["page", origin],
      ["Tesseract", `${served.url}, for pages of ${origin} only`],
      ["", "Ctrl-C ends both."],
    ]);
    process.exitCode = 128 + constants.signals[await ended];
  } finally {
    await vite.close();
    await rm(outputPath, { recursive: true, force: true });
  }
}

/** @param tesseract the URL that the page is told, in its head */
async function servePage(port: number, tesseract: () => string): Promise<ViteDevServer> {
  const vite = await createServer({
    root: fileURLToPath(new URL("page", import.meta.url)),
    configFile: false,
    logLevel: "warn",
    server: { host: ADDRESS, port },
    // The packages' sources, so that they need not be built; yours will be installed from npm, and this line can go.
    resolve: { conditions: ["source", ...defaultClientConditions] },
    optimizeDeps: { noDiscovery: true },
    plugins: [
      {
        name: "where-the-tesseract-is",
        transformIndexHtml: () => [{ tag: "meta", attrs: { name: "tesseract", content: tesseract() } }],
      },
    ],
  });
  try {
    return await vite.listen();
  } catch (error) {
    await vite.close();
    throw error;
  }
}

function originOf({ httpServer }: ViteDevServer): string {
  const address = httpServer?.address();
  if (address === null || typeof address !== "object") throw new Error("The page has no port.");
  return `http://${ADDRESS}:${address.port}`;
}
