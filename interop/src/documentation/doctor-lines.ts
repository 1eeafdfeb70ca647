// "What doctor says" of docs/containers.md: the lines in its table, and those that the sources can make.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import ts from "typescript";
import { repositoryRoot } from "../python.js";
import { codeOf, readPage, rowsOf } from "./pages.js";

export interface Row {
  /** Empty for lines that have none. */
  readonly outcome: string;
  /** Parts of lines, each with `…` for what differs. */
  readonly says: readonly string[];
}

const section = (await readPage("docs/containers.md"))
  .split(/^## /m)
  .find((part) => part.startsWith("What doctor says"));

export const rows: readonly Row[] = rowsOf(section ?? "").map((cells) => {
  const [outcome = "", says = ""] = cells.length === 3 ? cells : ["", ...cells];
  return { outcome: codeOf(outcome)[0] ?? "", says: codeOf(says) };
});

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** Whether a line has this part. */
export const isSaidIn = (line: string, part: string): boolean =>
  new RegExp(part.split("…").map(escaped).join(".*"), "i").test(line);

export interface Sentence {
  /** `packages/core/src/encoding.ts:63`. */
  readonly place: string;
  /** With `…` for each value that is filled in. */
  readonly text: string;
}

/** Where sentences stand that doctor says: arguments of calls by their place, and the values of properties and variables. */
export interface Places {
  readonly file: string;
  readonly calls?: Readonly<Record<string, number>>;
  readonly named?: readonly string[];
  /** Only within these functions. */
  readonly within?: readonly string[];
}

export async function sentencesOf({ file, calls = {}, named = [], within }: Places): Promise<readonly Sentence[]> {
  const source = ts.createSourceFile(
    file,
    await readFile(join(repositoryRoot, file), "utf8"),
    ts.ScriptTarget.ES2022,
    true,
  );
  const found: Sentence[] = [];
  const add = (expression: ts.Expression | undefined): void => {
    if (expression === undefined) return;
    const line = source.getLineAndCharacterOfPosition(expression.getStart()).line + 1;
    for (const text of textsOf(expression)) found.push({ place: `${file}:${line}`, text });
  };
  const visit = (node: ts.Node, inside: boolean): void => {
    const isWanted = ts.isFunctionDeclaration(node) && within?.includes(node.name?.text ?? "") === true;
    const here = inside || isWanted;
    if (here && (ts.isCallExpression(node) || ts.isNewExpression(node))) {
      const at = calls[node.expression.getText()];
      if (at !== undefined) add(node.arguments?.[at]);
    }
    if (
      here &&
      (ts.isPropertyAssignment(node) || ts.isVariableDeclaration(node)) &&
      named.includes(node.name.getText())
    )
      add(node.initializer);
    ts.forEachChild(node, (child) => visit(child, here));
  };
  visit(source, within === undefined);
  return found;
}

/** The texts that an expression can give, of those that are written there. */
function textsOf(expression: ts.Expression): readonly string[] {
  if (ts.isStringLiteralLike(expression)) return [expression.text];
  if (ts.isTemplateExpression(expression))
    return [[expression.head.text, ...expression.templateSpans.map(({ literal }) => literal.text)].join("…")];
  if (ts.isParenthesizedExpression(expression)) return textsOf(expression.expression);
  if (ts.isConditionalExpression(expression))
    return [...textsOf(expression.whenTrue), ...textsOf(expression.whenFalse)];
  if (ts.isBinaryExpression(expression) && expression.operatorToken.kind === ts.SyntaxKind.PlusToken)
    return textsOf(expression.left).flatMap((left) => textsOf(expression.right).map((right) => left + right));
  return [];
}
