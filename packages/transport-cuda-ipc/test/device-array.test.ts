import assert from "node:assert/strict";
import { subscribe } from "node:diagnostics_channel";
import { setTimeout as sleep } from "node:timers/promises";
import { type DType, dtypes, hostArray, itemSize, viewAs } from "@tesseract-ts/core";
import { DeviceArray, DeviceMemory, FORGOTTEN_CHANNEL, NULL_POINTER, openDriver } from "./support/names.js";
import { onSimulator } from "./support/on-simulator.js";
import { SLOWDOWN } from "./support/other-node.js";
import { assertNothingHeld, cudaFailure, pattern, rejection } from "./support/worked.js";

/** Gives back what the pools keep; then everything must be back. */
async function assertAllGivenBack(): Promise<void> {
  const { devices } = await openDriver();
  for (const device of devices) {
    const memory = DeviceMemory.of(device);
    await memory.trim();
    assert.equal(memory.allocatedBytes, 0);
  }
  await assertNothingHeld();
}

onSimulator("arrays of every dtype come back as they went", {}, async () => {
  for (const dtype of dtypes) {
    const data = viewAs(dtype, pattern(24 * itemSize(dtype)).buffer as ArrayBuffer);
    if (dtype === "bool") for (let i = 0; i < data.length; i++) data[i] = i % 2;
    const host = hostArray(data, { dtype, shape: [4, 6] });
    using array = await DeviceArray.fromHost(host);
    assert.deepEqual([array.dtype, array.shape, array.byteLength], [dtype, [4, 6], 24 * itemSize(dtype)]);
    const back = await array.copyToHost();
    assert.deepEqual([back.dtype, back.shape], [dtype, [4, 6]]);
    assert.deepEqual(back.data, host.data);
  }
  await assertAllGivenBack();
});

