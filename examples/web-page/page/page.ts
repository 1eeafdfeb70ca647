// The page: what is asked of the Tesseract, and what is shown of its answers.

import { fromUrl, type Tesseract, TesseractError } from "@tesseract-ts/core";
import { host } from "@tesseract-ts/transport-host";
import { drawField, drawHistory, gradient } from "./plot.js";
import { type GrayScott, type Settings, type State, simulate } from "./simulation.js";

/** What is shown brightest. */
const MOST = 0.4;

const find = <E extends Element>(selector: string, kind: new () => E): E => {
  const element = document.querySelector(selector);
  if (!(element instanceof kind)) throw new Error(`The page has no ${selector}.`);
  return element;
};

const form = find("form", HTMLFormElement);
const pattern = find("#pattern", HTMLSelectElement);
const stop = find("#stop", HTMLButtonElement);
const progress = find("#progress", HTMLProgressElement);
const status = find("#status", HTMLParagraphElement);
const error = find("#error", HTMLDivElement);
const canvas = find("#field", HTMLCanvasElement);
const history = find("#history", SVGSVGElement);
const url = find('meta[name="tesseract"]', HTMLMetaElement).content;

/** Connected when it is first needed, and again after that failed. */
let connection: Promise<Tesseract<GrayScott>> | undefined;
/** Of the run that is shown. */
let running = new AbortController();

function connect(): Promise<Tesseract<GrayScott>> {
  connection ??= fromUrl<GrayScott>(url, { transports: [host()] }).catch((reason: unknown) => {
    connection = undefined;
    throw reason;
  });
  return connection;
}

/** Ends the run before, whose call is given up, and its simulation on the server with it. */
async function run(): Promise<void> {
  running.abort();
  const mine = new AbortController();
  running = mine;
  const settings = readSettings();
  const points: State[] = [];
  stop.disabled = false;
  error.hidden = true;
  try {
    for await (const state of simulate(await connect(), settings, mine.signal)) {
      if (mine.signal.aborted) return;
      points.push(state);
      show(state, points, settings);
    }
    status.textContent += ", done";
  } catch (reason) {
    if (mine.signal.aborted) return;
    showError(reason);
  } finally {
    if (running === mine) stop.disabled = true;
  }
}

function show(state: State, points: readonly State[], { steps }: Settings): void {
  progress.value = state.step / steps;
  status.textContent = `Step ${state.step.toLocaleString("en")} of ${steps.toLocaleString("en")}, ${state.amount.toFixed(6)} on average`;
  drawField(canvas, state.v, MOST);
  drawHistory(history, points, steps);
}

function showError(reason: unknown): void {
  const [message, hint] = reason instanceof TesseractError ? [reason.message, reason.hint ?? ""] : [String(reason), ""];
  find("#error strong", HTMLElement).textContent = message;
  find("#error span", HTMLSpanElement).textContent = `${hint} Change a value, or run again, to try once more.`;
  error.hidden = false;
  status.textContent = "The Tesseract can't be called.";
}

function readSettings(): Settings {
  const data = new FormData(form);
  const number = (name: string): number => Number(data.get(name));
  return { feed: number("feed"), kill: number("kill"), size: number("size"), steps: number("steps") };
}

function showValues(): void {
  for (const output of form.querySelectorAll("output")) {
    const value = Number(new FormData(form).get(output.htmlFor.value));
    output.value = value < 1 ? value.toFixed(4) : value.toLocaleString("en");
  }
}

/** Each pattern has its feed and its kill. */
function takePattern(): void {
  const [feed = "", kill = ""] = pattern.value.split(" ");
  find("#feed", HTMLInputElement).value = feed;
  find("#kill", HTMLInputElement).value = kill;
}

form.addEventListener("input", ({ target }) => {
  if (target === pattern) takePattern();
  else if (target instanceof HTMLInputElement && target.name !== "steps") pattern.value = "";
  showValues();
  void run();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  void run();
});
stop.addEventListener("click", () => {
  running.abort();
  stop.disabled = true;
  status.textContent += ", stopped";
});

find("#colors", HTMLSpanElement).style.background = gradient;
find("#most", HTMLSpanElement).textContent = String(MOST);
takePattern();
showValues();
void run();
