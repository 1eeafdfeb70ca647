import assert from "node:assert/strict";
import { once } from "node:events";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { Batch, type CudaDevice, openDriver } from "../support/names.js";
import { onSimulator, role, startRole, startWorker } from "../support/on-simulator.js";
import { SLOWDOWN } from "../support/other-node.js";
import { assertNothingHeld, firstDevice, pattern } from "../support/worked.js";

const slow = "cuStreamSynchronize";
/** Waiting for the device takes this long, in milliseconds. */
const stalled = (time: number) => [{ call: slow, nth: "every", stall: `${time}ms` }] as const;
/** The machine may be busy with something else once, but not each time. */
const TRIES = 5;

function roundTrip(device: CudaDevice, bytes = 10_000): { ended: Promise<unknown>; assert(): void } {
  const batch = new Batch();
  const [sent, received] = [pattern(bytes), new Uint8Array(bytes)];
  const [one, other] = [batch.alloc(bytes), batch.alloc(bytes)];
  batch.copyFromHost(one, sent);
  batch.copy(other, one, bytes);
  batch.copyToHost(received, other);
  batch.free(one);
  batch.free(other);
  return { ended: device.submit(batch), assert: () => assert.deepEqual(received, sent) };
}

/** How long the event loop was busy, or held up, while `work` went on, in milliseconds. */
async function busyDuring(work: () => Promise<unknown>): Promise<number> {
  // A turn of its own, so that what came before isn't counted.
  await sleep(5);
  const before = performance.eventLoopUtilization();
  await work();
  return performance.eventLoopUtilization(before).active;
}

const SLOW_MS = 200 * SLOWDOWN;
onSimulator(
  "calls that wait for a slow device don't hold up the event loop",
  { faults: stalled(SLOW_MS) },
  async () => {
    const device = await firstDevice();
    const busy: number[] = [];
    for (let tries = 0; tries < TRIES && !busy.some((time) => time < SLOW_MS); tries++) {
      const trips = Array.from({ length: 8 }, () => roundTrip(device));
      busy.push(await busyDuring(() => Promise.all(trips.map(({ ended }) => ended))));
      for (const trip of trips) trip.assert();
    }
    // Had it waited for one of them, it would have been busy for at least as long as that takes.
    assert.ok(Math.min(...busy) < SLOW_MS, `the event loop was busy for ${busy.join(", ")} ms`);
    await assertNothingHeld();
  },
);

onSimulator(
  "allocating, opening and freeing don't wait for batches that wait",
  { faults: stalled(1500 * SLOWDOWN), timeout: 60_000 },
  async () => {
    const device = await firstDevice();
    let waited = 0;
    let tries = 0;
    do {
      // More than may wait at the same time.
      const trips = Array.from({ length: 20 }, () => roundTrip(device));
      let waiting = trips.length;
      for (const { ended } of trips) ended.finally(() => waiting--);
      await sleep(100);
      const quick = Array.from({ length: 10 }, async () => device.free(await device.alloc(512)));
      await Promise.all(quick);
      waited = trips.length - waiting;
      await Promise.all(trips.map(({ ended }) => ended));
      tries += 1;
    } while (waited > 0 && tries < TRIES);
    // A quick call that had to wait for one of them would have ended after it.
    assert.equal(waited, 0, `${waited} batches ended before 20 quick calls did`);
  },
);

onSimulator(
  "a few native threads call the driver, however many batches there are",
  {
    check: (trace) => {
      const threads = new Set(trace.filter({ function: "cuMem*" }).calls.map(({ tid }) => tid));
      assert.ok(threads.size > 1 && threads.size <= 24, `${threads.size} threads`);
      // And never the main thread, but for giving back the contexts when it ends.
      const own = new Set(trace.calls.filter(({ tid, pid }) => tid === pid).map((each) => each.function));
      assert.deepEqual(own, new Set(["cuDeviceGet", "cuDevicePrimaryCtxRelease"]));
    },
  },
  async () => {
    const device = await firstDevice();
    const trips = Array.from({ length: 200 }, () => roundTrip(device, 100));
    await Promise.all(trips.map(({ ended }) => ended));
    for (const trip of trips) trip.assert();
    await assertNothingHeld();
  },
);

onSimulator(
  "a process stays until its calls have ended, and ends then by itself",
  { faults: stalled(300) },
  async () => {
    const device = await firstDevice();
    const start = performance.now();
    process.on("exit", () => {
      // The last batch was waited for, although no one does here.
      if (performance.now() - start < 300) process.exitCode = 7;
    });
    void roundTrip(device).ended;
  },
);