onSimulator("small arrays that are made at once share one allocation", {}, async () => {
  const arrays = await Promise.all(Array.from({ length: 9 }, (_, i) => DeviceArray.fromHost(new Float64Array([i]))));
  assert.equal(DeviceMemory.of((await openDriver()).device()).allocatedBytes, 2 ** 21);
  const values = await Promise.all(arrays.map(async (array) => Number((await array.copyToHost()).data[0])));
  assert.deepEqual(values, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  for (const array of arrays) array.dispose();
  await assertAllGivenBack();
});

onSimulator("the CUDA array interface says where and what it is", {}, async () => {
  const driver = await openDriver();
  const typestrs: Partial<Record<DType, string>> = {
    float16: "<f2",
    float64: "<f8",
    int8: "|i1",
    uint8: "|u1",
    bool: "|b1",
    uint64: "<u8",
    complex128: "<c16",
  };
  for (const [dtype, typestr] of Object.entries(typestrs)) {
    using array = await DeviceArray.empty([2, 3], dtype as DType, { device: 1 });
    const { data, ...rest } = array.cudaArrayInterface;
    assert.deepEqual(rest, { shape: [2, 3], typestr, strides: null, version: 3, stream: null });
    assert.deepEqual([typeof data[0], data[0] > 0n, data[1]], ["bigint", true, false]);
    assert.deepEqual([array.ordinal, array.device], [1, driver.device(1).uuid]);
  }
  await assertAllGivenBack();
});

onSimulator("a scalar has one element, and an array without elements no memory", {}, async () => {
  using scalar = await DeviceArray.fromHost(new Float64Array([42]), { shape: [] });
  assert.deepEqual((await scalar.copyToHost()).data, new Float64Array([42]));
  using empty = await DeviceArray.fromHost(new Int32Array(0), { shape: [0, 3] });
  assert.equal(empty.cudaArrayInterface.data[0], NULL_POINTER);
  const back = await empty.copyToHost();
  assert.deepEqual([back.shape, back.data], [[0, 3], new Int32Array(0)]);
  using part = empty.slice(0, 0);
  assert.deepEqual(part.shape, [0, 3]);
  scalar.dispose();
  await assertAllGivenBack();
});

onSimulator("views share the memory, which goes back with the last of them", {}, async () => {
  let released = 0;
  const device = (await openDriver()).device();
  const pointer = await device.alloc(48);
  const whole = DeviceArray.own({
    pointer,
    bytes: 48,
    dtype: "float32",
    shape: [4, 3],
    device,
    release: async () => {
      await device.free(pointer);
      released += 1;
    },
  });
  const rows = whole.slice(1, 3);
  const last = whole.slice(-1);
  const flat = rows.reshape([6]);
  assert.equal(rows.cudaArrayInterface.data[0], pointer + 12n);
  assert.equal(last.cudaArrayInterface.data[0], pointer + 36n);
  assert.equal(flat.cudaArrayInterface.data[0], pointer + 12n);
  assert.deepEqual(
    [rows, last, flat, flat.slice(4), flat.slice(9), whole.slice(2, 1)].map((view) => view.shape),
    [[2, 3], [1, 3], [6], [2], [0], [0, 3]],
  );
  for (const view of [whole, rows, last]) {
    view.dispose();
    view.dispose();
  }
  assert.equal(released, 0);
  globalThis.gc?.();
  await flat[Symbol.asyncDispose]();
  // The views of it that the test has dropped are collected in their own time.
  for (let tries = 0; released === 0 && tries < 100; tries++) {
    globalThis.gc?.();
    await sleep(10);
  }
  assert.equal(released, 1);
  await assertAllGivenBack();
});

onSimulator("a view has the elements that it says", {}, async () => {
  using whole = await DeviceArray.fromHost(
    Float32Array.from({ length: 12 }, (_, i) => i),
    { shape: [3, 4] },
  );
  using row = whole.slice(1, 2);
  using pairs = row.reshape([2, 2]);
  using second = pairs.slice(1);
  assert.deepEqual((await row.copyToHost()).data, new Float32Array([4, 5, 6, 7]));
  assert.deepEqual((await second.copyToHost()).data, new Float32Array([6, 7]));
  await rejection(() => whole.reshape([5]), "INVALID_ARRAY");
  await rejection(() => whole.reshape([-12, -1]), "INVALID_ARRAY");
  using scalar = await DeviceArray.fromHost(new Float32Array(1), { shape: [] });
  await rejection(() => scalar.slice(), "INVALID_ARGUMENT");
});

onSimulator("what was disposed of can't be used", {}, async () => {
  const array = await DeviceArray.fromHost(new Float32Array(3));
  array.dispose();
  assert.ok(array.isDisposed);
  const error = await rejection(() => array.cudaArrayInterface, "DISPOSED");
  assert.match(error.message, /float32 \[3\]/);
  await rejection(array.copyToHost(), "DISPOSED");
  await rejection(() => array.slice(), "DISPOSED");
  await rejection(() => array.reshape([3]), "DISPOSED");
  assert.deepEqual([array.shape, array.byteLength], [[3], 12]);
  await assertAllGivenBack();
});

onSimulator(
  "disposing of an array while it is copied lets the copy end first",
  { faults: [{ call: "cuMemcpyDtoHAsync", nth: 1, stall: "100ms" }] },
  async () => {
    const array = await DeviceArray.fromHost(new Uint8Array(pattern(5000)));
    const copy = array.copyToHost();
    array.dispose();
    assert.deepEqual((await copy).data, pattern(5000));
    await assertAllGivenBack();
  },
);

onSimulator(
  "an abort ends the wait for a copy, which goes on by itself",
  { faults: [{ call: "cuMemcpyDtoHAsync", nth: 1, stall: `${1000 * SLOWDOWN}ms` }] },
  async () => {
    const array = await DeviceArray.fromHost(new Uint8Array(5000));
    const error = await rejection(array.copyToHost({ signal: AbortSignal.timeout(50) }), "ABORTED");
    assert.ok((await openDriver()).held().pending > 0);
    assert.equal((error.cause as Error).name, "TimeoutError");
    array.dispose();
    await rejection(array.copyToHost({ signal: AbortSignal.abort() }), "DISPOSED");
    while ((await openDriver()).held().pending > 0) await sleep(20);
    await assertAllGivenBack();
  },
);

onSimulator("forgotten arrays are given back when they are collected, and that can be observed", {}, async () => {
  const forgotten: unknown[] = [];
  const warnings: Error[] = [];
  subscribe(FORGOTTEN_CHANNEL, (message) => forgotten.push(message));
  process.on("warning", (warning) => warnings.push(warning));
  const make = async (): Promise<void> => {
    for (let i = 0; i < 5; i++) await DeviceArray.empty([3, 4], "float32");
    (await DeviceArray.empty([1], "uint8")).dispose();
  };
  await make();
  for (let tries = 0; forgotten.length < 5 && tries < 200; tries++) {
    globalThis.gc?.();
    await sleep(10);
  }
  assert.deepEqual(forgotten, Array(5).fill({ array: "float32 [3, 4]", byteLength: 48 }));
  assert.deepEqual(
    warnings.map((warning) => (warning as NodeJS.ErrnoException).code),
    ["DEVICE_ARRAY_FORGOTTEN"],
  );
  await assertAllGivenBack();
});

onSimulator("a shared buffer is copied, and one that can't be read meanwhile is refused", {}, async () => {
  const shared = new Uint8Array(new SharedArrayBuffer(300));
  shared.set(pattern(300));
  using array = await DeviceArray.fromHost(shared);
  assert.deepEqual((await array.copyToHost()).data, pattern(300));
  const resizable = Reflect.construct(ArrayBuffer, [8, { maxByteLength: 16 }]) as ArrayBuffer;
  await rejection(DeviceArray.fromHost(new Uint8Array(resizable)), "INVALID_ARGUMENT");
  const detached = new Float32Array(4);
  structuredClone(detached, { transfer: [detached.buffer] });
  await rejection(DeviceArray.fromHost(detached), "INVALID_ARGUMENT");
  array.dispose();
  await assertAllGivenBack();
});

onSimulator(
  "shapes, dtypes and devices that can't be are refused before anything is allocated",
  {
    check: (trace) => assert.equal(trace.filter({ function: "cuMem*" }).calls.length, 0),
  },
  async () => {
    await rejection(DeviceArray.empty([-1], "float32"), "INVALID_ARRAY");
    await rejection(DeviceArray.empty([2 ** 52, 2 ** 10], "float32"), "INVALID_ARRAY");
    await rejection(DeviceArray.empty([1], "bfloat16" as DType), "UNSUPPORTED_DTYPE");
    await rejection(DeviceArray.empty([1], "float32", { device: 2 }), "INVALID_ARGUMENT");
    await rejection(DeviceArray.fromHost(new Float32Array(3), { shape: [2] }), "INVALID_ARRAY");
    await rejection(DeviceArray.fromHost(new Float32Array(3), { dtype: "float64" }), "INVALID_ARRAY");
    const device = (await openDriver()).device();
    const own = { pointer: NULL_POINTER, bytes: 7, dtype: "float64", shape: [1], device, release: () => {} } as const;
    await rejection(() => DeviceArray.own(own), "INVALID_ARRAY");
  },
);

onSimulator(
  "an array that doesn't fit is an error that says how large it is, and leaves nothing",
  { memory: "8MiB" },
  async () => {
    const error = await rejection(DeviceArray.empty([2 ** 21], "float64"), "OUT_OF_DEVICE_MEMORY");
    assert.match(error.message, /16777216 bytes/);
    await assertAllGivenBack();
  },
);

onSimulator(
  "a failing copy to the device leaves no array",
  { faults: [{ call: "cuMemcpyHtoDAsync", nth: 1, code: 304 }] },
  async () => {
    const error = await cudaFailure(DeviceArray.fromHost(new Float32Array([1, 2, 3])));
    assert.match(error.message, /^Copying float32 \[3\] to the device: cuMemcpyHtoDAsync failed/);
    await assertAllGivenBack();
  },
);
