// Makes a network and runs a container in it, as one process: whoever is killed in between leaves nothing that isn't known to the
// guard of this process. Its argument is JSON: the engine's command, the network's name, and the arguments of `run`.

import { spawn } from "node:child_process";

/** @type {{ command: readonly string[], network: string, label: string, run: readonly string[] }} */
const { command, network, label, run } = JSON.parse(process.argv[2] ?? "{}");
const [program = "", ...first] = command;

/**
 * @param {readonly string[]} args
 * @param {"ignore" | "inherit"} output
 * @returns {Promise<number>} the status, as a shell counts it
 */
const engine = (args, output) =>
  new Promise((resolve) => {
    const child = spawn(program, [...first, ...args], { stdio: ["ignore", output, output] });
    child.once("error", ({ message }) => {
      console.error(message);
      resolve(127);
    });
    child.once("close", (status, signal) => resolve(status ?? (signal === "SIGKILL" ? 137 : 143)));
  });

let stopped = false;
// The engine's client is in the same process group, and passes it on to the container.
for (const signal of /** @type {const} */ (["SIGTERM", "SIGINT", "SIGHUP"])) {
  process.on(signal, () => {
    stopped = true;
  });
}

// If it can't be made, another start has made it meanwhile, or `run` says what is wrong with it.
if ((await engine(["network", "inspect", network], "ignore")) !== 0) {
  await engine(["network", "create", "--label", label, network], "ignore");
}
process.exitCode = stopped ? 143 : await engine(run, "inherit");
