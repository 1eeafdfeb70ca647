/** Structured logs, if they are asked for. */
import type { FastifyBaseLogger } from "fastify";
import type { OperatorSettings } from "./observer.js";

export const isLogger = (log: object): log is FastifyBaseLogger => "info" in log && typeof log.info === "function";

export async function createLogger(
  log: OperatorSettings["log"] | FastifyBaseLogger,
): Promise<{ readonly logger: FastifyBaseLogger | undefined }> {
  if (log === undefined || log === false) return { logger: undefined };
  if (typeof log === "object" && isLogger(log)) return { logger: log };
  const { pino } = await import("pino");
  return { logger: pino({ name: "tesseract", level: log === true ? "info" : log.level }) };
}
