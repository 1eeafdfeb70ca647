/** The Chromium of this machine, for tests of pages. */
import { existsSync } from "node:fs";

/** Undefined where there is none. */
export const chromiumPath = [
  process.env.TESSERACT_CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
].find((path) => path !== undefined && existsSync(path));

export const missingChromium = "No Chromium: install one, or say where it is in TESSERACT_CHROMIUM.";

/** Headless, and with nothing that it does by itself. */
export const chromiumArguments = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
