/** Which files of the repository are pages, and their addresses. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** What is left out when VitePress looks for pages from the root on. */
export const excluded: string[] = [
  "!(CONTRIBUTING).md",
  "!(docs|packages|examples|bench)/**/*",
  "bench/!(README).md",
  "bench/*/**",
  "{packages,examples}/*.md",
  "{packages,examples}/*/!(README).md",
  "{packages,examples}/*/*/**",
];

const foldersOf = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${folder}/${name}`);

const readmes = (): string[] =>
  ["bench", ...foldersOf("packages"), ...foldersOf("examples")]
    .map((folder) => `${folder}/README.md`)
    .filter((path) => existsSync(join(root, path)));

/** Where the pages are on the site: those of docs/ at its root, and each README as the page of its folder. */
export function addresses(): Record<string, string> {
  const found: Record<string, string> = { "CONTRIBUTING.md": "contributing.md" };
  for (const path of readmes()) found[path] = path.replace("README.md", "index.md");
  for (const path of readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })) {
    if (path.endsWith(".md")) found[posix.join("docs", path)] = path;
  }
  return found;
}

/** The page that a path from the root leads to: a markdown file, or a folder with a README. */
export function pageAt(path: string): string | undefined {
  const clean = path.replace(/\/$/, "");
  const at = join(root, clean);
  if (!existsSync(at)) return undefined;
  return statSync(at).isDirectory() ? `${clean}/README.md` : clean;
}
