import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { LineLog, LineSplitter, readLines } from "../../src/start/line-log.js";

test("lines come whole, however they are cut up, with either end of line, and the last one without", async () => {
  const lines: string[] = [];
  const stream = new PassThrough();
  readLines(stream, (line) => lines.push(line));
  const text = Buffer.from("α\r\nβγ\n\nδ");
  for (const byte of text) stream.write(Buffer.from([byte]));
  stream.end();
  await new Promise((resolve) => stream.once("close", resolve));
  expect(lines).toEqual(["α", "βγ", "", "δ"]);
});

test("a line that never ends is cut", () => {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  splitter.add("x".repeat(100_000));
  expect(lines).toEqual(["x".repeat(100_000)]);
});

test("the last 1,000 lines are kept, and 40 of them are the end", () => {
  const log = new LineLog(undefined);
  for (let line = 0; line < 5_000; line++) log.add(String(line));
  expect(log.lines).toHaveLength(1_000);
  expect(log.lines[0]).toBe("4000");
  expect(log.end).toHaveLength(40);
  expect(log.end.at(-1)).toBe("4999");
});
