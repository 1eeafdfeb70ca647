import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LineSplitter } from "../../src/trace/lines.js";
import { GrowingTrace, readTrace } from "../../src/trace/read.js";
import type { TraceRecord } from "../../src/trace/record.js";
import { call, line, simulatorError, temporaryFolder } from "../support.js";

const folder = temporaryFolder();
let files = 0;

function traceOf(text: string | Uint8Array): string {
  const file = join(folder, `trace-${files++}.jsonl`);
  writeFileSync(file, text);
  return file;
}

async function all(file: string): Promise<TraceRecord[]> {
  const records: TraceRecord[] = [];
  for await (const record of readTrace(file)) records.push(record);
  return records;
}

const names = (records: readonly TraceRecord[]): string[] =>
  records.map((record) => (record.type === "call" ? record.function : record.type));

describe("a trace", () => {
  test("is read line by line, in order", async () => {
    const file = traceOf(`${call("cuInit")}\n${call("cuMemAlloc")}\n\n${line("end", { leaks: 0, leakedBytes: 0 })}\n`);
    expect(names(await all(file))).toEqual(["cuInit", "cuMemAlloc", "end"]);
  });

  test("may be empty", async () => {
    expect(await all(traceOf(""))).toEqual([]);
  });

  test("whose last line was cut off has all the others", async () => {
    expect(names(await all(traceOf(`${call("cuInit")}\n${call("cuMemAlloc").slice(0, 40)}`)))).toEqual(["cuInit"]);
  });

  test("whose last line only lacks its newline has that, too", async () => {
    expect(names(await all(traceOf(`${call("cuInit")}\n${call("cuMemAlloc")}`)))).toEqual(["cuInit", "cuMemAlloc"]);
  });

  test("with a line that is something else is refused, with the line's number", async () => {
    const file = traceOf(`${call("cuInit")}\n\nhello\n${call("cuMemAlloc")}\n`);
    await expect(all(file)).rejects.toEqual(simulatorError("TRACE_MALFORMED", `${file}:3: `, "hello"));
  });

  test("with a line without an end is refused before it fills the memory", async () => {
    const file = traceOf(`${call("cuInit")}\n${"x".repeat(1 << 20)}`);
    await expect(all(file)).rejects.toEqual(simulatorError("TRACE_MALFORMED", `${file}:2: `, "longer than"));
  });

  test("that is binary is refused", async () => {
    await expect(all(traceOf(Uint8Array.of(0xff, 0, 0x0a, 0xfe)))).rejects.toEqual(
      simulatorError("TRACE_MALFORMED", ":1:"),
    );
  });

  test("that isn't there is named", async () => {
    await expect(all(join(folder, "none"))).rejects.toEqual(simulatorError("TRACE_UNREADABLE", join(folder, "none")));
    await expect(all(folder)).rejects.toEqual(simulatorError("TRACE_UNREADABLE"));
  });
});

describe("a trace that grows", () => {
  test("has each record once its line is complete", () => {
    const file = traceOf("");
    const trace = new GrowingTrace(file);
    expect(trace.read()).toEqual([]);
    const second = call("cuMemAlloc");
    appendFileSync(file, `${call("cuInit")}\n${second.slice(0, 30)}`);
    const first = trace.read();
    expect(names(first)).toEqual(["cuInit"]);
    appendFileSync(file, `${second.slice(30)}\n`);
    expect(names(trace.read())).toEqual(["cuInit", "cuMemAlloc"]);
    expect(names(first)).toEqual(["cuInit"]); // what was read before stays as it was
  });

  test("that has a bad line stays bad", () => {
    const file = traceOf(`hello\n${call("cuInit")}\n`);
    const trace = new GrowingTrace(file);
    expect(() => trace.read()).toThrow(simulatorError("TRACE_MALFORMED", ":1:"));
    expect(() => trace.read()).toThrow(simulatorError("TRACE_MALFORMED", ":1:"));
  });
});

test("lines are the same however the bytes are cut", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: "grapheme" })),
      fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
      (lines, sizes) => {
        const expected = lines.map((each) => each.replaceAll("\n", " "));
        const bytes = new TextEncoder().encode(expected.map((each) => `${each}\n`).join(""));
        const splitter = new LineSplitter();
        const found: string[] = [];
        for (let at = 0; at < bytes.length; ) {
          const size = sizes.next().value;
          found.push(...splitter.push(bytes.subarray(at, at + size)));
          at += size;
        }
        expect(found).toEqual(new TextDecoder().decode(bytes).split("\n").slice(0, -1));
        expect(splitter.unfinished).toBe("");
      },
    ),
    { numRuns: 100 },
  );
});
