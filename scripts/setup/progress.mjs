// Tells what is being done and how long it took: a line that moves in a terminal, plain lines elsewhere.

const terminal = Boolean(process.stdout.isTTY) && !process.env.CI;
const colors = terminal && !process.env.NO_COLOR;
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const REDRAW_MS = 100;

const paint = (code, text) => (colors ? `\x1b[${code}m${text}\x1b[0m` : text);
export const green = (text) => paint(32, text);
export const yellow = (text) => paint(33, text);
export const red = (text) => paint(31, text);
export const dim = (text) => paint(2, text);
export const bold = (text) => paint(1, text);

/** @type {Set<{ title: string, start: number }>} */
const active = new Set();
let timer;
let frame = 0;

/** Does `work` under a title. Steps may overlap. */
export async function step(title, work) {
  const entry = { title, start: performance.now() };
  active.add(entry);
  if (terminal) draw();
  else say(`  … ${title}`);
  try {
    const result = await work();
    finish(entry, green("✓"));
    return result;
  } catch (error) {
    finish(entry, red("✗"));
    throw error;
  }
}

/** Prints a line above the one that moves. */
export function say(line) {
  if (terminal) process.stdout.write("\r\x1b[K");
  process.stdout.write(`${line}\n`);
  if (terminal && active.size > 0) draw();
}

function finish(entry, mark) {
  active.delete(entry);
  if (active.size === 0) {
    clearInterval(timer);
    timer = undefined;
  }
  say(`  ${mark} ${entry.title} ${dim(`(${seconds(performance.now() - entry.start)})`)}`);
}

function draw() {
  timer ??= setInterval(draw, REDRAW_MS).unref();
  frame += 1;
  const parts = [...active].map(({ title, start }) => `${title} ${Math.floor((performance.now() - start) / 1000)} s`);
  const line = parts.join("  ·  ").slice(0, (process.stdout.columns || 80) - 6);
  process.stdout.write(`\r\x1b[K  ${FRAMES[frame % FRAMES.length]} ${line}`);
}

export const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(1)} s`;
