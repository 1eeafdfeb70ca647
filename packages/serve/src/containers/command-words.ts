/** Splits a command line into words, as a shell does: for commands that an environment variable holds. */
import { TesseractError } from "@tesseract-ts/core";

/**
 * Knows quotes and backslashes, and nothing else of a shell: no variables, no globs.
 *
 * @param from where the text is from, for the error
 * @throws TesseractError INVALID_ARGUMENT for a quote without its end
 *
 * @example
 * commandWords('podman --root "/var/my images"', "TESSERACT_ENGINE"); // ["podman", "--root", "/var/my images"]
 */
export function commandWords(text: string, from: string): readonly string[] {
  const words: string[] = [];
  const word = /(?:[^\s"'\\]|\\[\s\S]|"(?:[^"\\]|\\[\s\S])*"|'[^']*')+/y;
  let at = 0;
  while (at < text.length) {
    if (/\s/.test(text.charAt(at))) {
      at += 1;
      continue;
    }
    word.lastIndex = at;
    const found = word.exec(text)?.[0];
    if (found === undefined || (word.lastIndex < text.length && !/\s/.test(text.charAt(word.lastIndex)))) {
      throw new TesseractError("INVALID_ARGUMENT", `${from} can't be split into words: ${text}`, {
        hint: "A quote has no end. Quote arguments with spaces, as for a shell.",
      });
    }
    words.push(unquoted(found));
    at = word.lastIndex;
  }
  return words;
}

/** Within double quotes a backslash is one, unless it stands before `"`, `\`, `$` or a backtick (POSIX). */
const unquoted = (word: string): string =>
  word.replace(/'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])/g, (_, single, double, escaped) =>
    single !== undefined ? single : double !== undefined ? double.replace(/\\(["\\$`])/g, "$1") : escaped,
  );
