/** Runs the body of one test, or one role, of a test file; then the process has to end by itself. */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { bodies } from "./on-simulator.js";
import { isSanitized } from "./sanitizers.js";

const [, , file = "", name = ""] = process.argv;
await import(pathToFileURL(file).href);
const body = bodies.get(name);
if (body === undefined) throw new Error(`${file} has no test and no role ${name}`);
await body();
if (process.connected) process.disconnect();

// That it was the addon that was asked for, if any.
const wanted = isSanitized ? "build-sanitized" : process.env.TESSERACT_TEST_ADDON;
if (wanted !== undefined) {
  const [addon] = readFileSync("/proc/self/maps", "utf8").match(/\S+cuda[_-]ipc\S*\.node/) ?? [];
  if (addon !== undefined && !addon.includes(wanted)) throw new Error(`${addon} was used`);
}
