// Removes what a container engine made for one start or one build, whether that ended well or was killed in the middle. Plain
// JavaScript, so that it starts fast everywhere. Its argument is JSON: an `EngineRemains`. Ends with 1 if something is left.

import { setTimeout as sleep } from "node:timers/promises";
import { callEngine } from "./call-engine.mjs";

/** Milliseconds after which a daemon has made what a client asked it for just before it was killed. */
const LATE_MS = 1_000;

/** @type {import("./engine-remains.js").EngineRemains} */
const { kind, command, label, workingContainer, tag, network } = JSON.parse(process.argv[2] ?? "{}");

/** @param {readonly string[]} args */
const engine = (...args) => callEngine(command, args);

/**
 * @param {{ status: number | null, output: string }} answer
 * @param {RegExp} [harmless] words of an engine that has nothing to remove
 */
function mustSucceed({ status, output }, harmless = /no such|not found|not known|no container/i) {
  if (status === 0 || harmless.test(output)) return;
  process.exitCode = 1;
  console.error(output.trim());
}

// Podman's asks orderly first, and waits.
const remove = ["rm", "--force", "--volumes", ...(kind === "podman" ? ["--time", "0"] : [])];

/** @param {string} wanted */
async function removeLabelled(wanted) {
  const listed = await engine("ps", "--all", "--quiet", "--no-trunc", "--filter", `label=${wanted}`);
  mustSucceed(listed);
  const ids = listed.output.split(/\s+/).filter((word) => /^[0-9a-f]{12,}$/.test(word));
  if (ids.length > 0) mustSucceed(await engine(...remove, ...ids));
  return ids.length;
}

if (label !== undefined) {
  const found = await removeLabelled(label);
  if (found === 0 && kind === "docker") {
    await sleep(LATE_MS);
    await removeLabelled(label);
  }
}
if (workingContainer !== undefined) mustSucceed(await engine("rm", "--force", workingContainer));
if (tag !== undefined) mustSucceed(await engine("untag", tag, tag));
// Whoever uses it last removes it.
if (network !== undefined) {
  mustSucceed(await engine("network", "rm", network), /no such|not found|active endpoints|is being used|in use/i);
}
