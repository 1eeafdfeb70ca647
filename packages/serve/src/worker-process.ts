/** One of several processes that answer for one address. Connections, and the others' words, come from its parent. */
import type { Socket } from "node:net";
import { TesseractError } from "@tesseract-ts/core";
import { loadTesseract } from "@tesseract-ts/inprocess";
import type { Siblings } from "./exchange/exchange.js";
import { createLogger } from "./operators/logger.js";
import type { CollectMetrics } from "./operators/observer.js";
import type { FromWorker, Notice, Question, ToWorker } from "./processes/messages.js";
import { Server } from "./server.js";
import { transportsOf } from "./transports.js";

const say = (message: FromWorker): void => {
  if (process.connected) process.send?.(message);
};

/** What this process has asked the others, by its own numbers. */
const asked = new Map<number, (answers: readonly unknown[]) => void>();
let questions = 0;

function ask(question: Question): Promise<readonly unknown[]> {
  questions += 1;
  const number = questions;
  return new Promise((resolve) => {
    asked.set(number, resolve);
    say({ kind: "ask", number, question });
  });
}

const siblings: Siblings = {
  acknowledge: (ids) => say({ kind: "notice", notice: { kind: "acknowledge", ids } }),
  dropUnacknowledged: async () => void (await ask({ kind: "dropUnacknowledged" })),
  givenUp: async (ids) => {
    const answers = (await ask({ kind: "givenUp", ids })) as readonly (readonly string[])[];
    return ids.filter((id) => answers.every((ended) => ended.includes(id)));
  },
  overheard: (peer, headers) => say({ kind: "notice", notice: { kind: "overheard", peer, headers } }),
};

const collectMetrics: CollectMetrics = async ({ registry }) => {
  const { AggregatorRegistry } = await import("prom-client");
  const others = await ask({ kind: "metrics" });
  const all = [await registry.getMetricsAsJSON(), ...others];
  const aggregated = AggregatorRegistry.aggregate(all as object[]);
  return { contentType: aggregated.contentType, text: await aggregated.metrics() };
};

let server: Server | undefined;

async function start(message: Extract<ToWorker, { kind: "start" }>): Promise<void> {
  const { path, transports, settings, operators, prefix } = message;
  server = await Server.create({
    definition: await loadTesseract(path),
    path,
    settings,
    transports: await transportsOf(transports),
    operators,
    ...(await createLogger(operators.log)),
    worker: { prefix, siblings, collectMetrics },
  });
  const { fastify } = server.app;
  await fastify.ready();
  // The connections come from the parent; this begins the server's watch over those that say nothing.
  fastify.server.emit("listening");
  say({ kind: "ready" });
}

async function answerOf(question: Question): Promise<unknown> {
  const { exchanges, app } = server as Server;
  switch (question.kind) {
    case "dropUnacknowledged":
      return exchanges.exports.dropUnacknowledged();
    case "givenUp":
      await exchanges.giveUp(question.ids);
      return exchanges.calls.ended(question.ids);
    case "metrics":
      return app.metrics?.registry.getMetricsAsJSON() ?? [];
  }
}

function heed(notice: Notice): void {
  const { exchanges } = server as Server;
  if (notice.kind === "acknowledge") void exchanges.exports.release(notice.ids);
  else void exchanges.peers.overhear(notice.peer, (name) => notice.headers[name]);
}

let ending: Promise<void> | undefined;

function end(): void {
  ending ??= (async () => {
    await server?.close();
    process.exit(0);
  })();
}

process.on("message", (message: ToWorker, socket: Socket | undefined) => {
  switch (message.kind) {
    case "start":
      start(message).catch((error) => {
        const own = error instanceof TesseractError ? error : undefined;
        say({ kind: "failed", code: own?.code, message: own?.message ?? String(error), hint: own?.hint });
        process.exitCode = 1;
        process.disconnect();
      });
      break;
    case "connection":
      say({ kind: "taken", number: message.number });
      // A connection that was closed on its way doesn't arrive.
      if (socket === undefined || socket === null) break;
      if (ending !== undefined) socket.destroy();
      else {
        server?.app.fastify.server.emit("connection", socket);
        socket.resume();
      }
      break;
    case "question":
      void answerOf(message.question).then((answer) => say({ kind: "answer", number: message.number, answer }));
      break;
    case "answers":
      asked.get(message.number)?.(message.answers);
      asked.delete(message.number);
      break;
    case "notice":
      heed(message.notice);
      break;
    case "close":
      end();
      break;
  }
});
process.on("disconnect", end);
// From a terminal these reach the whole group; it is the parent's to say when its processes end.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => {});
