/**
 * Answers each call at once with bytes that the reference runtime once answered, so that only the client's time counts.
 * Run with the folder of the recordings as its argument; prints its port.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const [folder = "."] = process.argv.slice(2);
const openapi = readFileSync(join(folder, "openapi.json"));
const answers = new Map<string, Buffer>();

const server = createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://localhost");
  if (url.pathname === "/openapi.json") {
    response.writeHead(200, { "content-type": "application/json", "content-length": openapi.length }).end(openapi);
    return;
  }
  // The size is in the run id, which both clients can set: the request itself isn't looked at.
  const size = url.searchParams.get("run_id") ?? "";
  const answer = answers.get(size) ?? readFileSync(join(folder, `${size}.json`));
  answers.set(size, answer);
  request.resume();
  request.once("end", () => {
    response.writeHead(200, { "content-type": "application/json+base64", "content-length": answer.length }).end(answer);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(typeof address === "object" ? address?.port : address);
});
process.stdin.resume().once("end", () => process.exit());
