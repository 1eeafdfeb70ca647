import { describe, expect, test } from "vitest";
import { parseTraceLine } from "../../src/trace/record.js";
import { call, line, simulatorError } from "../support.js";

describe("a line of a trace", () => {
  test("is a call, with its bytes, its direction and its addresses", () => {
    const text = call("cuMemcpyDtoH", {
      bytes: 400_000,
      direction: "DtoH",
      async: false,
      duration: 1500,
      destination: "0x5616b328ca00",
      source: "0xffffffffffffffff",
    });
    expect(parseTraceLine(text)).toEqual({
      type: "call",
      time: 1_795_994_649_190_159_173n,
      pid: 10,
      tid: 11,
      library: "driver",
      function: "cuMemcpyDtoH",
      result: 0,
      bytes: 400_000,
      direction: "DtoH",
      async: false,
      duration: 1500,
      addresses: { destination: 0x5616b328ca00n, source: 2n ** 64n - 1n },
    });
  });

  test("may lack what doesn't apply", () => {
    const record = parseTraceLine(call("cuInit", { result: 802 }));
    expect(record).toMatchObject({ function: "cuInit", result: 802, addresses: {} });
    expect(record).not.toHaveProperty("bytes");
  });

  test.each([
    [line("begin", { machine: "/dev/shm/x", devices: 2 }), { type: "begin", devices: 2 }],
    [line("end", { leaks: 1, leakedBytes: 1024 }), { type: "end", leaks: 1, leakedBytes: 1024 }],
    [line("leak", { kind: "memory", pointer: "0x10", bytes: 5 }), { type: "leak", pointer: 16n, bytes: 5 }],
    [line("hazard", { what: "freed", allocation: 3, bytes: 5 }), { type: "hazard", what: "freed", allocation: 3 }],
    [line("fault", { function: "cuInit", effect: "die" }), { type: "fault", function: "cuInit", effect: "die" }],
    [line("failure", { context: "0x1", result: 719 }), { type: "failure", context: 1n, result: 719 }],
  ])("is of each type: %s", (text, members) => {
    expect(parseTraceLine(text)).toMatchObject(members);
  });

  test("keeps nanoseconds since 1970 to the last digit", () => {
    const record = parseTraceLine(line("end", { time: "1795994649190159999", leaks: 0, leakedBytes: 0 }));
    expect(record?.time).toBe(1_795_994_649_190_159_999n);
  });

  test("of a type that isn't known is passed over", () => {
    expect(parseTraceLine(line("kernel", { grid: [1, 2, 3] }))).toBeUndefined();
  });

  test("may have members that aren't known, whatever their names", () => {
    const record = parseTraceLine(
      call("cuInit").replace("{", '{"__proto__":{"bytes":1},"constructor":1,"__bytes":"x",'),
    );
    expect(record).not.toHaveProperty("bytes");
    expect(Object.getPrototypeOf(record)).toBe(Object.prototype);
  });

  test.each([
    ["not JSON", "Traceback (most recent call last):"],
    ["cut off", call("cuInit").slice(0, -10)],
    ["no object", "[1]"],
    ["null", "null"],
    ["without a type", '{"time":1,"pid":1,"tid":1}'],
    ["without a time", '{"type":"end","pid":1,"tid":1,"leaks":0,"leakedBytes":0}'],
    [
      "with a time of another place",
      '{"type":"end","x":"\\"time\\":5","time":1e3,"pid":1,"tid":1,"leaks":0,"leakedBytes":0}',
    ],
    ["with a negative pid", line("end", { pid: -1, leaks: 0, leakedBytes: 0 })],
    ["with text for a number", call("cuInit", { result: "0" })],
    ["with a fraction of a byte", call("cuMemAlloc", { bytes: 0.5 })],
    ["with an infinite number", call("cuMemAlloc", { bytes: 1 }).replace('"bytes":1', '"bytes":1e999')],
    ["with another direction", call("cuMemcpy", { direction: "DtoX" })],
    ["with another library", call("cuMemcpy", { library: "nvml" })],
    ["with a function that is no name", call("cuInit", { function: "\u001b[2J" })],
    ["with a huge name", call("cuInit", { function: "a".repeat(129) })],
    ["with an address that is none", call("cuMemFree", { pointer: "0xzz" })],
    ["with an address of too many digits", call("cuMemFree", { pointer: `0x1${"0".repeat(16)}` })],
  ])("that is %s is refused", (_, text) => {
    expect(() => parseTraceLine(text)).toThrow(simulatorError("TRACE_MALFORMED"));
  });
});
