import assert from "node:assert/strict";
import { once } from "node:events";
import { Batch, type IpcHandle, openDriver } from "../support/names.js";
import { onSimulator, role, startRole } from "../support/on-simulator.js";
import { assertNothingHeld, cudaFailure, firstDevice, pattern } from "../support/worked.js";

interface Exported {
  readonly handle: IpcHandle;
  readonly uuid: string;
}

const bytes = 10_000;

/** Exports memory on the device that EXPORT_DEVICE numbers, and frees it when it is told to. */
role("exporter", async () => {
  const device = (await openDriver()).device(Number(process.env.EXPORT_DEVICE ?? 0));
  const batch = new Batch();
  const memory = batch.alloc(bytes);
  batch.copyFromHost(memory, pattern(bytes));
  const handle = batch.ipcHandle(memory.at(100));
  const results = await device.submit(batch);
  const ended = once(process, "message");
  process.send?.({ handle: results.get(handle), uuid: device.uuid });
  await ended;
  await device.free(results.get(memory));
  await assertNothingHeld();
});

/** Runs `work` while another process has the memory exported. */
async function withExporter(
  work: (exported: Exported) => Promise<void>,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const exporter = startRole("exporter", env);
  const [exported] = (await once(exporter, "message")) as [Exported];
  await work(exported);
  exporter.send("end");
  const [code] = (await once(exporter, "exit")) as [number];
  assert.equal(code, 0);
}

onSimulator(
  "memory of another process is mapped, copied and let go of in one batch",
  {
    check: (trace) => assert.equal(trace.copiesToHost, 1),
  },
  () =>
    withExporter(async ({ handle, uuid }) => {
      const device = (await openDriver()).device(uuid);
      const batch = new Batch();
      const mapping = batch.ipcOpen(handle);
      const range = batch.addressRange(mapping.at(5000));
      const own = batch.alloc(200);
      const received = new Uint8Array(200);
      batch.copy(own, mapping.at(100), 200);
      batch.copyToHost(received, own);
      batch.ipcClose(mapping);
      batch.free(own);
      const results = await device.submit(batch);
      assert.deepEqual(received, pattern(200, 100));
      assert.deepEqual(results.get(range), { base: results.get(mapping), bytes });
      await assertNothingHeld();
    }),
);

onSimulator("a device is found by its UUID where the two processes number it differently", {}, () =>
  withExporter(
    async ({ handle, uuid }) => {
      const driver = await openDriver();
      const device = driver.find(uuid);
      assert.equal(device?.ordinal, 1);
      const opening = new Batch();
      const mapping = opening.ipcOpen(handle);
      const base = (await device.submit(opening)).get(mapping);
      const closing = new Batch();
      closing.ipcClose(base);
      await device.submit(closing);
    },
    { CUDA_VISIBLE_DEVICES: "1,0", EXPORT_DEVICE: "0" },
  ),
);

onSimulator("a handle that is opened twice is closed twice, and then no more", {}, () =>
  withExporter(async ({ handle }) => {
    const driver = await openDriver();
    const device = driver.device();
    const opening = new Batch();
    const [one, other] = [opening.ipcOpen(handle), opening.ipcOpen(handle)];
    const results = await device.submit(opening);
    assert.equal(results.get(one), results.get(other));
    assert.equal(driver.held().mappings, 2);
    const close = (): Promise<unknown> => {
      const batch = new Batch();
      batch.ipcClose(results.get(one));
      return device.submit(batch);
    };
    await close();
    await close();
    assert.equal((await cudaFailure(close())).ownRefusal, true);
    await assertNothingHeld();
  }),
);

onSimulator("what a failing batch has mapped is let go of, by its own closing or without", {}, () =>
  withExporter(async ({ handle }) => {
    const device = await firstDevice();
    for (const closes of [true, false]) {
      const batch = new Batch();
      const mapping = batch.ipcOpen(handle);
      const own = batch.alloc(100);
      batch.copy(own, mapping, 100);
      batch.copy(own, mapping.at(bytes), 100, { doing: "copying beyond the end" });
      if (closes) batch.ipcClose(mapping);
      const error = await cudaFailure(device.submit(batch));
      assert.equal(error.operation, 3);
      assert.match(error.message, /^Copying beyond the end/);
      await assertNothingHeld();
    }
  }),
);

onSimulator("a process can't open its own memory, and the hint says what is usually wrong", {}, async () => {
  const device = await firstDevice();
  const batch = new Batch();
  const memory = batch.alloc(bytes);
  const handle = batch.ipcHandle(memory);
  const results = await device.submit(batch);
  const opening = new Batch();
  const doing = "opening the memory of array inputs.x from another process";
  opening.ipcOpen(results.get(handle), { doing });
  const error = await cudaFailure(device.submit(opening));
  assert.match(error.message, /^Opening the memory of array inputs\.x from another process: cuIpcOpenMemHandle failed/);
  assert.equal(error.driverCode, 201);
  assert.match(error.hint ?? "", /--ipc=host/);
  await device.free(results.get(memory));
});

onSimulator(
  "memory in another PID namespace, on another host or of an invisible device can't be opened",
  {},
  async () => {
    for (const env of [
      { CUDA_SIMULATOR_PID_NAMESPACE: "other" },
      { CUDA_SIMULATOR_HOST: "other" },
      { CUDA_VISIBLE_DEVICES: "1" },
    ]) {
      await withExporter(async ({ handle }) => {
        const batch = new Batch();
        batch.ipcOpen(handle);
        const invisible = "CUDA_VISIBLE_DEVICES" in env;
        // A device that this process sees under another number can be opened from the wrong device only.
        const error = await cudaFailure((await firstDevice()).submit(batch));
        assert.equal(error.call, "cuIpcOpenMemHandle");
        assert.ok(error.hint !== undefined);
        assert.equal(error.driverCode, invisible ? 217 : "CUDA_SIMULATOR_HOST" in env ? 1 : 201);
        await assertNothingHeld();
      }, env);
    }
  },
);

onSimulator("a damaged handle is refused by the driver", {}, async () => {
  const batch = new Batch();
  batch.ipcOpen(new Uint8Array(64).fill(3));
  const error = await cudaFailure((await firstDevice()).submit(batch));
  assert.deepEqual([error.call, error.driverCode], ["cuIpcOpenMemHandle", 1]);
});

for (const call of ["cuIpcOpenMemHandle", "cuIpcCloseMemHandle"]) {
  onSimulator(`a failing ${call} is an error, and leaves no mapping`, { faults: [{ call, nth: 1, code: 304 }] }, () =>
    withExporter(
      async ({ handle }) => {
        const batch = new Batch();
        const mapping = batch.ipcOpen(handle);
        const own = batch.alloc(100);
        batch.copy(own, mapping, 100);
        batch.ipcClose(mapping);
        const error = await cudaFailure((await firstDevice()).submit(batch));
        assert.deepEqual([error.call, error.driverCode, error.code], [call, 304, "CUDA_ERROR"]);
        await assertNothingHeld();
      },
      { CUDA_SIMULATOR_FAULTS: "" },
    ),
  );
}
