/** Links as the repository has them, from file to file, as links of the site, from page to page. */
import { posix } from "node:path";
import type { MarkdownRenderer } from "vitepress";
import { addresses, pageAt } from "./pages.js";

/** A link to a file that is no page (a source, a folder) becomes plain text: the site doesn't have it. */
export function linkPages(markdown: MarkdownRenderer): void {
  const pages = addresses();
  markdown.core.ruler.push("links-of-the-repository", ({ tokens, env }) => {
    const from = posix.dirname(pathFromRoot(env, pages));
    for (const { children } of tokens) {
      let open: { type: string; tag: string } | undefined;
      for (const token of children ?? []) {
        if (token.type === "link_close" && open !== undefined) {
          token.tag = "span";
          open = undefined;
        }
        if (token.type !== "link_open") continue;
        const target = token.attrGet("href") ?? "";
        if (target.startsWith("#") || /^[a-z][a-z0-9+.-]*:/i.test(target)) continue;
        const [path = "", anchor] = target.split("#");
        const page = pageAt(posix.join(from, decodeURIComponent(path)));
        const address = page === undefined ? undefined : pages[page];
        if (address !== undefined) {
          const clean = address.replace(/(^|\/)index\.md$/, "$1").replace(/\.md$/, ".html");
          token.attrSet("href", `/${clean}${anchor === undefined ? "" : `#${anchor}`}`);
        } else if (page !== undefined) {
          token.tag = "span";
          token.attrs = null;
          open = token;
        }
        // What isn't there at all stays, for VitePress to find.
      }
    }
  });
}

/** The file that is being rendered, from the repository's root. */
function pathFromRoot(env: { relativePath?: string }, pages: Record<string, string>): string {
  const address = env.relativePath ?? "";
  return Object.entries(pages).find(([, page]) => page === address)?.[0] ?? address;
}

/** Anchors as GitHub makes them, so that a link works in both places. */
export const slugify = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/ /g, "-");
