import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DriverProblem, openDriver, probeDriver } from "../support/names.js";
import { onSimulator } from "../support/on-simulator.js";
import { rejection } from "../support/worked.js";

async function assertProblem(problem: DriverProblem, reason: RegExp): Promise<void> {
  const probe = await probeDriver();
  assert.ok(!probe.ok);
  assert.equal(probe.problem, problem, probe.reason);
  assert.match(probe.reason, reason);
  assert.ok(probe.hint.length > 10);
  const error = await rejection(openDriver(), "CUDA_UNAVAILABLE");
  assert.equal(error.message, probe.reason);
  assert.equal(error.hint, probe.hint);
}

/** A C compiler for the machine that the tests' Node is for. */
const [compiler = "cc", ...target] = (process.env.TESSERACT_TEST_CC ?? "cc").split(" ");

/** Has a library made from C source as the driver. */
async function withDriver(source: string, work: () => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "cuda-driver-"));
  try {
    writeFileSync(join(folder, "driver.c"), source);
    process.env.TESSERACT_CUDA_DRIVER = join(folder, "libdriver.so");
    const env = { ...process.env, LD_PRELOAD: "" };
    const args = ["-shared", "-fPIC", "-o", process.env.TESSERACT_CUDA_DRIVER, join(folder, "driver.c")];
    execFileSync(compiler, [...target, ...args], { env });
    await work();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

onSimulator("the driver's version and its devices are described", { memory: "8MiB" }, async () => {
  const probe = await probeDriver();
  assert.ok(probe.ok);
  assert.match(probe.version, /^1\d\.\d$/);
  assert.equal(probe.devices.length, 2);
  for (const [ordinal, device] of probe.devices.entries()) {
    assert.match(device.uuid, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.match(device.pciBusId, /^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d$/);
    assert.deepEqual(
      { ...device, uuid: "", pciBusId: "" },
      {
        ordinal,
        uuid: "",
        name: "CUDA Simulator",
        totalMemory: 2 ** 23,
        pciBusId: "",
        mig: false,
        computeCapability: [8, 0],
        virtualMemory: true,
        memoryPools: true,
      },
    );
  }
});

onSimulator("a device is named by its UUID or its number, and one that isn't there by an error", {}, async () => {
  const driver = await openDriver();
  const [one, other] = driver.devices;
  assert.ok(one !== undefined && other !== undefined);
  assert.equal(driver.device(), one);
  assert.equal(driver.device(1), other);
  assert.equal(driver.device(other.uuid), other);
  assert.equal(driver.find("cc706d87-0000-4b25-8049-50704bf92e7f"), undefined);
  for (const which of [2, -1, 0.5, "", "0"]) {
    const error = await rejection(() => driver.device(which), "INVALID_ARGUMENT");
    assert.ok(error.hint?.includes(one.uuid));
  }
  assert.equal(await openDriver(), driver);
});

onSimulator("no driver is an outcome, not an error", { env: { TESSERACT_CUDA_DRIVER: "libnowhere.so.9" } }, () =>
  assertProblem("no-driver", /libnowhere\.so\.9: (cannot open|No such file)/),
);

onSimulator(
  "a library that is no CUDA driver says what is missing",
  { env: { TESSERACT_CUDA_DRIVER: "libm.so.6" } },
  () => assertProblem("symbol-missing", /cuDriverGetVersion/),
);

/** The compiler makes C's library as well, if it is the first time that it is for this target. In milliseconds. */
const compiles = { timeout: 300_000 };

onSimulator("a driver before CUDA 11.4 is too old", compiles, () =>
  withDriver("int cuInit(unsigned f) { return 0; } int cuDriverGetVersion(int* v) { *v = 11030; return 0; }", () =>
    assertProblem("driver-too-old", /supports CUDA 11\.3, and 11\.4 is needed/),
  ),
);

onSimulator("a missing function of the driver is named", compiles, () =>
  withDriver("int cuInit(unsigned f) { return 0; } int cuDriverGetVersion(int* v) { *v = 12040; return 0; }", () =>
    assertProblem("symbol-missing", /it has no cuGetErrorName/),
  ),
);

onSimulator("a machine without a visible device", { env: { CUDA_VISIBLE_DEVICES: "" } }, () =>
  assertProblem("no-device", /no device/),
);

onSimulator("a driver that can't be initialized", { env: { CUDA_SIMULATOR_DELAY: "soon" } }, () =>
  assertProblem("driver-failed", /cuInit: CUDA_ERROR_SYSTEM_NOT_READY \(802\)/),
);

for (const call of [
  "cuDeviceGetCount",
  "cuDeviceGetName",
  "cuDeviceGetUuid",
  "cuDeviceTotalMem",
  "cuDeviceGetAttribute",
]) {
  onSimulator(
    `a failing ${call} is an outcome, and the next probe may succeed`,
    { faults: [{ call, nth: 1, code: 1 }] },
    async () => {
      await assertProblemOnce(call);
      const probe = await probeDriver();
      assert.ok(probe.ok);
    },
  );
}

async function assertProblemOnce(call: string): Promise<void> {
  const probe = await probeDriver();
  assert.ok(!probe.ok);
  assert.equal(probe.problem, "driver-failed");
  assert.match(probe.reason, new RegExp(`: ${call}(_v2)?: CUDA_ERROR_INVALID_VALUE \\(1\\)$`));
}

onSimulator("a process has one driver: another can't be opened later", {}, async () => {
  assert.ok((await probeDriver()).ok);
  process.env.TESSERACT_CUDA_DRIVER = "libnowhere.so.9";
  const probe = await probeDriver();
  assert.ok(!probe.ok);
  assert.match(probe.reason, /already uses the driver libcuda\.so\.1/);
});

const elsewhere = { "@TESSERACT_TS/TRANSPORT_CUDA_IPC_PREBUILD": tmpdir(), PREBUILDS_ONLY: "1" };
onSimulator("without an addon for the platform the package can be imported, and says so", { env: elsewhere }, () =>
  assertProblem("no-addon", /No native build was found for platform=linux/),
);
