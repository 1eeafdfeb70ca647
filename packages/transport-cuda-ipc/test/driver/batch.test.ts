import assert from "node:assert/strict";
import { Batch, type DevicePointer, openDriver } from "../support/names.js";
import { onSimulator } from "../support/on-simulator.js";
import { assertNothingHeld, cudaFailure, firstDevice, pattern, rejection } from "../support/worked.js";

const synchronizations = /^cu(Stream|Ctx|Event)Synchronize$/;

onSimulator("bytes go to the device and come back the same", {}, async () => {
  const device = await firstDevice();
  const [sent, received] = [pattern(100_000), new Uint8Array(100_000)];
  const batch = new Batch();
  const memory = batch.alloc(sent.length);
  batch.copyFromHost(memory, sent);
  batch.copyToHost(received, memory);
  batch.free(memory);
  await device.submit(batch);
  assert.deepEqual(received, sent);
  await assertNothingHeld();
});

onSimulator(
  "a hundred arrays are copied with one synchronization",
  { check: (trace) => assert.equal(trace.filter({ function: synchronizations }).calls.length, 1) },
  async () => {
    const device = await firstDevice();
    const batch = new Batch();
    const sent = pattern(4096);
    const received = Array.from({ length: 100 }, () => new Uint8Array(sent.length));
    const sources = received.map(() => batch.alloc(sent.length));
    const targets = received.map(() => batch.alloc(sent.length));
    for (const source of sources) batch.copyFromHost(source, sent);
    sources.forEach((source, i) => {
      const target = targets[i];
      if (target !== undefined) batch.copy(target, source, sent.length);
    });
    targets.forEach((target, i) => {
      const bytes = received[i];
      if (bytes !== undefined) batch.copyToHost(bytes, target);
    });
    for (const memory of [...sources, ...targets]) batch.free(memory);
    await device.submit(batch);
    for (const bytes of received) assert.deepEqual(bytes, sent);
    await assertNothingHeld();
  },
);

onSimulator(
  "a batch that queues nothing waits for nothing",
  {
    check: (trace) => assert.equal(trace.filter({ function: synchronizations }).calls.length, 0),
  },
  async () => {
    const device = await firstDevice();
    const batch = new Batch();
    const memory = batch.alloc(512);
    const range = batch.addressRange(memory.at(5));
    batch.free(memory);
    const results = await device.submit(batch);
    assert.deepEqual(results.get(range), { base: results.get(memory), bytes: 512 });
  },
);

onSimulator("work that uses memory has ended before the same batch frees it", { delay: "lazy" }, async () => {
  const device = await firstDevice();
  const batch = new Batch();
  const [one, other] = [batch.alloc(4096), batch.alloc(4096)];
  batch.fill(one, 7, 4096);
  batch.free(other);
  batch.copy(one.at(2048), one, 2048);
  batch.free(one);
  await device.submit(batch);
  await assertNothingHeld();
});

onSimulator("what the batch made is undone when an operation fails, and what it was to free is freed", {}, async () => {
  const device = await firstDevice();
  const before = await device.alloc(1024);
  const batch = new Batch("decoding y");
  const kept = batch.alloc(1024);
  batch.copy(kept, before, 1024);
  batch.createStream();
  batch.createEvent();
  const tooMuch = batch.alloc(2 ** 40, { doing: "making room for y" });
  batch.copy(tooMuch, kept, 1024);
  batch.free(tooMuch);
  batch.free(before);
  const error = await cudaFailure(device.submit(batch));
  assert.equal(error.code, "OUT_OF_DEVICE_MEMORY");
  assert.equal(error.operation, 4);
  assert.match(
    error.message,
    /^Making room for y \(decoding y\): cuMemAlloc failed with CUDA_ERROR_OUT_OF_MEMORY \(2\)/,
  );
  assert.deepEqual(error.failures, []);
  assert.match(error.hint ?? "", /no longer needed/);
  await assertNothingHeld();
});

onSimulator("memory of each kind can be used, and says whether it can be shared", {}, async () => {
  const device = await firstDevice();
  const batch = new Batch();
  const kinds = ["plain", "virtual", "pool"] as const;
  const sent = pattern(3000);
  const made = kinds.map((kind) => {
    const memory = batch.alloc(sent.length, { kind });
    const received = new Uint8Array(sent.length);
    batch.copyFromHost(memory, sent);
    batch.copyToHost(received, memory);
    return { memory, received, attributes: batch.attributes(memory.at(17)) };
  });
  const granularity = batch.granularity();
  const results = await device.submit(batch);
  assert.deepEqual(
    made.map(({ attributes }) => results.get(attributes).legacyIpcCapable),
    [true, false, false],
  );
  for (const { memory, attributes, received } of made) {
    assert.deepEqual(received, sent);
    const { memoryType, ordinal, range, managed } = results.get(attributes);
    assert.deepEqual([memoryType, ordinal, range.base, managed], ["device", 0, results.get(memory), false]);
  }
  const [, virtual] = made;
  assert.ok(virtual !== undefined);
  assert.equal(results.get(virtual.attributes).range.bytes % results.get(granularity), 0);
  const ids = made.map(({ attributes }) => results.get(attributes).bufferId);
  assert.equal(new Set(ids).size, 3);
  const end = new Batch();
  for (const { memory } of made) end.free(results.get(memory));
  await device.submit(end);
  await assertNothingHeld();
});

