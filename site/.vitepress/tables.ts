/** Tables of three columns and more don't fit a phone: there their cells stand below each other, each with its column's head. */
import type { MarkdownRenderer } from "vitepress";

/** Columns from which on a table is stacked. */
const WIDE = 3;

/** Gives their cells the head as `data-label`; style.css does the rest. VitePress leaves no attribute of the table itself. */
export function labelCells(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push("label-cells", ({ tokens }) => {
    let heads: string[] = [];
    let column = 0;
    for (const [at, token] of tokens.entries()) {
      if (token.type === "table_open") {
        const end = tokens.findIndex(({ type }, index) => index > at && type === "thead_close");
        heads = tokens.slice(at, end).flatMap(({ type, content }) => (type === "inline" ? [content] : []));
      } else if (token.type === "tr_open") column = 0;
      else if (token.type === "td_open") {
        const label = heads[column++]?.replaceAll("`", "");
        if (heads.length >= WIDE && label !== undefined && label !== "") token.attrSet("data-label", label);
      }
    }
  });
}
