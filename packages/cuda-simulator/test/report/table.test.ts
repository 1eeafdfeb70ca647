import { describe, expect, test } from "vitest";
import { bytesText, printable, timeText } from "../../src/report/amounts.js";
import { reportText } from "../../src/report/table.js";
import { parseTraceLine } from "../../src/trace/record.js";
import { summarize } from "../../src/trace/summary.js";
import { call, line } from "../support.js";

const report = (...lines: readonly string[]): string =>
  reportText("a.jsonl", summarize(lines.map(parseTraceLine).filter((record) => record !== undefined)));

/** The cells of the row that begins so. */
const row = (text: string, ...start: readonly string[]): string[] | undefined =>
  text
    .split("\n")
    .map((each) => each.trim().split(/\s{2,}/))
    .find((cells) => start.every((cell, index) => cells[index] === cell));

describe("the report", () => {
  test("has for each function its calls, errors, bytes and time", () => {
    const text = report(
      call("cuMemAlloc", { bytes: 1024, duration: 1500 }),
      call("cuMemAlloc", { bytes: 2048, duration: 500 }),
      call("cuMemAlloc", { bytes: 2 ** 50, duration: 0, result: 201 }),
      call("cuMemAlloc", { bytes: 2 ** 50, duration: 0, result: 2 }),
      call("cudaMalloc"),
    );
    expect(row(text, "driver", "cuMemAlloc")).toEqual([
      "driver",
      "cuMemAlloc",
      "4",
      "2 (2, 201)",
      "3.00 KiB",
      "2.00 µs",
    ]);
    expect(row(text, "runtime", "cudaMalloc")).toEqual(["runtime", "cudaMalloc", "1"]);
  });

  test("has bytes by direction, and the copies to the host", () => {
    const text = report(
      call("cuMemcpyHtoD", { bytes: 1024, direction: "HtoD" }),
      call("cuMemcpyDtoH", { bytes: 512, direction: "DtoH" }),
      call("cuMemcpyDtoH", { bytes: 512, direction: "DtoH" }),
    );
    expect(row(text, "host to device")).toEqual(["host to device", "1", "1.00 KiB"]);
    expect(row(text, "device to host")).toEqual(["device to host", "2", "1.00 KiB"]);
    expect(row(text, "device to device")).toEqual(["device to device", "0", "0 B"]);
    expect(text).toContain("Copies to the host: 2 (1.00 KiB)");
    expect(report(call("cuInit"))).toContain("Copies to the host: none");
  });

  test("says when nothing leaked and nothing was hazardous", () => {
    const text = report(
      call("cuInit"),
      line("begin", { machine: "m", devices: 1 }),
      line("end", { leaks: 0, leakedBytes: 0 }),
    );
    expect(text).toContain("Hazards: none");
    expect(text).toContain("Leaks: none");
    expect(text).not.toContain("Killed");
  });

  test("names hazards, leaks, faults, failures, and processes that didn't end on their own", () => {
    const text = report(
      line("begin", { machine: "m", devices: 1, pid: 77 }),
      line("hazard", { what: "memory is freed while another process has it mapped", allocation: 3, bytes: 4096 }),
      line("leak", { kind: "ipc mapping", pointer: "0x7f00", bytes: 2048 }),
      line("leak", { kind: "stream", pointer: "0x10", bytes: 0 }),
      line("failure", { context: "0x1", result: 719 }),
      line("fault", { function: "cuMemFree", effect: "die", pid: 77 }),
    );
    expect(text).toContain(
      "Hazards: 1\n  process 10: memory is freed while another process has it mapped (allocation 3, 4.00 KiB)",
    );
    expect(text).toContain(
      "Leaks: 2 (2.00 KiB)\n  process 10: ipc mapping at 0x7f00, 2.00 KiB\n  process 10: stream at 0x10\n",
    );
    expect(text).toContain("error 719");
    expect(text).toContain("process 77: cuMemFree");
    expect(text).toMatch(/Killed.*: 77/);
  });

  test("stays short however much leaked", () => {
    const leaks = Array.from({ length: 5000 }, () => line("leak", { kind: "event", pointer: "0x10", bytes: 1 }));
    const text = report(...leaks);
    expect(text).toContain("Leaks: 5000");
    expect(text).toContain("and 4980 more");
    expect(text.split("\n").length).toBeLessThan(50);
  });

  test("hands no terminal a command from the trace", () => {
    const text = report(line("hazard", { what: "\u001b[2J\u202ehidden\n", allocation: 1, bytes: 1 }));
    expect(text).not.toContain("\u001b");
    expect(text).not.toContain("\u202e");
    expect(text).toContain("[2J");
  });
});

test("amounts are for people to read", () => {
  expect([0, 1023, 1024, 1536, 10 * 2 ** 20, 2 ** 50].map(bytesText)).toEqual([
    "0 B",
    "1023 B",
    "1.00 KiB",
    "1.50 KiB",
    "10.0 MiB",
    "1024.0 TiB",
  ]);
  expect([0, 999, 1000, 12_345_678, 6e10].map(timeText)).toEqual(["0 ns", "999 ns", "1.00 µs", "12.3 ms", "60.0 s"]);
  expect(printable("x".repeat(1000))).toHaveLength(200);
});
