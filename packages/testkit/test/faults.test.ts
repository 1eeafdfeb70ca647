// The suite finds faults: transports that are broken on purpose fail in the cases that are about what is broken, and in no other.
import { closeSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ConformanceError, runConformance, type Sides, transportConformance } from "../src/index.js";
import { type DeviceFault, FakeDevice, onDevice } from "./broken/device.js";
import { type FileFault, files, kept } from "./broken/files.js";
import { hex, type TextFault } from "./broken/hex.js";

// Each is a whole suite, on a machine that may be busy.
vi.setConfig({ testTimeout: 300_000 });

/** The ids of the cases that fail, each with an error that names its rule. */
async function failures(create: () => Sides, carries: "host" | "device" = "host"): Promise<string[]> {
  const results = await runConformance(transportConformance({ name: "broken", carries, largeBytes: 1 << 18, create }));
  return results.flatMap((result) => {
    if (result.ok) return [];
    expect(result.error).toBeInstanceOf(ConformanceError);
    expect(String(result.error)).toMatch(/The rule: .+\n {2}See docs\/write-a-transport\.md#[a-z-]+$/);
    return [result.id];
  });
}

function throughFiles(fault?: FileFault): Sides {
  const folder = mkdtempSync(join(tmpdir(), "tesseract-testkit-"));
  return {
    sender: files(folder, fault),
    receiver: files(folder, fault),
    leftovers: () => readdirSync(folder),
    end: () => rmSync(folder, { recursive: true }),
  };
}

function onFakeDevice(fault?: DeviceFault): Sides {
  const device = new FakeDevice();
  return {
    sender: onDevice(device, fault),
    receiver: onDevice(device, fault),
    leftovers: () => [...device.memory.keys()].map((pointer) => `device memory at ${pointer}`),
  };
}

afterEach(() => {
  for (const descriptor of kept.splice(0)) closeSync(descriptor);
});

describe("without a fault, every case passes", () => {
  test("through files", async () => expect(await failures(() => throughFiles())).toEqual([]));
  test("through text", async () => expect(await failures(() => ({ sender: hex() }))).toEqual([]));
  test("through a device's memory", async () => expect(await failures(() => onFakeDevice(), "device")).toEqual([]));
});

describe("a transport through files that", () => {
  const faults: Readonly<Record<FileFault, readonly string[]>> = {
    "a name in capitals": ["identity"],
    "a probe that throws": ["probe"],
    "a probe that refuses": ["probe"],
    "swaps arrays of long messages": ["many"],
    "calls bool uint8": ["dtype-bool", "many", "within", "inputs"],
    "makes scalars of complex128 lists": ["dtype-complex128"],
    "makes all NaNs of float16 alike": ["dtype-float16"],
    "writes no more than 64 KiB": ["large"],
    "writes the memory around an array too": ["within", "inputs"],
    "refuses a message without arrays": ["empty"],
    "refuses an array that stands in a message twice": ["twice"],
    "reverses the bytes of inputs in place": ["inputs"],
    "gives the sender's own arrays": ["results"],
    "reads into memory that it uses again": ["results-stay"],
    "ends a message when the next is encoded": ["lease-keeps", "lease-order", "concurrency"],
    "never removes files": ["lease-ends", "abandon", "abort-encode", "abort-decode", "session-close", "nothing-left"],
    "fails when a lease is released again": ["lease-once", "abandon"],
    "uses a file again that was released twice": ["lease-once", "abandon"],
    "writes to a file that was abandoned": ["abandon"],
    "leaves a file of an aborted call": ["abort-encode"],
    "has a reason of its own for aborting": ["abort-encode"],
    "leaves a descriptor of an aborted call": ["abort-decode"],
    "takes any buffer for a string": ["wrong-buffers"],
    "opens any path": ["paths"],
    "takes memory before it looks at the file": ["wrong-shapes", "huge"],
    "takes what there is for the array": ["wrong-shapes", "off-by-one", "huge", "mutations"],
    "keeps the file of the last message in a variable": ["concurrency"],
    "ends its messages with its session": ["session-close"],
    "chokes on a header": ["session-headers"],
    "says what no header can": ["session-headers"],
    "keeps the files of long messages": ["nothing-left"],
    "keeps a descriptor of long messages": ["nothing-left"],
  };
  test.each(Object.entries(faults) as [FileFault, readonly string[]][])("%s fails in %j", async (fault, expected) => {
    expect(await failures(() => throughFiles(fault))).toEqual(expected);
  });
});

describe("a transport through text that", () => {
  const faults: Readonly<Record<TextFault, readonly string[]>> = {
    "gives its text once": ["large"],
    "says a wrong length": ["large"],
    "changes a chunk too early": ["large"],
    "forgets to quote": ["large"],
    "takes memory for what is announced": ["wrong-shapes", "huge", "announced"],
    "throws what it likes": ["wrong-buffers", "paths", "mutations", "announced"],
    "writes behind its memory": ["wrong-buffers", "cut-buffers", "wrong-shapes", "off-by-one", "huge", "mutations"],
  };
  test.each(Object.entries(faults) as [TextFault, readonly string[]][])("%s fails in %j", async (fault, expected) => {
    expect(await failures(() => ({ sender: hex(fault) }))).toEqual(expected);
  });
});

describe("a transport for device arrays that", () => {
  const faults: Readonly<Record<DeviceFault, readonly string[]>> = {
    "doesn't look at strides": ["strided"],
    "copies through memory that it forgets": ["nothing-left"],
    "checks with other bytes": ["check", "check-apart"],
    "checks one at a time": ["check-apart"],
    "takes anything for a check": ["check-hostile"],
  };
  test.each(Object.entries(faults) as [DeviceFault, readonly string[]][])("%s fails in %j", async (fault, expected) => {
    expect(await failures(() => onFakeDevice(fault), "device")).toEqual(expected);
  });
});
