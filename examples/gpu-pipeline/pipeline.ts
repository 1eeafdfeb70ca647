// Starts both Tesseracts, and passes a field from one to the other: once on the GPU, once through the host.

import { writeFile } from "node:fs/promises";
import type { HostArray, Tesseract } from "@tesseract-ts/core";
import { fromSource, type StartedTesseract } from "@tesseract-ts/serve";
import { DeviceArray, DeviceMemory, openDriver } from "@tesseract-ts/transport-cuda-ipc";
import { bold, dim, green, printRows, red } from "../heat/print.js";
import { type Copied, copiedSoFar, difference, trace } from "./counters.js";
import { unmixed } from "./mixing.js";
import { picture } from "./picture.js";
import { puff } from "./puff.js";
import { bytesThroughSockets } from "./sockets.js";

type Field = HostArray<"float32"> | DeviceArray;

interface Advect {
  inputs: { tracer: Field; firstStep?: number; steps?: number; strength?: number };
  outputs: { tracer: Field };
}

interface Observe {
  inputs: { field: Field; every?: number };
  outputs: { readings: Field };
}

export interface Settings {
  /** Cells along each side of the square. */
  readonly cells: number;
  readonly rounds: number;
  /** Where a picture of the results is written. */
  readonly picture: string | undefined;
}

/** From one sensor to the next, in cells. */
const EVERY = 4;

/** @returns whether both ways gave the same */
export async function run({ cells, rounds, picture: file }: Settings, signal: AbortSignal): Promise<boolean> {
  // No implicit copy of a GPU array to the host, here and in the servers, which inherit it: it would be an error.
  process.env.TESSERACT_FORBID_DEVICE_HOST_COPY = "1";
  const where = trace === undefined ? "a GPU" : "a simulated GPU";
  console.log(bold(`\nTwo Tesseracts on ${where}, the output of one the input of the other\n`));
  const initial: HostArray<"float32"> = { dtype: "float32", shape: [cells, cells], data: puff(cells) };
  const same = await withBoth(initial, rounds, file, signal);

  const driver = await openDriver();
  await DeviceMemory.of(driver.device()).trim();
  const { allocations, mappings, pending } = driver.held();
  console.log(bold("\nReleased"));
  printRows([
    ["this process", `holds ${allocations} allocations, ${mappings} mappings, ${pending} pending operations`],
  ]);
  console.log();
  return same && allocations + mappings + pending === 0;
}

async function withBoth(
  initial: HostArray<"float32">,
  rounds: number,
  file: string | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const options = { gpuTransport: "cuda_ipc", signal } as const;
  await using advect = await fromSource<Advect>(new URL("advect.ts", import.meta.url), options);
  await using observe = await fromSource<Observe>(new URL("observe.ts", import.meta.url), options);
  printRows([
    ["advect", `${advect.url} moves a tracer, ${initial.shape.join(" × ")} cells of float32`],
    ["observe", `${observe.url} reads every ${EVERY}th cell in both directions`],
    ["arrays", `by ${await bothResolve(advect, observe, signal)}: both servers see this process's GPU`],
  ]);

  await using source = await DeviceArray.fromHost(initial);
  const onGpu = await measured(() => passOn({ advect, observe, transport: "cuda_ipc" }, source, rounds, signal));
  try {
    const [readings, last] = [await Promise.all(onGpu.result.readings.map(onHost)), await onHost(onGpu.result.tracer)];
    const size = Math.ceil((initial.shape[0] ?? 0) / EVERY);
    console.log(bold("\nHow far from mixed, by what the sensors read"));
    printRows(readings.map((each, round) => [`round ${round + 1}`, share(unmixed(each, size))]));

    const byHost = await measured(() => passOn({ advect, observe, transport: "none" }, initial, rounds, signal));
    const others = [...byHost.result.readings, byHost.result.tracer];
    const same = (await Promise.all(others.map(onHost))).every((values, i) => equal(values, [...readings, last][i]));
    printComparison(onGpu, byHost, same);
    if (file !== undefined) {
      const panels = { initial: initial.data, readings, last, size };
      await writeFile(
        file,
        picture(panels, { gpu: onGpu.sockets, host: byHost.sockets, simulated: trace !== undefined }),
      );
    }
    return same;
  } finally {
    onGpu.result[Symbol.dispose]();
  }
}

