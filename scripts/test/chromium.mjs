// Finds a browser for the tests that need one.

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const MACOS = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";

export const CHROMIUM_MISSING = "Chromium wasn't found: install it, or name it by CHROMIUM=/path/to/chromium";

/** Its path, or undefined. */
export function findChromium() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const folders = (process.env.PATH ?? "").split(delimiter);
  const paths = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [...paths, MACOS].find(isExecutable);
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
