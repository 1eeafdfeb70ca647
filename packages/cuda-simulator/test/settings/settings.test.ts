import { describe, expect, test } from "vitest";
import { libraryPath, unsetVariables, variablesOf } from "../../src/settings/settings.js";
import { simulatorError } from "../support.js";

describe("settings become environment variables", () => {
  test("only those that are set", () => {
    expect(variablesOf({})).toEqual({});
    expect(variablesOf({ devices: 2, strict: undefined })).toEqual({ CUDA_SIMULATOR_DEVICES: "2" });
  });

  test("all of them", () => {
    const variables = variablesOf({
      devices: 16,
      memory: "1.5GiB",
      peers: true,
      delay: { least: "1ms", most: 20 },
      seed: 2n ** 63n,
      strict: true,
      leaks: false,
      faults: [
        { call: "cuMemAlloc", code: 2 },
        { call: "cuMemFree", nth: "every", die: true },
      ],
      host: "node-2",
      pidNamespace: "b",
      visibleDevices: [1, "GPU-46b1"],
    });
    expect(variables).toEqual({
      CUDA_SIMULATOR_DEVICES: "16",
      CUDA_SIMULATOR_MEMORY: "1.5GiB",
      CUDA_SIMULATOR_PEERS: "1",
      CUDA_SIMULATOR_DELAY: "1ms..20000000ns",
      CUDA_SIMULATOR_SEED: "9223372036854775808",
      CUDA_SIMULATOR_STRICT: "1",
      CUDA_SIMULATOR_LEAKS: "0",
      CUDA_SIMULATOR_FAULTS: "cuMemAlloc@1=2,cuMemFree@*=die",
      CUDA_SIMULATOR_HOST: "node-2",
      CUDA_SIMULATOR_PID_NAMESPACE: "b",
      CUDA_VISIBLE_DEVICES: "1,GPU-46b1",
    });
  });

  test.each([
    ["lazy", "lazy"],
    ["0", "0"],
    ["500us", "500us"],
    [2, "2000000ns"],
    ["1ms..20ms", "1ms..20ms"],
  ])("a delay of %s is %s", (delay, text) => {
    expect(variablesOf({ delay }).CUDA_SIMULATOR_DELAY).toBe(text);
  });

  test.each([
    ["1ms..2ms..3ms"],
    ["5"],
    ["-5ms"],
    ["20ms..1ms"],
    ["1 ms"],
    ["1ms.."],
    [""],
    [-1],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    ["99999999999s"],
  ])("a delay of %j is refused", (delay) => {
    expect(() => variablesOf({ delay })).toThrow(simulatorError("INVALID_OPTION"));
  });

  test.each([
    [0],
    [-1],
    [Number.NaN],
    ["0"],
    ["1gb"],
    ["1 GiB"],
    ["GiB"],
    ["1e9"],
    ["2PiB"],
    ["9999999GiB"],
    ["__proto__"],
  ])("a memory of %j is refused", (memory) => {
    expect(() => variablesOf({ memory })).toThrow(simulatorError("INVALID_OPTION", "memory"));
  });

  test.each([0, 17, 1.5, Number.NaN])("%d devices are refused", (devices) => {
    expect(() => variablesOf({ devices })).toThrow(simulatorError("INVALID_OPTION", "devices", "1 to 16"));
  });

  test.each([-1, 0.5, 2 ** 53, -1n, 2n ** 64n])("a seed of %s is refused", (seed) => {
    expect(() => variablesOf({ seed })).toThrow(simulatorError("INVALID_OPTION", "seed"));
  });

  test.each(["../x", "a b", "", "a".repeat(49), "a+b", "a.1"])("a host of the name %j is refused", (host) => {
    expect(() => variablesOf({ host })).toThrow(simulatorError("INVALID_OPTION", "host"));
  });
});

test("without settings every variable is as if it weren't set, and every device is visible", () => {
  const { CUDA_VISIBLE_DEVICES, ...others } = unsetVariables(3);
  expect(CUDA_VISIBLE_DEVICES).toBe("0,1,2");
  expect(new Set(Object.values(others))).toEqual(new Set([""]));
  expect(Object.keys(others)).toContain("CUDA_SIMULATOR_FAULTS");
});

test("the libraries come first on the library path", () => {
  expect(libraryPath("/sim", undefined)).toBe("/sim");
  expect(libraryPath("/sim", "")).toBe("/sim"); // an empty entry would be the working directory
  expect(libraryPath("/sim", "/a:/b")).toBe("/sim:/a:/b");
});
