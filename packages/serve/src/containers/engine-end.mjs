// Ends a container of podman's through podman. Its `run` must not be sent signals: ended while it sets the network up, it leaves
// rules behind that take connections to the port away from whoever listens there next. What is asked of the container
// meanwhile waits until it runs. Arguments: JSON, an `EngineEnd`, and milliseconds, after which the container is killed. Goes on until
// its standard input ends.

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { callEngine } from "./call-engine.mjs";

/** Milliseconds before the engine is asked again. */
const AGAIN_MS = 50;

/** @type {import("./engine-end.js").EngineEnd} */
const { command, container } = JSON.parse(process.argv[2] ?? "{}");
const until = performance.now() + Number(process.argv[3]);

let ended = false;
const end = once(process.stdin.resume(), "end").then(() => {
  ended = true;
});

let asked = false;
while (!ended) {
  if (performance.now() >= until) await callEngine(command, ["kill", "--signal", "KILL", container]);
  else if (!asked) asked = (await callEngine(command, ["kill", "--signal", "TERM", container])).status === 0;
  await Promise.race([end, sleep(AGAIN_MS)]);
}
process.exit();
