/**
 * Every function of the driver that a batch calls, failing on demand: the error is typed and names it, what was freed or
 * closed is, and nothing is left over.
 */
import assert from "node:assert/strict";
import { Batch, type CudaDevice, CudaError, openDriver } from "../support/names.js";
import { onSimulator } from "../support/on-simulator.js";
import { assertNothingHeld, cudaFailure, firstDevice, pattern } from "../support/worked.js";

const bytes = 4096;

/** Batches that between them call everything, each complete in itself. */
async function workload(): Promise<CudaError[]> {
  const driver = await openDriver();
  const [device, peer] = [driver.device(0), driver.device(1)];
  const errors: CudaError[] = [];
  const done = async (work: Promise<unknown>): Promise<void> => {
    await work.catch((error: unknown) => {
      assert.ok(error instanceof CudaError, String(error));
      errors.push(error);
    });
  };
  for (const kind of ["plain", "virtual", "pool"] as const) {
    const batch = new Batch();
    const [one, other] = [batch.alloc(bytes, { kind }), batch.alloc(bytes, { kind })];
    batch.copyFromHost(one, pattern(bytes));
    batch.fill(other, 1, bytes);
    batch.copy(other, one, bytes / 2);
    batch.copy2D(other, 64, one, 32, 16, 8);
    batch.copyToHost(new Uint8Array(bytes), other);
    batch.attributes(one);
    batch.addressRange(one);
    batch.granularity();
    batch.memoryInfo();
    if (kind === "plain") batch.ipcHandle(one);
    batch.free(one);
    batch.free(other);
    await done(device.submit(batch));
  }
  await done(peering(device, peer));
  await done(streaming(device));
  return errors;
}

async function peering(device: CudaDevice, peer: CudaDevice): Promise<void> {
  const far = await peer.alloc(bytes);
  const batch = new Batch();
  const near = batch.alloc(bytes);
  batch.fill(near, 3, bytes);
  batch.copyPeer(far, peer.ordinal, near, device.ordinal, bytes);
  batch.free(near);
  try {
    await device.submit(batch);
  } finally {
    await peer.free(far);
  }
}

async function streaming(device: CudaDevice): Promise<void> {
  const made = new Batch();
  const [stream, event] = [made.createStream(), made.createEvent()];
  const results = await device.submit(made);
  const batch = new Batch();
  batch.waitForStream(results.get(stream));
  batch.waitForStream(2);
  batch.recordEvent(results.get(event), { stream: results.get(stream) });
  batch.waitForEvent(results.get(event));
  batch.synchronizeEvent(results.get(event));
  batch.queryEvent(results.get(event));
  batch.queryStream(results.get(stream));
  batch.synchronizeStream(results.get(stream));
  const end = (): Promise<unknown> => {
    const ending = new Batch();
    ending.destroyEvent(results.get(event));
    ending.destroyStream(results.get(stream));
    return device.submit(ending);
  };
  try {
    await device.submit(batch);
  } finally {
    // What couldn't be destroyed is still held, and can be destroyed again.
    await end().catch(async (error: unknown) => {
      await end().catch((again: unknown) => assert.ok(again instanceof CudaError && again.ownRefusal));
      throw error;
    });
  }
}

const calls = [
  "cuDevicePrimaryCtxRetain",
  "cuCtxPushCurrent",
  "cuCtxSynchronize",
  "cuMemAlloc",
  "cuMemFree",
  "cuMemGetInfo",
  "cuMemGetAddressRange",
  "cuPointerGetAttributes",
  "cuMemcpyHtoDAsync",
  "cuMemcpyDtoHAsync",
  "cuMemcpyDtoDAsync",
  "cuMemcpyPeerAsync",
  "cuMemcpy2DAsync",
  "cuMemsetD8Async",
  "cuMemAllocAsync",
  "cuMemFreeAsync",
  "cuStreamCreate",
  "cuStreamDestroy",
  "cuStreamSynchronize",
  "cuStreamQuery",
  "cuStreamWaitEvent",
  "cuEventCreate",
  "cuEventDestroy",
  "cuEventRecord",
  "cuEventQuery",
  "cuEventSynchronize",
  "cuIpcGetMemHandle",
  "cuMemGetAllocationGranularity",
  "cuMemAddressReserve",
  "cuMemAddressFree",
  "cuMemCreate",
  "cuMemRelease",
  "cuMemMap",
  "cuMemUnmap",
  "cuMemSetAccess",
];

for (const call of calls) {
  onSimulator(
    `a failing ${call} is a typed error, and leaves nothing behind`,
    { faults: [{ call, nth: 1, code: 304 }] },
    async () => {
      const errors = await workload();
      assert.equal(errors.length, 1, errors.map(String).join("\n"));
      const [error] = errors;
      assert.deepEqual(
        [error?.call, error?.driverCode, error?.driverName, error?.code],
        [call, 304, "CUDA_ERROR_OPERATING_SYSTEM", "CUDA_ERROR"],
      );
      await assertNothingHeld();
    },
  );
}

onSimulator(
  "without a fault, all of it works",
  {
    check: (trace) => {
      const called = new Set(trace.calls.map((each) => each.function));
      assert.deepEqual(
        calls.filter((name) => !called.has(name)),
        [],
      );
    },
  },
  async () => {
    assert.deepEqual(await workload(), []);
    await assertNothingHeld();
  },
);

onSimulator(
  "no memory left is an error of its own, and what was allocated before it is given back",
  { memory: "8MiB" },
  async () => {
    const device = await firstDevice();
    const batch = new Batch("encoding the inputs of apply");
    for (let i = 0; i < 10; i++) batch.alloc(2 ** 20);
    const error = await cudaFailure(device.submit(batch));
    assert.deepEqual([error.code, error.operation], ["OUT_OF_DEVICE_MEMORY", 8]);
    await assertNothingHeld();
    assert.equal((await device.memoryInfo()).free, 2 ** 23);
  },
);

for (const kind of ["virtual", "pool"] as const) {
  onSimulator(`no ${kind} memory left is the same error`, { memory: "8MiB" }, async () => {
    const device = await firstDevice();
    const batch = new Batch();
    for (let i = 0; i < 10; i++) batch.alloc(2 ** 21, { kind });
    assert.equal((await cudaFailure(device.submit(batch))).code, "OUT_OF_DEVICE_MEMORY");
    await assertNothingHeld();
    assert.equal((await device.memoryInfo()).free, 2 ** 23);
  });
}

onSimulator(
  "work that fails on the device fails the batch that waits for it, and says that the device is lost",
  // A failed context lets nothing be freed any more: that is the process's end to do.
  { faults: [{ call: "cuMemcpyDtoDAsync", nth: 1, code: 719, async: true }], mayLeak: true },
  async () => {
    const device = await firstDevice();
    const batch = new Batch("encoding x");
    const [one, other] = [batch.alloc(bytes), batch.alloc(bytes)];
    batch.copyFromHost(one, pattern(bytes));
    batch.copy(other, one, bytes);
    batch.free(one);
    const error = await cudaFailure(device.submit(batch));
    assert.deepEqual([error.driverCode, error.deviceLost, error.code], [719, true, "CUDA_ERROR"]);
    assert.match(error.hint ?? "", /Restart it/);
    assert.ok(error.failures.length > 0);
    const later = await cudaFailure(device.alloc(1));
    assert.equal(later.driverCode, 719);
    // The other device is as it was.
    const peer = (await openDriver()).device(1);
    await peer.free(await peer.alloc(1));
  },
);
