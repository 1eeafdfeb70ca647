// A line that shows how far a sweep is: over and over in a terminal, at tenths elsewhere.

import type { Progress } from "./sweep.js";

const WIDTH = 30;

export function showProgress(name: string, { done, of, busy, lost }: Progress): void {
  const full = Math.round((done / of) * WIDTH);
  const again = busy + lost === 0 ? "" : `, ${busy} busy, ${lost} lost and made again`;
  const line = `  ${name.padEnd(11)}  ${"█".repeat(full)}${"░".repeat(WIDTH - full)} ${done}/${of}${again}`;
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${line}${done === of ? "\n" : ""}`);
  else if (done === of || done % Math.ceil(of / 10) === 0) console.log(line);
}

/** Before anything else is printed while a line is being shown. */
export function endLine(): void {
  if (process.stdout.isTTY) process.stdout.write("\n");
}
