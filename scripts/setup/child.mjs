// Runs programs, each in a process group of its own, so that Ctrl-C ends all of them and what they started.

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { parseArgs } from "node:util";
import { bytecode } from "./paths.mjs";

const PATIENCE_MS = 8_000;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Something that the user can put right: its message is all that is shown. */
export class SetupError extends Error {}

const interruption = new AbortController();

/** Aborted once the user asks us to stop. */
export const interrupted = interruption.signal;

/** @type {Set<import("node:child_process").ChildProcess>} */
const children = new Set();

for (const signal of SIGNALS) {
  process.on(signal, () => {
    const again = interrupted.aborted;
    interruption.abort(signal);
    for (const child of children) signalGroup(child, again ? "SIGKILL" : signal);
    setTimeout(killAll, PATIENCE_MS).unref();
  });
}
process.on("exit", killAll);

function killAll() {
  for (const child of children) signalGroup(child, "SIGKILL");
}

function signalGroup(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It has ended.
  }
}

/**
 * Runs a program to its end. What it prints is given back, or shown as it comes with `show`.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, show?: boolean }} [options]
 * @returns {Promise<{ status: number, output: string }>} the exit status, as a shell counts it
 */
export async function run(command, args, { cwd, env = childEnvironment(), show = false } = {}) {
  interrupted.throwIfAborted();
  const stdio = show ? ["ignore", "inherit", "inherit"] : ["ignore", "pipe", "pipe"];
  const child = spawn(command, args, { cwd, env, stdio, detached: true });
  children.add(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const status = await new Promise((resolve) => {
    child.once("error", (error) => {
      output += `${error.message}\n`;
      resolve(127);
    });
    child.once("close", (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
  });
  // The leader may be gone and what it started not.
  if (interrupted.aborted) signalGroup(child, "SIGKILL");
  children.delete(child);
  interrupted.throwIfAborted();
  return { status, output };
}

/** The same for programs that must succeed: if one doesn't, the end of what it printed is in the error. */
export async function mustRun(command, args, options) {
  const { status, output } = await run(command, args, options);
  if (status === 0) return output;
  const tail = output.trimEnd().split("\n").slice(-40).join("\n");
  throw new SetupError(`${tail}\n\n\`${[command, ...args].join(" ")}\` ended with status ${status}.`);
}

/**
 * This process's environment, less what would make Python or an inner npm behave unlike an outer one. Python keeps what it compiles:
 * uv leaves that to it, and half of a runtime's start, two thirds of JAX's, would be compiling.
 */
export function childEnvironment() {
  const dropped =
    /^(npm_config_(loglevel|local_prefix|prefix|workspace|workspaces)|npm_package_.*|PYTHON(HOME|PATH|DONTWRITEBYTECODE))$/;
  const kept = Object.fromEntries(Object.entries(process.env).filter(([name]) => !dropped.test(name)));
  return { ...kept, PYTHONPYCACHEPREFIX: bytecode };
}

/**
 * @typedef {object} Usage
 * @property {string} help what `--help` prints
 * @property {import("node:util").ParseArgsConfig["options"]} [options] besides `--help`
 * @property {boolean} [allowPositionals]
 */

/**
 * Runs a script's `work`, whose result is the exit status, and ends this process the way the user asked to.
 *
 * @param {(given: { values: Record<string, string | boolean | undefined>, positionals: string[] }) => number | Promise<number>} work
 * @param {Usage} [usage] if left out, `work` reads the command line itself
 */
export async function main(work, usage) {
  try {
    const given = usage === undefined ? { values: {}, positionals: [] } : commandLine(usage);
    if (given.values.help) console.log(usage.help);
    else process.exitCode = await work(given);
  } catch (error) {
    if (interrupted.aborted) {
      process.removeAllListeners(interrupted.reason);
      process.kill(process.pid, interrupted.reason);
      return;
    }
    if (!(error instanceof SetupError)) throw error;
    console.error(`\n${error.message}`);
    process.exitCode = 1;
  }
}

/** @param {Usage} usage */
function commandLine({ options = {}, allowPositionals = false }) {
  try {
    return parseArgs({ options: { ...options, help: { type: "boolean", short: "h" } }, allowPositionals });
  } catch (error) {
    if (!error.code?.startsWith("ERR_PARSE_ARGS_")) throw error;
    throw new SetupError(`${error.message.split(". ")[0]}. --help says what there is.`);
  }
}
