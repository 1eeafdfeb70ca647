// The pages of the documentation: every markdown file that is written by hand, and the programs in it.

import { readdir, readFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { repositoryRoot } from "../python.js";

/** Folders that hold nothing that anybody wrote, or pages for nobody. */
const skipped = new Set(["node_modules", "dist", "build", "api", "fixtures", "golden", "test", "tests", "results"]);

/** @returns paths from the repository's root, with slashes */
export async function allPages(): Promise<string[]> {
  const pages: string[] = [];
  const visit = async (folder: string, depth: number): Promise<void> => {
    for (const entry of await readdir(join(repositoryRoot, folder), { withFileTypes: true })) {
      const path = posix.join(folder, entry.name);
      if (entry.name.startsWith(".") || skipped.has(entry.name)) continue;
      if (entry.isDirectory() && depth < 4) await visit(path, depth + 1);
      else if (entry.isFile() && entry.name.endsWith(".md")) pages.push(path);
    }
  };
  await visit("", 0);
  return pages.sort();
}

export const readPage = (page: string): Promise<string> => readFile(join(repositoryRoot, page), "utf8");

/**
 * A block of code in TypeScript or JavaScript. The fence says how it is run: nothing, in Node, with the heat equation served at
 * `http://localhost:8000`; `gpu`, on the CUDA simulator; `no-run: REASON`, not at all.
 */
export interface Program {
  readonly page: string;
  /** `docs/call.md:12`. */
  readonly name: string;
  readonly source: string;
  readonly run: "node" | "gpu" | "never";
  /** Of one that isn't run. */
  readonly reason: string | undefined;
  /** The name that its first line gives it, `// scale.ts`, by which other programs of the page import it. */
  readonly file: string | undefined;
}

/** A file in another language that the page's programs use, named in its first line: `# tesseract_api.py`. */
export interface OtherFile {
  readonly page: string;
  readonly file: string;
  readonly source: string;
}

export interface Blocks {
  readonly programs: readonly Program[];
  readonly files: readonly OtherFile[];
}

const FENCE = /^```(\w+)([^\n]*)\n(.*?)^```$/gms;
const languages = new Set(["ts", "typescript", "js", "javascript", "mjs", "mts"]);

export async function blocksOf(page: string): Promise<Blocks> {
  const text = await readPage(page);
  const programs: Program[] = [];
  const files: OtherFile[] = [];
  for (const match of text.matchAll(FENCE)) {
    const [, language = "", info = "", source = ""] = match;
    const line = text.slice(0, match.index).split("\n").length;
    const named = /^(?:\/\/|#) (\S+\.(?:ts|js|mjs|py))\n/.exec(source)?.[1];
    if (languages.has(language)) {
      programs.push({
        page,
        name: `${page}:${line}`,
        source,
        file: named,
        ...howToRun(`${page}:${line}`, info.trim()),
      });
    } else if (named !== undefined) files.push({ page, file: named, source });
  }
  return { programs, files };
}

function howToRun(name: string, info: string): Pick<Program, "run" | "reason"> {
  if (info === "") return { run: "node", reason: undefined };
  if (info === "gpu") return { run: "gpu", reason: undefined };
  const reason = /^no-run: (.+)$/.exec(info)?.[1];
  if (reason === undefined) throw new Error(`${name}: the fence says "${info}", and not "gpu" or "no-run: REASON"`);
  return { run: "never", reason };
}

/** A link of a page to another file, or into a page. */
export interface Link {
  /** `docs/call.md:12`. */
  readonly place: string;
  readonly target: string;
  /** The path that it names, from the repository's root, without its anchor. */
  readonly path: string;
  readonly anchor: string | undefined;
}

/** Links and pictures whose target is within the repository. */
export async function linksOf(page: string): Promise<readonly Link[]> {
  const text = withoutCode(await readPage(page));
  const inline = /\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g;
  const reference = /^\[[^\]]+\]:\s+(\S+)/gm;
  const attribute = /<(?:img|a)\b[^>]*\b(?:src|href)="([^"]+)"/g;
  return [inline, reference, attribute]
    .flatMap((pattern) => [...text.matchAll(pattern)])
    .map((match) => ({ target: match[1] ?? "", line: text.slice(0, match.index).split("\n").length }))
    .filter(({ target }) => !/^[a-z][a-z0-9+.-]*:/i.test(target))
    .map(({ target, line }) => {
      const [path = "", anchor] = decodeURIComponent(target).split("#");
      const at = path === "" ? page : posix.normalize(posix.join(dirname(page), path));
      return { place: `${page}:${line}`, target, path: at, anchor };
    });
}

/** Blocks and spans of code become spaces, so that lines keep their numbers. */
const withoutCode = (text: string): string =>
  text
    .replace(/^```.*?^```$/gms, (block) => block.replace(/[^\n]/g, " "))
    .replace(/`[^`\n]+`/g, (span) => " ".repeat(span.length));

/** The anchors of a page's headings, as GitHub makes them, and the site too. */
export async function anchorsOf(page: string): Promise<ReadonlySet<string>> {
  const text = (await readPage(page)).replace(/^```.*?^```$/gms, "");
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const [, heading = ""] of text.matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    const slug = slugOf(heading);
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors;
}

export const slugOf = (heading: string): string =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/ /g, "-");

/** The cells of a page's tables, row by row, without the heads. A pipe in a span of code is written `\|`. */
export function rowsOf(markdown: string): readonly (readonly string[])[] {
  const lines = markdown.split("\n").filter((line) => line.startsWith("|"));
  const rows = lines.map((line) =>
    line
      .replace(/^\||\|\s*$/g, "")
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim()),
  );
  return rows.filter((cells, at) => !isRule(cells) && !isRule(rows[at + 1] ?? []));
}

const isRule = (cells: readonly string[]): boolean => cells.length > 0 && cells.every((cell) => /^:?-+:?$/.test(cell));

/** The spans of code in a cell. */
export const codeOf = (cell: string): readonly string[] =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code.replaceAll("\\|", "|"));
