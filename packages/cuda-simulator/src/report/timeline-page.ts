/** A trace as a web page that needs nothing else: lanes of calls, one for each thread. */
import type { TraceRecord } from "../trace/record.js";
import { PAGE_SCRIPT, PAGE_STYLE } from "./page-assets.js";
import { Timeline, type TraceEvent } from "./timeline.js";

/** More events than a page can draw at ease; Perfetto shows more. */
const MOST_EVENTS = 200_000;

/** Data goes into the page as JSON in a script element, in which no `<` may stand. */
const embedded = (value: unknown): string => JSON.stringify(value).replaceAll("<", "\\u003c");

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0) ?? 0};`);

/** The page, in pieces. `report` is the table that stands below the lanes. */
export async function* timelinePage(
  title: string,
  records: AsyncIterable<TraceRecord> | Iterable<TraceRecord>,
  report: string,
): AsyncGenerator<string> {
  const timeline = new Timeline();
  let events = 0;
  yield pageStart(title);
  for await (const record of records) {
    for (const event of timeline.events(record)) {
      if (event.ph === "M" || event.ph === "C") continue;
      if (events < MOST_EVENTS) yield `${events === 0 ? "" : ",\n"}${embedded(rowOf(event))}`;
      events++;
    }
  }
  const left = events - MOST_EVENTS;
  const note = left > 0 ? `The last ${left} events aren't shown; --timeline FILE.json shows all, in Perfetto.` : "";
  yield pageEnd(report, note);
}

/** What the page's script reads: start, duration, process, thread, name, categories and the rest. */
function rowOf(event: Exclude<TraceEvent, { ph: "M" | "C" }>): readonly unknown[] {
  return [event.ts, event.ph === "X" ? event.dur : 0, event.pid, event.tid, event.name, event.cat, event.args];
}

const pageStart = (title: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>${escaped(title)}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<h1>${escaped(title)}</h1>
<p id="legend"></p>
<div id="lanes"><canvas id="canvas" tabindex="0" aria-label="Calls over time, a lane for each thread"></canvas></div>
<p id="detail">Turn the wheel to zoom, drag to move, double-click to see all; point at a call to read it.</p>
<script type="application/json" id="events">[
`;

const pageEnd = (report: string, note: string): string => `
]</script>
<p>${escaped(note)}</p>
<pre>${escaped(report)}</pre>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`;
