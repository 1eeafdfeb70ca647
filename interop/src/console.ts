// Runs the terminal sessions of a page: blocks marked `console`, in which each line after `$ ` is a command, and the lines below it
// are what it prints, both outputs together.

export interface Step {
  readonly command: string;
  /** What the page says that it prints, with `[exit code N]` at its end where that isn't 0. */
  readonly printed: string;
  /** Why it isn't run, if it isn't. */
  readonly notRun: string | undefined;
}

export interface Session {
  readonly steps: readonly Step[];
}

const BLOCK = /```console\n([\s\S]*?)```/g;
const NOT_RUN = / {2}# not run here: (.*)$/;

export const sessionsOf = (page: string): readonly Session[] =>
  [...page.matchAll(BLOCK)].map(([, block = ""]) => ({ steps: stepsOf(block) }));

function stepsOf(block: string): Step[] {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const [line = "", ...printed] = text.split("\n");
      return {
        command: line.replace(NOT_RUN, ""),
        printed: printed.join("\n").trimEnd(),
        notRun: NOT_RUN.exec(line)?.[1],
      };
    });
}

/** The page with other outputs, in the order of its commands. */
export function withOutputs(page: string, outputs: readonly string[]): string {
  let next = 0;
  return page.replace(BLOCK, (_, block: string) => {
    const steps = stepsOf(block).map(({ command, notRun }) => {
      const output = outputs[next++] ?? "";
      const line = `$ ${command}${notRun === undefined ? "" : `  # not run here: ${notRun}`}`;
      return output === "" ? `${line}\n` : `${line}\n${output}\n`;
    });
    return `\`\`\`console\n${steps.join("")}\`\`\``;
  });
}

/** Without what differs between two runs, or two machines: times, addresses, rates, bars. */
export function masked(text: string): string {
  return text
    .replaceAll(/\d+(\.\d+)?(e[+-]?\d+)? (ms|s)\b/g, "TIME")
    .replaceAll(/(127\.0\.0\.1|localhost):\d+/g, "ADDRESS")
    .replaceAll(/^-- {2}Node .*$/gm, "-- Node")
    .replaceAll(/Node [\d.]+, \d+ processors/g, "Node, processors")
    .split("\n")
    .map((line) =>
      /json|transport/.test(line) && /TIME|calls\/s/.test(line)
        ? line.replaceAll(/[█▏▎▍▌▋▊▉]+|[\d.]+|\s+|[kMG]?B/g, "")
        : line,
    )
    .join("\n")
    .trimEnd();
}
