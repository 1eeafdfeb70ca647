// The commands that pages name, in blocks for a shell and in spans of code.

import { readPage } from "./pages.js";

export interface NamedCommand {
  /** `docs/call.md:12`. */
  readonly place: string;
  readonly words: readonly string[];
}

const BLOCK = /^```(?:sh|bash|shell)\n(.*?)^```$/gms;
const SPAN = /`([^`\n]+)`/g;
const PROGRAMS = ["npm", "npx", "tesseract-ts", "cuda-simulator"];

/** Those of npm, and of this project's programs. */
export async function commandsOf(page: string): Promise<readonly NamedCommand[]> {
  const text = await readPage(page);
  const blocks = [...text.matchAll(BLOCK)].flatMap(({ 1: block = "", index }) =>
    block
      .replaceAll("\\\n", " ")
      .split("\n")
      .map((line) => ({ line, index })),
  );
  const prose = text.replace(/^```.*?^```$/gms, (block) => block.replace(/[^\n]/g, " "));
  const spans = [...prose.matchAll(SPAN)].map(({ 1: line = "", index }) => ({ line, index }));
  return [...blocks, ...spans].flatMap(({ line, index }) => {
    const place = `${page}:${text.slice(0, index).split("\n").length}`;
    return line
      .split(/&&|\|/)
      .map((part) => ({ place, words: wordsOf(part) }))
      .filter(({ words }) => PROGRAMS.includes(words[0] ?? "") && words.length > 1);
  });
}

/** As a shell would split it: without its comment, and without the variables in front. `npx` goes as well. */
function wordsOf(line: string): readonly string[] {
  const words = [...line.replace(/(^|\s)#.*$/, "").matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) =>
    word.replaceAll(/^["']|["']$/g, ""),
  );
  while (/^[A-Z_]+=/.test(words[0] ?? "")) words.shift();
  if (words[0] === "npx" && PROGRAMS.includes(words[1] ?? "")) words.shift();
  return words;
}

/** The names of options: `--tag NAME` and `--ipc=host` have `tag` and `ipc`. What follows `--` alone is another program's. */
export const optionsOf = (words: readonly string[]): readonly string[] => {
  const end = words.indexOf("--");
  return words.slice(0, end === -1 ? undefined : end).flatMap((word) => /^--([a-z][\w-]*)/.exec(word)?.[1] ?? []);
};
