/** What to say of a start that failed. */
import { TesseractError } from "@tesseract-ts/core";
import type { ServerLaunch, ServerReport } from "./launch.js";
import type { PortChoice } from "./ports.js";
import type { ProcessEnd } from "./started.js";

/** How servers and container engines say that a port is taken. */
const portTakenMarkers = [
  "address already in use",
  "eaddrinuse",
  "port is already allocated",
  "proxy already running",
  "only one usage of each socket address",
];

/** Long lines are broken in a frame by some programs. */
export function saysPortTaken(log: readonly string[]): boolean {
  const text = log
    .join(" ")
    .replaceAll(/[\s│|]+/g, " ")
    .toLowerCase();
  return portTakenMarkers.some((marker) => text.includes(marker));
}

/** How a process ended, as the end of a sentence. */
export function howItEnded(end: ProcessEnd): string {
  switch (end.kind) {
    case "exited":
      return `ended with exit code ${end.code}`;
    case "killed":
      return `was killed by ${end.signal}`;
    case "lost":
      return "was ended, with what watched over it";
  }
}

export function endedAtStart(
  { what, explain }: ServerLaunch,
  end: ProcessEnd,
  log: readonly string[],
  report: ServerReport | undefined,
): TesseractError {
  if (report?.kind === "failed") {
    return new TesseractError(report.code, report.message, {
      hint: report.hint,
      log: report.code === "LOAD_FAILED" ? log : undefined,
    });
  }
  const explained = explain?.({ end, log });
  const printed = log.length === 0 ? "It printed nothing." : "The error's `log` has what it printed last.";
  return new TesseractError(
    explained?.code ?? "START_FAILED",
    explained?.message ?? `${what} ${howItEnded(end)} before it answered`,
    { hint: explained?.hint ?? printed, log },
  );
}

export function late({ what, explain }: ServerLaunch, timeout: number, log: readonly string[]): TesseractError {
  const explained = explain?.({ end: undefined, log });
  return new TesseractError(
    explained?.code ?? "START_TIMED_OUT",
    explained?.message ?? `${what} didn't answer within ${timeout} ms`,
    { hint: explained?.hint ?? "If it has much to load, give it more time: { startTimeout: 120_000 }.", log },
  );
}

export const aborted = (what: string, signal: AbortSignal): TesseractError =>
  new TesseractError("ABORTED", `${what}: its start was aborted`, { cause: signal.reason });

export function portTaken(what: string, choice: PortChoice, log?: readonly string[]): TesseractError {
  const ports = {
    any: () => "each free port that was tried was taken by another program meanwhile",
    one: ({ port }: { port: number }) => `port ${port} is taken`,
    range: ({ from, to }: { from: number; to: number }) => `all ports from ${from} to ${to} are taken`,
  };
  const reason =
    choice.kind === "one" ? ports.one(choice) : choice.kind === "range" ? ports.range(choice) : ports.any();
  return new TesseractError("PORT_TAKEN", `${what} can't be started: ${reason}`, {
    hint: 'Give another port, a range such as "8000-8100", or none, for any free one.',
    log,
  });
}