/** What both connections have found out. An error says why it isn't `cuda_ipc`, since that was asked for. */
async function bothResolve(
  advect: StartedTesseract<Advect>,
  observe: StartedTesseract<Observe>,
  signal: AbortSignal,
): Promise<string> {
  const found = await Promise.all([advect, observe].map((each) => each.resolveGpuTransport({ signal })));
  return [...new Set(found)].join(", ");
}

interface Passed extends Disposable {
  readonly tracer: Field;
  /** What the sensors read in each round. */
  readonly readings: readonly Field[];
  /** Bytes of all arrays that went from one process to another. */
  readonly bytes: number;
}

interface Pipeline {
  readonly advect: Tesseract<Advect>;
  readonly observe: Tesseract<Observe>;
  readonly transport: "cuda_ipc" | "none";
}

/** Each round moves the tracer, and has the sensors look at it. What it returns is the caller's. */
async function passOn(
  { advect, observe, transport }: Pipeline,
  source: Field,
  rounds: number,
  signal: AbortSignal,
): Promise<Passed> {
  const [mover, sensors] = [
    advect.withEncoding({ gpuTransport: transport }),
    observe.withEncoding({ gpuTransport: transport }),
  ];
  const owned = new Set<Field>();
  let bytes = 0;
  const passed = (sent: Field, received: Field): Field => {
    owned.add(received);
    bytes += bytesOf(sent) + bytesOf(received);
    return received;
  };
  try {
    let tracer = source;
    const readings: Field[] = [];
    for (let round = 0; round < rounds; round++) {
      const before = tracer;
      tracer = passed(before, (await mover.apply({ tracer: before, firstStep: round }, { signal })).tracer);
      readings.push(passed(tracer, (await sensors.apply({ field: tracer, every: EVERY }, { signal })).readings));
      if (owned.delete(before)) dispose(before);
    }
    return { tracer, readings, bytes, [Symbol.dispose]: () => [...owned].forEach(dispose) };
  } catch (error) {
    for (const each of owned) dispose(each);
    throw error;
  }
}

interface Measured {
  readonly result: Passed;
  readonly milliseconds: number;
  readonly sockets: number;
  readonly copied: Copied | undefined;
}

async function measured(work: () => Promise<Passed>): Promise<Measured> {
  const [before, sent, start] = [await copiedSoFar(), bytesThroughSockets(), performance.now()];
  const result = await work();
  const milliseconds = performance.now() - start;
  const [now, sockets] = [await copiedSoFar(), bytesThroughSockets() - sent];
  const copied = before === undefined || now === undefined ? undefined : difference(before, now);
  return { result, milliseconds, sockets, copied };
}

function printComparison(onGpu: Measured, byHost: Measured, same: boolean): void {
  const columns = (values: readonly string[]): string => values.map((value) => value.padStart(WIDTH)).join("");
  const both = (of: (measured: Measured) => string): string => columns([onGpu, byHost].map(of));
  const copied = (of: keyof Copied): string => both((each) => bytes(each.copied?.[of] ?? 0));
  console.log(`\n${bold("What went where, in bytes")}`);
  printRows([
    ["", dim(columns(["on the GPU", "through the host"]))],
    ["arrays", both((each) => bytes(each.result.bytes))],
    ["sockets", both((each) => bytes(each.sockets))],
    ...(onGpu.copied === undefined
      ? ([["time", both((each) => `${each.milliseconds.toFixed(0)} ms`)]] as const)
      : ([
          ["GPU to host", copied("toHost")],
          ["host to GPU", copied("fromHost")],
          ["GPU to GPU", copied("onDevice")],
        ] as const)),
    ["results", same ? green("✓ the same, to the last bit") : red("✗ they differ")],
  ]);
}

const WIDTH = 18;

const bytes = (count: number): string => count.toLocaleString("en");

const share = (value: number): string => `${"█".repeat(Math.round(value * 20))} ${value.toFixed(3)}`;

const equal = (a: Float32Array, b: Float32Array | undefined): boolean =>
  a.length === b?.length && a.every((value, i) => value === b[i]);

const bytesOf = (field: Field): number => 4 * field.shape.reduce((count, size) => count * size, 1);

function dispose(field: Field): void {
  if (field instanceof DeviceArray) field.dispose();
}

/** An explicit copy, which isn't forbidden. */
async function onHost(field: Field): Promise<Float32Array> {
  const array = field instanceof DeviceArray ? await field.copyToHost() : field;
  if (array.dtype !== "float32") throw new Error(`Expected an array of float32, not ${array.dtype}`);
  return array.data;
}
