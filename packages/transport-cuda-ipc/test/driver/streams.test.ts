import assert from "node:assert/strict";
import { Batch, type CudaDevice, type DevicePointer, type StreamHandle } from "../support/names.js";
import { onSimulator } from "../support/on-simulator.js";
import { assertNothingHeld, cudaFailure, firstDevice, rejection } from "../support/worked.js";

const bytes = 4096;

/** A producer: a stream of its own, on which memory is about to be filled with 7s. Nobody has waited for it. */
async function producer(device: CudaDevice): Promise<{ stream: StreamHandle; memory: DevicePointer }> {
  const made = new Batch();
  const [stream, memory] = [made.createStream(), made.alloc(bytes)];
  made.fill(memory, 1, bytes);
  const results = await device.submit(made);
  const [handle, pointer] = [results.get(stream), results.get(memory)];
  const filling = new Batch();
  filling.fill(pointer, 7, bytes);
  await device.submit(filling, { stream: handle, wait: false });
  return { stream: handle, memory: pointer };
}

async function end(device: CudaDevice, stream: StreamHandle, memory: DevicePointer): Promise<void> {
  const batch = new Batch();
  batch.synchronizeStream(stream);
  batch.free(memory);
  batch.destroyStream(stream);
  await device.submit(batch);
  await assertNothingHeld();
}

async function firstByte(device: CudaDevice, memory: DevicePointer, before: (batch: Batch) => void): Promise<number> {
  const batch = new Batch();
  const copy = batch.alloc(bytes);
  const received = new Uint8Array(bytes);
  before(batch);
  batch.copy(copy, memory, bytes);
  batch.copyToHost(received, copy);
  batch.free(copy);
  await device.submit(batch);
  assert.equal(new Set(received).size, 1);
  return received[0] ?? -1;
}

onSimulator("a batch waits for what a producer has queued on its stream", { delay: "20ms" }, async () => {
  const device = await firstDevice();
  const { stream, memory } = await producer(device);
  assert.equal(await firstByte(device, memory, (batch) => batch.waitForStream(stream)), 7);
  await end(device, stream, memory);
});

onSimulator("without that it reads what was there before", { delay: "200ms" }, async () => {
  const device = await firstDevice();
  const { stream, memory } = await producer(device);
  assert.equal(await firstByte(device, memory, () => {}), 1);
  await end(device, stream, memory);
});

onSimulator(
  "the per-thread default stream can't be named, so the whole device is waited for",
  { delay: "lazy" },
  async () => {
    const device = await firstDevice();
    const { stream, memory } = await producer(device);
    assert.equal(await firstByte(device, memory, (batch) => batch.waitForStream(2)), 7);
    await end(device, stream, memory);
  },
);

onSimulator(
  "a stream that many arrays name is waited for once, and the legacy default stream has the number 1",
  { check: (trace) => assert.equal(trace.filter({ function: "cuStreamWaitEvent" }).calls.length, 2) },
  async () => {
    const device = await firstDevice();
    const { stream, memory } = await producer(device);
    const batch = new Batch();
    for (let i = 0; i < 5; i++) batch.waitForStream(stream);
    batch.waitForStream(1);
    batch.waitForStream(1n);
    batch.waitForStream(null);
    batch.waitForStream(undefined);
    await device.submit(batch);
    await end(device, stream, memory);
  },
);

onSimulator("a stream of another device can't be waited for, and the error says so", {}, async () => {
  const device = await firstDevice();
  const { stream, memory } = await producer(device);
  const { openDriver } = await import("../support/names.js");
  const batch = new Batch("encoding x");
  const kept = batch.alloc(512);
  batch.waitForStream(stream, { doing: "waiting for the stream of x" });
  batch.fill(kept, 1, 512);
  const error = await cudaFailure((await openDriver()).device(1).submit(batch));
  assert.match(error.message, /^Waiting for the stream of x \(encoding x\): cuEventRecord failed with/);
  await end(device, stream, memory);
});

onSimulator("events order streams, and can be asked and waited for", { delay: "lazy" }, async () => {
  const device = await firstDevice();
  const { stream, memory } = await producer(device);
  const made = new Batch();
  const event = made.createEvent();
  const handle = (await device.submit(made)).get(event);
  const recording = new Batch();
  recording.recordEvent(handle, { stream });
  const busy = [recording.queryEvent(handle), recording.queryStream(stream)];
  const results = await device.submit(recording);
  assert.deepEqual(
    busy.map((each) => results.get(each)),
    [false, false],
  );
  assert.equal(await firstByte(device, memory, (batch) => batch.waitForEvent(handle)), 7);
  const waiting = new Batch();
  waiting.synchronizeEvent(handle);
  const done = [waiting.queryEvent(handle), waiting.queryStream(stream)];
  waiting.destroyEvent(handle);
  const after = await device.submit(waiting);
  assert.deepEqual(
    done.map((each) => after.get(each)),
    [true, true],
  );
  await end(device, stream, memory);
});

onSimulator("a batch that copies host memory has to be waited for", {}, async () => {
  const device = await firstDevice();
  const { stream, memory } = await producer(device);
  const batch = new Batch();
  batch.copyFromHost(memory, new Uint8Array(bytes));
  await rejection(device.submit(batch, { stream, wait: false }), "INVALID_ARGUMENT");
  await end(device, stream, memory);
});

onSimulator("streams and events are destroyed once", {}, async () => {
  const device = await firstDevice();
  const made = new Batch();
  const [stream, event] = [made.createStream(), made.createEvent()];
  const results = await device.submit(made);
  const destroy = (): Promise<unknown> => {
    const batch = new Batch();
    batch.destroyStream(results.get(stream));
    batch.destroyEvent(results.get(event));
    return device.submit(batch);
  };
  await destroy();
  const error = await cudaFailure(destroy());
  assert.equal(error.ownRefusal, true);
  assert.deepEqual(
    error.failures.map(({ call }) => call),
    ["cuEventDestroy"],
  );
  await assertNothingHeld();
});
