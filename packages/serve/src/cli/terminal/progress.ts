/** Says what takes long: one line that changes on a terminal, lines in a file. */
import { oneLine, styleFor } from "./style.js";
import type { Terminal } from "./terminal.js";

/** Milliseconds between two drawings of the line. */
const REDRAW_MS = 80;
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

export class Progress {
  private text = "";
  private frame = 0;
  private timer: NodeJS.Timeout | undefined;

  /** @param isQuiet nothing is said but what is printed by `line` */
  constructor(
    private readonly terminal: Pick<Terminal, "err" | "env">,
    private readonly isQuiet: boolean,
  ) {}

  /** What is being done from now on. */
  step(text: string): void {
    this.change(text, true);
  }

  /** How far it has come; of no interest in a file. */
  count(text: string): void {
    this.change(text, false);
  }

  /** A line that stays, such as one of a log. */
  line(text: string): void {
    this.clear();
    this.terminal.err.write(`${text}\n`);
  }

  /** It is done, or has failed: the line goes. */
  end(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.clear();
    this.text = "";
  }

  private change(text: string, isStep: boolean): void {
    if (this.isQuiet || text === this.text) return;
    const { err, env } = this.terminal;
    if (!err.isTerminal || env.TERM === "dumb") {
      if (isStep) err.write(`${oneLine(text)} …\n`);
      return;
    }
    this.text = text;
    this.timer ??= setInterval(() => this.draw(), REDRAW_MS).unref();
  }

  private draw(): void {
    const { err } = this.terminal;
    if (this.text === "") return;
    this.frame = (this.frame + 1) % FRAMES.length;
    const text = oneLine(this.text).slice(0, Math.max(10, err.columns - 3));
    err.write(`\r\u001b[K${styleFor(err, this.terminal)("cyan", FRAMES[this.frame] ?? "")} ${text}`);
  }

  private clear(): void {
    if (this.terminal.err.isTerminal && this.text !== "") this.terminal.err.write("\r\u001b[K");
  }
}
