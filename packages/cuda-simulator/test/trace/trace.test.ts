import { describe, expect, test } from "vitest";
import { parseTraceLine, type TraceRecord } from "../../src/trace/record.js";
import { Trace } from "../../src/trace/trace.js";
import { call, line } from "../support.js";

const records = (...lines: readonly string[]): TraceRecord[] =>
  lines.map(parseTraceLine).filter((record) => record !== undefined);

const trace = new Trace(
  records(
    line("begin", { machine: "m", devices: 1 }),
    call("cuMemAlloc", { bytes: 4096, pointer: "0x1000" }),
    call("cudaMalloc"),
    call("cuMemAlloc", { bytes: 2 ** 60, result: 2 }),
    call("cuMemcpyHtoD", { bytes: 4096, direction: "HtoD", async: false }),
    call("cuMemcpyDtoD", { bytes: 1024, direction: "DtoD", async: false }),
    call("cuMemcpyDtoH", { bytes: 100, direction: "DtoH", async: false }),
    call("cuMemcpyDtoHAsync", { bytes: 28, direction: "DtoH", async: true, pid: 20 }),
    call("cuMemcpyDtoH", { bytes: 0, direction: "DtoH", async: false }),
    call("cuMemcpyDtoH", { bytes: 999, direction: "DtoH", async: false, result: 1 }),
    line("hazard", { what: "freed while mapped", allocation: 7, bytes: 4096 }),
    line("leak", { kind: "memory", pointer: "0x1000", bytes: 4096, pid: 20 }),
    line("failure", { context: "0x1", result: 719 }),
    line("fault", { function: "cuMemFree", effect: "die", pid: 20 }),
  ),
);

describe("a trace tells", () => {
  test("how often bytes went to the host: not those of failed copies, nor copies of nothing", () => {
    expect(trace.copiesToHost).toBe(2);
  });

  test("bytes by direction", () => {
    expect(trace.bytes).toEqual({ HtoD: 4096, DtoH: 128, DtoD: 1024, HtoH: 0 });
  });

  test("calls, hazards, leaks, failures, faults and processes", () => {
    expect(trace.calls).toHaveLength(9);
    expect(trace.hazards).toMatchObject([{ what: "freed while mapped", allocation: 7 }]);
    expect(trace.leaks).toMatchObject([{ kind: "memory", bytes: 4096 }]);
    expect(trace.failures).toMatchObject([{ result: 719 }]);
    expect(trace.faults).toMatchObject([{ function: "cuMemFree" }]);
    expect(trace.pids).toEqual([10, 20]);
  });

  test("of each function the calls, the errors and the bytes of those that succeeded", () => {
    const [allocations] = trace.summary.functions.filter((each) => each.function === "cuMemAlloc");
    expect(allocations).toMatchObject({ calls: 2, bytes: 4096, errors: new Map([[2, 1]]), time: undefined });
  });
});

describe("a part of a trace", () => {
  const functions = (part: Trace): string[] => part.calls.map((each) => each.function);

  test("is of one process", () => {
    const part = trace.filter({ pid: 20 });
    expect(functions(part)).toEqual(["cuMemcpyDtoHAsync"]);
    expect(part.copiesToHost).toBe(1);
    expect(part.leaks).toHaveLength(1);
    expect(part.hazards).toEqual([]);
  });

  test("is of functions, by a pattern or an expression", () => {
    expect(functions(trace.filter({ function: "cuMemcpyD*" }))).toHaveLength(5);
    expect(functions(trace.filter({ function: "cuMemcpyDtoH" }))).toHaveLength(3);
    expect(functions(trace.filter({ function: /^CUDAM/gi }))).toEqual(["cudaMalloc"]);
    expect(functions(trace.filter({ function: "cu.*" }))).toEqual([]);
    expect(trace.filter({ function: "cuMemFree" }).faults).toHaveLength(1);
  });

  test("is of what failed, of a library, or of all of it", () => {
    expect(functions(trace.filter({ failed: true }))).toEqual(["cuMemAlloc", "cuMemcpyDtoH"]);
    expect(functions(trace.filter({ library: "runtime", failed: false }))).toEqual(["cudaMalloc"]);
    expect(trace.filter({}).records).toEqual(trace.records);
  });
});
