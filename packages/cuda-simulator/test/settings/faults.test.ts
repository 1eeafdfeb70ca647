import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Fault, faultsText, faultText, parseFault } from "../../src/settings/faults.js";
import { FUNCTIONS } from "../../src/settings/functions.js";
import { root, simulatorError } from "../support.js";

const faults: [Fault, string][] = [
  [{ call: "cuMemAlloc", nth: 3, code: 2 }, "cuMemAlloc@3=2"],
  [{ call: "cuIpcOpenMemHandle", nth: 1, stall: "500ms" }, "cuIpcOpenMemHandle@1=stall:500ms"],
  [{ call: "cuMemcpy*", nth: 5, die: true }, "cuMemcpy*@5=die"],
  [{ call: "cudaMalloc", nth: "every", code: 700 }, "cudaMalloc@*=700"],
  [{ call: "cuMemcpyDtoDAsync", nth: 2, code: 719, async: true }, "async:cuMemcpyDtoDAsync@2=719"],
];

describe("a fault", () => {
  test.each(faults)("%j is %s, and back", (fault, text) => {
    expect(faultText(fault)).toBe(text);
    expect(parseFault(text)).toEqual(fault);
  });

  test("is of the first call if nothing else is said, and stalls for milliseconds", () => {
    expect(faultText({ call: "cuInit", stall: 1.5 })).toBe("cuInit@1=stall:1500000ns");
  });

  test("is one of several, separated by commas", () => {
    expect(faultsText(faults.map(([fault]) => fault))).toBe(faults.map(([, text]) => text).join(","));
    expect(faultsText([])).toBe("");
  });

  test.each<[string, Fault]>([
    ["no function cuMemAllocc", { call: "cuMemAllocc", code: 2 }],
    ["no function torch*", { call: "torch*", code: 2 }],
    ["write cuMemAlloc for cuMemAlloc_v2", { call: "cuMemAlloc_v2", code: 2 }],
    ["no name", { call: "cuMemAlloc@1=2,cuMemFree", code: 2 }],
    ["no name", { call: "", code: 2 }],
    ["nth is 0", { call: "cuMemAlloc", nth: 0, code: 2 }],
    ["nth is 1.5", { call: "cuMemAlloc", nth: 1.5, die: true }],
    ["code is 0", { call: "cuMemAlloc", code: 0 }],
    ["code is 1000", { call: "cuMemAlloc", code: 1000 }],
    ["stall", { call: "cuMemAlloc", stall: "1h" }],
    ["stall", { call: "cuMemAlloc", stall: "1ms,cuInit@1=die" }],
    ["none of them", { call: "cuMemAlloc" } as unknown as Fault],
    ["2 of them", { call: "cuMemAlloc", code: 2, die: true }],
  ])("that makes no sense is refused: %s", (words, fault) => {
    expect(() => faultText(fault)).toThrow(simulatorError("INVALID_OPTION", words));
  });

  test.each([
    "",
    "cuMemAlloc",
    "cuMemAlloc=2",
    "cuMemAlloc@0=2",
    "cuMemAlloc@-1=2",
    "cuMemAlloc@1=",
    "cuMemAlloc@1=boom",
    "cuMemAlloc@1=stall:",
    "cuMemAlloc@1=stall:5",
    "async:cuMemAlloc@1=die",
    "cuMemAlloc@1=2,cuMemFree@1=2",
  ])("that can't be read is refused: %j", (text) => {
    expect(() => parseFault(text)).toThrow(simulatorError("INVALID_OPTION", "Fault"));
  });
});

describe("the functions", () => {
  const source = ["driver", "runtime"]
    .map((folder) => join(root, "native/src", folder))
    .flatMap((folder) => readdirSync(folder).map((file) => readFileSync(join(folder, file), "utf8")))
    .join("\n");

  test("that can have faults are those that the simulator traces", () => {
    const traced = source.matchAll(/\b(?:call|callInContext|setNow|setLater)\(\s*"(cu\w+)"/g);
    expect([...FUNCTIONS].sort()).toEqual([...new Set([...traced].map((match) => match[1]))].sort());
  });

  test("that the README lists are those that the simulator exports", () => {
    const exported = source.matchAll(/CUDA_SIMULATOR_EXPORT\s[^(]*?\b(cu\w+)\(/g);
    const names = new Set([...exported].map((match) => match[1]?.replace(/_v\d+$/, "")));
    const section = readFileSync(join(root, "README.md"), "utf8").split("## Functions")[1]?.split("\n## ")[0] ?? "";
    const cells = [...section.matchAll(/^\| (`cu[^|]*) \|/gm)].map((match) => match[1] ?? "");
    const listed = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map((match) => match[1]));
    expect([...listed].sort()).toEqual([...names].sort());
  });
});