onSimulator("memory of the host stays while native code uses it", { faults: stalled(100) }, async () => {
  const device = await firstDevice();
  const batch = new Batch();
  const memory = batch.alloc(2 ** 20);
  for (let i = 0; i < 16; i++) batch.copyFromHost(memory.at(i * 65_536), pattern(65_536));
  const received = new Uint8Array(2 ** 20);
  batch.copyToHost(received, memory);
  batch.free(memory);
  const ended = device.submit(batch);
  globalThis.gc?.();
  await ended;
  for (let i = 0; i < 16; i++) assert.deepEqual(received.subarray(i * 65_536, (i + 1) * 65_536), pattern(65_536));
});

role("round trips", async () => {
  const device = (await openDriver()).device(workerData as number);
  for (let i = 0; i < 20; i++) {
    const trip = roundTrip(device);
    await trip.ended;
    trip.assert();
  }
  await assertNothingHeld();
});

onSimulator("several worker threads and the main thread use the devices at once", {}, async () => {
  const workers = [0, 1, 0, 1].map((ordinal) => startWorker("round trips", ordinal));
  const exits = workers.map((worker) => once(worker, "exit"));
  const device = await firstDevice();
  for (let i = 0; i < 20; i++) await roundTrip(device).ended;
  for (const exit of exits) assert.deepEqual(await exit, [0]);
  await assertNothingHeld();
});

role("holder", async () => {
  const device = await firstDevice();
  const made = new Batch();
  for (const kind of ["plain", "virtual", "pool"] as const) made.alloc(4096, { kind });
  const memory = made.alloc(4096);
  const stream = made.createStream();
  made.createEvent();
  const results = await device.submit(made);
  const queued = new Batch();
  queued.fill(results.get(memory), 1, 4096);
  await device.submit(queued, { stream: results.get(stream), wait: false });
  parentPort?.postMessage("held");
  // Calls without end: some wait for a native thread, some are on one, some have ended and weren't collected.
  for (;;) await Promise.all(Array.from({ length: 20 }, () => device.alloc(2048)));
});

onSimulator(
  "a worker thread that is terminated in the middle of its calls leaves nothing behind",
  { delay: "0ms..3ms", memory: "256MiB", timeout: 60_000 },
  async () => {
    const device = await firstDevice();
    const before = await device.memoryInfo();
    for (let i = 0; i < 8; i++) {
      const worker = startWorker("holder");
      await once(worker, "message");
      await sleep(i * 3);
      await worker.terminate();
      assert.deepEqual(await device.memoryInfo(), before);
    }
    const trip = roundTrip(device);
    await trip.ended;
    trip.assert();
    await assertNothingHeld();
  },
);

role("waiter", async () => {
  const device = await firstDevice();
  const batch = new Batch();
  const memory = batch.alloc(4096);
  batch.fill(memory, 1, 4096);
  parentPort?.postMessage("submitted");
  await device.submit(batch);
  assert.fail("it was terminated before");
});

onSimulator(
  "what a call in progress allocates goes back if its thread is gone by then",
  { faults: stalled(500 * SLOWDOWN) },
  async () => {
    const device = await firstDevice();
    const before = await device.memoryInfo();
    const worker = startWorker("waiter");
    await once(worker, "message");
    await sleep(100);
    await worker.terminate();
    assert.deepEqual(await device.memoryInfo(), before);
  },
);

role("exporting worker", async () => {
  const device = await firstDevice();
  const batch = new Batch();
  const memory = batch.alloc(4096);
  batch.ipcHandle(memory);
  batch.alloc(8192);
  await device.submit(batch);
  parentPort?.postMessage("exported");
});

onSimulator(
  "memory that a worker thread exported isn't freed under a mapping: it stays until the process ends",
  {
    mayLeak: true,
    check: (trace) =>
      assert.deepEqual(
        trace.leaks.map(({ kind, bytes }) => [kind, bytes]),
        [["memory", 4096]],
      ),
  },
  async () => {
    const worker = startWorker("exporting worker");
    await once(worker, "exit");
  },
);

role("exiter", async () => {
  const device = await firstDevice();
  for (let i = 0; i < 5; i++) roundTrip(device).ended.catch(() => {});
  await sleep(100 * SLOWDOWN); // they are on their way
  process.send?.("exits", () => process.exit(3));
});

const LONG_MS = 20_000 * SLOWDOWN;
onSimulator(
  "a process that exits in the middle of its calls ends at once, without a crash",
  // What is in the middle of a call can't be given back then, and Node gives nothing back either.
  { faults: stalled(LONG_MS), mayLeak: true, env: { ASAN_OPTIONS: "detect_leaks=0:exitcode=99" } },
  async () => {
    const child = startRole("exiter");
    const exit = once(child, "exit");
    assert.deepEqual((await once(child, "message"))[0], "exits");
    const start = performance.now();
    assert.deepEqual(await exit, [3, null]);
    const took = performance.now() - start;
    assert.ok(took < LONG_MS / 2, `it took ${took} ms`);
  },
);
