/** Style and script of the timeline's page. The script is plain JavaScript of the browser, and has no backquotes. */

export const PAGE_STYLE = `
:root { color-scheme: light dark; font: 14px/1.4 system-ui, sans-serif; }
body { margin: 1rem 2rem; }
h1 { font-size: 1.2rem; overflow-wrap: anywhere; }
#lanes { overflow-y: auto; max-height: 70vh; border: 1px solid #8886; }
canvas { display: block; width: 100%; cursor: grab; touch-action: none; }
#detail { min-height: 2.8em; white-space: pre-wrap; overflow-wrap: anywhere; font-family: ui-monospace, monospace; }
#legend span { display: inline-block; margin-right: 1.5em; }
#legend i { display: inline-block; width: 1em; height: 1em; margin-right: 0.4em; vertical-align: -0.15em; }
pre { overflow-x: auto; }
`;

export const PAGE_SCRIPT = `
"use strict";
const canvas = document.getElementById("canvas");
const detail = document.getElementById("detail");
const context = canvas.getContext("2d");
const LANE = 28, HEAD = 22, LABEL = 150, GAP = 4;
const COLORS = [
  ["hazard", "#d32f2f", "hazard, failure, fault"], ["failure", "#d32f2f"], ["fault", "#d32f2f"],
  ["leak", "#f57c00", "leak"], ["error", "#ad1457", "call that failed"],
  ["DtoH", "#c9a400", "device to host"], ["HtoD", "#1976d2", "host to device"],
  ["DtoD", "#388e3c", "device to device"], ["HtoH", "#8d6e63", "host to host"],
  ["runtime", "#90a4ae", "call of the runtime"], ["driver", "#607d8b", "call of the driver"],
];
const rankOf = (categories) => {
  const own = categories.split(",");
  const rank = COLORS.findIndex(([name]) => own.includes(name));
  return rank < 0 ? COLORS.length - 1 : rank;
};
// What went wrong lies above copies, and copies above what is plain.
const LAYERS = [[9, COLORS.length - 1], [5, 8], [0, 4]];
const legend = document.getElementById("legend");
for (const [, color, text] of COLORS.filter((each) => each.length === 3)) {
  const item = document.createElement("span");
  const square = document.createElement("i");
  square.style.background = color;
  item.append(square, text);
  legend.append(item);
}

const lanes = new Map();
let last = 0;
for (const [start, duration, pid, tid, name, categories, more] of
  JSON.parse(document.getElementById("events").textContent)) {
  const event = { start, duration, pid, tid, name, more, rank: rankOf(categories) };
  last = Math.max(last, start + duration);
  const library = categories.startsWith("runtime") ? "runtime" : "driver";
  const key = pid + " " + tid + " " + library;
  if (!lanes.has(key)) lanes.set(key, { pid, tid, library, events: [] });
  lanes.get(key).events.push(event);
}
const rows = [...lanes.values()].sort((a, b) => a.pid - b.pid || a.tid - b.tid || (a.library < b.library ? 1 : -1));
for (const row of rows) row.events.sort((a, b) => a.start - b.start);
const whole = { from: 0, to: Math.max(last * 1.01, 1) };
let view = { ...whole };

const width = () => canvas.clientWidth - LABEL;
const toX = (time) => LABEL + ((time - view.from) / (view.to - view.from)) * width();
const toTime = (x) => view.from + ((x - LABEL) / width()) * (view.to - view.from);
const timeText = (us) =>
  us >= 1e6 ? (us / 1e6).toFixed(3) + " s" : us >= 1e3 ? (us / 1e3).toFixed(3) + " ms" : us.toFixed(3) + " \\u00b5s";

function draw() {
  const ratio = window.devicePixelRatio || 1;
  const height = HEAD + rows.length * LANE;
  canvas.style.height = height + "px";
  canvas.width = canvas.clientWidth * ratio;
  canvas.height = height * ratio;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const ink = getComputedStyle(document.body).color;
  for (let step = 0; step <= 4; step++) {
    const time = view.from + ((view.to - view.from) * step) / 5;
    context.fillStyle = ink;
    context.fillText(timeText(time), toX(time) + 3, HEAD / 2);
    context.fillStyle = "#8886";
    context.fillRect(toX(time), 0, 1, height);
  }
  rows.forEach((row, index) => drawLane(row, HEAD + index * LANE, ink));
}

function drawLane(row, top, ink) {
  context.fillStyle = "#8886";
  context.fillRect(0, top, canvas.clientWidth, 1);
  context.fillStyle = ink;
  context.fillText(row.pid + " / " + row.tid + " " + row.library, 4, top + LANE / 2, LABEL - 8);
  context.save();
  context.beginPath();
  context.rect(LABEL, top, width(), LANE);
  context.clip();
  for (const [from, to] of LAYERS) drawLayer(row.events.filter(({ rank }) => rank >= from && rank <= to), top);
  context.restore();
}

function drawLayer(events, top) {
  let drawnTo = -1;
  for (const { start, duration, name, rank } of events) {
    const x = toX(start), right = Math.max(toX(start + duration), x + 2);
    if (right < LABEL || x > canvas.clientWidth || right <= drawnTo) continue;
    drawnTo = right;
    context.fillStyle = COLORS[rank][1];
    context.fillRect(x, top + GAP, right - x, LANE - 2 * GAP);
    if (right - x > 40) {
      context.fillStyle = "#fff";
      context.fillText(name, Math.max(x, LABEL) + 3, top + LANE / 2, right - Math.max(x, LABEL) - 6);
    }
  }
}

function eventAt(x, y) {
  const row = rows[Math.floor((y - HEAD) / LANE)];
  if (row === undefined || x < LABEL) return undefined;
  const slack = 3 * (toTime(LABEL + 1) - toTime(LABEL));
  const time = toTime(x);
  let best, distance = slack;
  for (const event of row.events) {
    const away = Math.max(event.start - time, time - event.start - event.duration, 0);
    if (away <= distance) [best, distance] = [event, away];
  }
  return best;
}

function show(from, to) {
  const span = Math.min(Math.max(to - from, 0.01), whole.to);
  const start = Math.min(Math.max(from, 0), whole.to - span);
  view = { from: start, to: start + span };
  draw();
}

canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const at = toTime(event.offsetX), factor = Math.exp(event.deltaY / 300);
  show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}, { passive: false });
canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
canvas.addEventListener("pointermove", (event) => {
  if (event.buttons === 1) {
    const moved = toTime(LABEL + event.movementX) - toTime(LABEL);
    show(view.from - moved, view.to - moved);
    return;
  }
  const found = eventAt(event.offsetX, event.offsetY);
  if (found === undefined) return;
  const { start, duration, pid, tid, name, more } = found;
  const members = Object.entries(more).map(([key, value]) => key + " " + value).join(", ");
  const took = duration > 0 ? " for " + timeText(duration) : "";
  detail.textContent = name + " at " + timeText(start) + took + ", process " + pid + ", thread " + tid + "\\n" + members;
});
canvas.addEventListener("dblclick", () => show(whole.from, whole.to));
canvas.addEventListener("keydown", (event) => {
  const span = view.to - view.from, middle = view.from + span / 2;
  if (event.key === "ArrowLeft") show(view.from - span / 10, view.to - span / 10);
  else if (event.key === "ArrowRight") show(view.from + span / 10, view.to + span / 10);
  else if (event.key === "+") show(middle - span / 3, middle + span / 3);
  else if (event.key === "-") show(middle - span, middle + span);
  else if (event.key === "0") show(whole.from, whole.to);
});
window.addEventListener("resize", draw);
draw();
`;
