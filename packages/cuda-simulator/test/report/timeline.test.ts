import { describe, expect, test } from "vitest";
import { timelineJson } from "../../src/report/timeline.js";
import { timelinePage } from "../../src/report/timeline-page.js";
import { parseTraceLine, type TraceRecord } from "../../src/trace/record.js";
import { call, line } from "../support.js";

const records = (...lines: readonly string[]): TraceRecord[] =>
  lines.map(parseTraceLine).filter((record) => record !== undefined);

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const piece of pieces) text += piece;
  return text;
}

interface Event {
  readonly ph: string;
  readonly name: string;
  readonly ts?: number;
  readonly dur?: number;
  readonly pid: number;
  readonly cat?: string;
  readonly args: Record<string, unknown>;
}

const eventsOf = async (...lines: readonly string[]): Promise<Event[]> =>
  (JSON.parse(await textOf(timelineJson(records(...lines)))) as { traceEvents: Event[] }).traceEvents;

describe("a timeline for Perfetto", () => {
  test("has a stretch of time for a call, which ended when its line was written", async () => {
    const events = await eventsOf(
      line("begin", { time: "1795994649190000000", machine: "m", devices: 1 }),
      call("cuMemAlloc", { time: "1795994649190005500", duration: 2500, bytes: 64, pointer: "0x1f" }),
    );
    expect(events.find((each) => each.ph === "X")).toMatchObject({
      name: "cuMemAlloc",
      ts: 3,
      dur: 2.5,
      pid: 10,
      tid: 11,
      args: { result: 0, bytes: 64, pointer: "0x1f" },
    });
  });

  test("never begins before 0, and has a moment for a call of unknown duration", async () => {
    const [, first, second] = await eventsOf(
      call("cuInit", { time: "1795994649190005500", duration: 2500 }),
      call("cuMemFree", { time: "1795994649190006500" }),
    );
    expect(first).toMatchObject({ ph: "X", ts: 0, dur: 2.5 });
    expect(second).toMatchObject({ ph: "i", ts: 3.5 });
  });

  test("names each process, marks what went wrong, and counts the bytes to the host", async () => {
    const events = await eventsOf(
      call("cuMemcpyDtoH", { direction: "DtoH", bytes: 10 }),
      call("cuMemcpyDtoH", { direction: "DtoH", bytes: 5 }),
      call("cuMemcpyDtoH", { direction: "DtoH", bytes: 99, result: 1 }),
      line("hazard", { what: "freed", allocation: 1, bytes: 1, pid: 20 }),
      line("leak", { kind: "memory", pointer: "0x10", bytes: 1 }),
    );
    expect(events.filter((each) => each.ph === "M").map((each) => each.pid)).toEqual([10, 20]);
    expect(events.filter((each) => each.ph === "C").map((each) => each.args.bytes)).toEqual([10, 15]);
    expect(events.filter((each) => each.cat?.includes("error"))).toHaveLength(1);
    expect(events.filter((each) => each.cat === "hazard" || each.cat === "leak")).toHaveLength(2);
  });

  test("of an empty trace is JSON, too", async () => {
    expect(await eventsOf()).toEqual([]);
  });
});

describe("a timeline to open in a browser", () => {
  test("needs nothing from elsewhere, and shows the report", async () => {
    const page = await textOf(timelinePage("a.jsonl", records(call("cuInit")), "library  function"));
    expect(page).toMatch(/^<!doctype html>/);
    expect(page).not.toMatch(/(?:src|href)=|https?:/);
    expect(page).toContain("default-src 'none'");
    expect(page).toContain("library  function");
    expect(page).toContain("cuInit");
  });

  test("runs nothing that a trace says", async () => {
    const hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>";
    const what = line("hazard", { what: hostile, allocation: 1, bytes: 1 });
    const page = await textOf(timelinePage(hostile, records(what), hostile));
    expect(page).not.toContain("<script>alert");
    expect(page).not.toContain("<img");
    const data = /<script type="application\/json" id="events">(.*?)<\/script>/s.exec(page)?.[1] ?? "";
    expect((JSON.parse(data) as unknown[][])[0]?.[4]).toBe(`hazard: ${hostile}`);
  });
});