onSimulator("an address that isn't device memory is unknown, and has no allocation", {}, async () => {
  const device = await firstDevice();
  const batch = new Batch();
  const attributes = batch.attributes(4096n as DevicePointer);
  const found = (await device.submit(batch)).get(attributes);
  assert.deepEqual([found.memoryType, found.ordinal, found.legacyIpcCapable], ["unknown", undefined, false]);
  const other = new Batch();
  other.addressRange(4096n as DevicePointer);
  const error = await cudaFailure(device.submit(other));
  assert.deepEqual(
    [error.call, error.driverCode, error.driverName],
    ["cuMemGetAddressRange", 1, "CUDA_ERROR_INVALID_VALUE"],
  );
});

onSimulator(
  "memory is freed once, by the environment and the device that it belongs to",
  {
    check: (trace) => assert.equal(trace.filter({ function: "cuMemFree" }).calls.length, 1),
  },
  async () => {
    const driver = await openDriver();
    const device = driver.device(0);
    const memory = await device.alloc(512);
    assert.match((await rejection(driver.device(1).free(memory), "CUDA_ERROR")).hint ?? "", /another thread or device/);
    const frees = await Promise.allSettled([device.free(memory), device.free(memory)]);
    assert.deepEqual(frees.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    await rejection(device.free(memory), "CUDA_ERROR");
    await rejection(device.free(12345n as DevicePointer), "CUDA_ERROR");
    await assertNothingHeld();
  },
);

onSimulator(
  "nothing needs no memory: 0 bytes are the null pointer",
  {
    check: (trace) => assert.equal(trace.filter({ function: "cuMem*" }).calls.length, 0),
  },
  async () => {
    const device = await firstDevice();
    const batch = new Batch();
    const nothing = batch.alloc(0);
    batch.copyFromHost(nothing, new Uint8Array(0));
    batch.copy(nothing, nothing, 0);
    batch.fill(nothing, 1, 0);
    batch.copyToHost(new Uint8Array(0), nothing);
    batch.free(nothing);
    assert.equal((await device.submit(batch)).get(nothing), 0n);
    assert.equal(await device.submit(new Batch()).then(() => "done"), "done");
  },
);

onSimulator("rows are copied with their pitches, and fills set each byte", {}, async () => {
  const device = await firstDevice();
  const batch = new Batch();
  const [from, to] = [batch.alloc(6 * 10), batch.alloc(5 * 6)];
  batch.copyFromHost(from, pattern(60));
  batch.fill(to, 255, 30);
  batch.copy2D(to.at(1), 5, from.at(2), 10, 4, 6);
  const received = new Uint8Array(30);
  batch.copyToHost(received, to);
  for (const memory of [from, to]) batch.free(memory);
  await device.submit(batch);
  const expected = new Uint8Array(30).fill(255);
  for (let row = 0; row < 6; row++) expected.set(pattern(4, row * 10 + 2), row * 5 + 1);
  assert.deepEqual(received, expected);
});

onSimulator("bytes go from one device to another that is no peer", { peers: false }, async () => {
  const driver = await openDriver();
  const [one, other] = [driver.device(0), driver.device(1)];
  const sent = pattern(10_000);
  const target = await other.alloc(sent.length);
  const batch = new Batch();
  const source = batch.alloc(sent.length);
  batch.copyFromHost(source, sent);
  batch.copyPeer(target, 1, source, 0, sent.length);
  batch.free(source);
  await one.submit(batch);
  const reading = new Batch();
  const received = new Uint8Array(sent.length);
  reading.copyToHost(received, target);
  reading.free(target);
  await other.submit(reading);
  assert.deepEqual(received, sent);
  await assertNothingHeld();
});

onSimulator("memory that is in use is missing from what is free", {}, async () => {
  const device = await firstDevice();
  const batch = new Batch();
  const before = batch.memoryInfo();
  const memory = batch.alloc(2 ** 20);
  const during = batch.memoryInfo();
  batch.free(memory);
  const results = await device.submit(batch);
  assert.equal(results.get(before).free - results.get(during).free, 2 ** 20);
  assert.deepEqual(await device.memoryInfo(), { free: 2 ** 26, total: 2 ** 26 });
});

onSimulator(
  "a batch is refused before anything is done if it can't be right",
  {
    check: (trace) => assert.equal(trace.filter({ function: "cuMem*" }).calls.length, 0),
  },
  async () => {
    const device = await firstDevice();
    const batch = new Batch();
    const refused = (work: () => unknown): Promise<unknown> => rejection(work, "INVALID_ARGUMENT");
    await refused(() => batch.alloc(-1));
    await refused(() => batch.alloc(1.5));
    await refused(() => batch.free((2n ** 64n) as DevicePointer));
    await refused(() => batch.ipcOpen(new Uint8Array(63)));
    await refused(() => batch.waitForStream(0));
    await refused(() => batch.waitForStream(-1n));
    await refused(() => batch.copyFromHost(1n as DevicePointer, new Uint8Array(new SharedArrayBuffer(8))));
    await refused(() => batch.free(new Batch().alloc(1)));
    const resizable = Reflect.construct(ArrayBuffer, [8, { maxByteLength: 16 }]) as ArrayBuffer;
    await refused(() => batch.copyToHost(new Uint8Array(resizable), 1n as DevicePointer));
    assert.equal(batch.length, 0);
    await device.submit(batch);
    await refused(() => device.submit(batch));
  },
);
