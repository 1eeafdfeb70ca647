// A server that answers /health, with the faults that a test asks for: server.mjs PORT [FAULT…]
import { spawn } from "node:child_process";
import { createServer } from "node:http";

const [port, ...faults] = process.argv.slice(2);
/** @param {string} fault */
const has = (fault) => faults.includes(fault);

if (has("die")) {
  console.error("first\nlast words");
  process.exit(3);
}
if (has("be killed")) process.kill(process.pid, "SIGKILL");
if (has("ignore SIGTERM")) process.on("SIGTERM", () => console.log("SIGTERM is ignored"));
if (has("child")) spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" });
if (has("silent")) setInterval(() => {}, 1_000);
else {
  const server = createServer((_, response) => response.end("{}"));
  server.listen(Number(port), "127.0.0.1", () => console.log(`listening on ${port}`));
}
