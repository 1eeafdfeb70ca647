/** The help, from what commands declare. */
import { type Command, commonOptions, type Options } from "./command.js";
import type { Style } from "./terminal/style.js";
import { wrapped } from "./terminal/table.js";

const WIDTH = 100;

export function overview(commands: readonly Command[], style: Style): string {
  const widest = Math.max(...commands.map(({ name }) => name.length));
  return lines([
    "Serves, calls and examines Tesseracts from a terminal.",
    "",
    `${style("bold", "tesseract-ts COMMAND")} …`,
    ...commands.map(({ name, summary }) => `  ${style("cyan", name.padEnd(widest))}  ${summary}`),
    "",
    "A TARGET is a Tesseract wherever it is: a URL, the file that defines it (.ts, .mts, .js, .mjs, .py; it is started and",
    "stopped again), or a container image.",
    "",
    style("bold", "For example"),
    "  tesseract-ts init my-tesseract              a project to begin with",
    "  tesseract-ts serve tesseract.ts             serve it at http://127.0.0.1:8000",
    "  tesseract-ts check tesseract.ts             are its derivatives right?",
    `  tesseract-ts call http://localhost:8000 apply '{"x": [1, 2, 3]}'`,
    "",
    style("bold", "Everywhere"),
    ...optionLines(
      { ...commonOptions, version: { kind: "flag", short: "V", help: "the version of this program" } },
      style,
    ),
    "",
    style("bold", "Exit codes"),
    "  0    done, and everything is as it should be",
    "  1    it failed: a call, a check, a test",
    "  2    the command line is wrong, or an option's value",
    "  3    the Tesseract can't be loaded, started or reached",
    "  130  Ctrl-C; 143 where something else asked the program to end",
    "",
    "tesseract-ts COMMAND --help tells more of each.",
  ]);
}

export function helpOf(command: Command, style: Style): string {
  const { name, summary, about = [], examples } = command;
  const usage = [
    "tesseract-ts",
    name,
    ...command.arguments.map((each) => (each.optional ? `[${each.name}]` : each.name)),
    "[OPTIONS]",
  ];
  const widest = Math.max(0, ...command.arguments.map((each) => each.name.length));
  return lines([
    summary,
    "",
    style("bold", usage.join(" ")),
    ...command.arguments.flatMap((each) => hanging(`  ${each.name.padEnd(widest)}  `, each.help)),
    ...about.flatMap((paragraph) => ["", ...wrapped(paragraph, WIDTH)]),
    "",
    style("bold", "Options"),
    ...optionLines({ ...command.options, ...commonOptions }, style),
    "",
    style("bold", examples.length === 1 ? "Example" : "Examples"),
    ...examples.flatMap((each) => [`  ${each.what}:`, `    ${style("cyan", each.command)}`]),
  ]);
}

function optionLines(options: Options, style: Style): string[] {
  const shown = Object.entries(options).map(([name, option]) => {
    const short = option.short === undefined ? "" : `-${option.short}, `;
    return { text: `${short}--${name}${option.value === undefined ? "" : ` ${option.value}`}`, help: option.help };
  });
  const widest = Math.max(...shown.map(({ text }) => text.length));
  return shown.flatMap(({ text, help }) => {
    const [first = "", ...rest] = hanging(`  ${text.padEnd(widest)}  `, help);
    return [first.replace(text, style("cyan", text)), ...rest];
  });
}

/** `text` behind `lead`, its further lines below its first. */
function hanging(lead: string, text: string): string[] {
  const [first = "", ...rest] = wrapped(text, Math.max(40, WIDTH - lead.length));
  return [lead + first, ...rest.map((line) => " ".repeat(lead.length) + line)];
}

const lines = (all: readonly string[]): string => `${all.join("\n")}\n`;
