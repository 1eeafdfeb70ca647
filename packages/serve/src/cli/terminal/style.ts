/** Colours, where a person looks on. */
import { styleText } from "node:util";
import type { Output, Terminal } from "./terminal.js";

type Look = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

export type Style = (look: Look, text: string) => string;

/** By https://no-color.org and https://force-color.org; without either, only on a terminal. */
export function styleFor(output: Output, { env }: Pick<Terminal, "env">): Style {
  const set = (name: string): boolean => (env[name] ?? "") !== "";
  const coloured = !set("NO_COLOR") && (set("FORCE_COLOR") || (output.isTerminal && env.TERM !== "dumb"));
  // Whether this is a terminal has been found out already.
  return coloured ? (look, text) => styleText(look, text, { validateStream: false }) : (_, text) => text;
}

/** Text from elsewhere, without the control characters that could move the cursor or change colours. */
export const printable = (text: string): string =>
  text.replaceAll(/[^\P{Cc}\t\n]/gu, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`);

/** The same in one line. */
export const oneLine = (text: string): string => printable(text.trim().replaceAll(/\s*[\r\n]+\s*/g, " "));
