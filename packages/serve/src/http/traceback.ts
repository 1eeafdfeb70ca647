/** What a failed call is answered with in debug mode. */
import { TesseractError } from "@tesseract-ts/core";

/** An error with all of its causes, as a log shows it. */
export function traceback(error: unknown): string {
  const lines: string[] = [];
  for (let at: unknown = error; at !== undefined; at = at instanceof Error ? at.cause : undefined) {
    const text = at instanceof Error ? (at.stack ?? String(at)) : String(at);
    const hint = at instanceof TesseractError && at.hint !== undefined ? `\nHint: ${at.hint}` : "";
    lines.push(text + hint);
  }
  return `${lines.join("\n\nCaused by: ")}\n`;
}
