// Calls a container engine's command, for the small programs beside this file.

import { spawn } from "node:child_process";

/**
 * @param {readonly string[]} command the engine's words
 * @param {readonly string[]} args
 * @returns {Promise<{ status: number | null, output: string }>} no status if it can't be run, or was killed
 */
export const callEngine = (command, args) =>
  new Promise((resolve) => {
    const [program = "", ...first] = command;
    const child = spawn(program, [...first, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        output += text;
      });
    }
    child.once("error", ({ message }) => resolve({ status: null, output: message }));
    child.once("close", (status) => resolve({ status, output }));
  });
