/** The table of sizes: copies on the device, messages, and `apply` of the reference server by each path. */
import { freemem } from "node:os";
import { bytesOf, type Tesseract } from "@tesseract-ts/core";
import { Batch, DeviceArray, DeviceMemory, openDriver } from "@tesseract-ts/transport-cuda-ipc";
import type { Exchange } from "../checks/exchange.js";
import { sizeText } from "../options.js";
import type { Server } from "../reference.js";
import { messageOf } from "../remote.js";
import { type Path, paths, type SizeRow, type Timing } from "../results.js";
import { millisecondsOf, timed } from "./timing.js";

const LEAST = 2 ** 10;
const STEP = 4;
/** x, y, and what either side keeps of them: at most so many arrays of one size are in the device's memory. */
const ARRAYS_AT_ONCE = 6;
/** A call through the host that would take longer than this isn't made, in milliseconds. */
const LONGEST_CALL = 8_000;
/** Base64 text, strings and copies in both processes: the host's memory that an array takes, in sizes of it. */
const HOST_COPIES = 12;
/** How much is copied back to compare: the first and the last bytes of an output. */
const COMPARED = 4096;

export interface Measuring {
  readonly most: number;
  /** When to stop, as `Date.now()` counts. */
  readonly until: number;
  readonly exchange: Exchange;
  /** Undefined with the reason where there is no reference server. */
  readonly server: Server | { readonly missing: string };
  readonly onRow: (row: SizeRow, bandwidth: number | undefined) => void;
}

export async function measureSizes({ most, until, exchange, server, onRow }: Measuring): Promise<void> {
  const device = (await openDriver()).device();
  const { free } = await device.memoryInfo();
  const tess = "missing" in server ? undefined : await server.connect();
  const before: Partial<Record<Path, { readonly bytes: number; readonly timing: Timing }>> = {};
  try {
    for (let bytes = LEAST; bytes <= most; bytes *= STEP) {
      const row = skippedRow(bytes, "missing" in server ? server.missing : "");
      if (bytes * ARRAYS_AT_ONCE > free) {
        const reason = `needs ${sizeText(bytes * ARRAYS_AT_ONCE)} of the device, which has ${sizeText(free)} free`;
        onRow(skippedRow(bytes, reason), undefined);
        continue;
      }
      if (Date.now() > until) {
        onRow(skippedRow(bytes, "no time left"), undefined);
        continue;
      }
      const x = await filled(bytes);
      try {
        const { timing, bandwidth } = await copies(x);
        row.copy = timing;
        row.message = await attempt(() => timed(() => exchange.pass([x])));
        for (const path of tess === undefined || "missing" in server ? [] : paths) {
          const reason = reasonToSkip(path, bytes, before[path], until);
          row.apply[path] =
            reason === undefined ? await attempt(() => applying(tess as Tesseract, path, x)) : { skipped: reason };
          before[path] = { bytes, timing: row.apply[path] };
          if (path === "json+binref") await (server as Server).removeOutputs();
        }
        onRow(row, bandwidth);
      } finally {
        x.dispose();
        await DeviceMemory.of(device).trim({ wait: false });
      }
    }
  } finally {
    await tess?.close();
  }
}

function skippedRow(bytes: number, reason: string): SizeRow {
  const skipped = { skipped: reason };
  return {
    bytes,
    copy: skipped,
    message: skipped,
    apply: { cuda_ipc: skipped, "json+base64": skipped, "json+binref": skipped },
  };
}

/** Values that tell the beginning from the end. */
async function filled(bytes: number): Promise<DeviceArray> {
  const device = (await openDriver()).device();
  const x = await DeviceArray.empty([bytes / 8], "float64");
  const [pointer] = x.cudaArrayInterface.data;
  const half = bytes / 2;
  const batch = new Batch("filling an array");
  batch.fill(pointer, 0x3f, half);
  batch.fill((pointer + BigInt(half)) as typeof pointer, 0x40, half);
  await device.submit(batch);
  return x;
}

/** One copy with its wait, and the bytes per second of several behind each other. */
async function copies(x: DeviceArray): Promise<{ readonly timing: Timing; readonly bandwidth: number | undefined }> {
  const device = (await openDriver()).device();
  const y = await DeviceArray.empty(x.shape, x.dtype);
  const [from] = x.cudaArrayInterface.data;
  const [to] = y.cudaArrayInterface.data;
  const copy = (times: number) => async (): Promise<void> => {
    const batch = new Batch("copying on the device");
    for (let i = 0; i < times; i++) batch.copy(to, from, x.byteLength);
    await device.submit(batch);
  };
  try {
    const timing = await timed(copy(1));
    const many = 10;
    const several = millisecondsOf(await timed(copy(many)));
    const bandwidth = several === undefined ? undefined : (many * x.byteLength * 1e3) / several;
    return { timing, bandwidth };
  } finally {
    y.dispose();
  }
}

async function applying(tess: Tesseract, path: Path, x: DeviceArray): Promise<Timing> {
  const view = tess.withEncoding(
    path === "cuda_ipc" ? { gpuTransport: path } : { gpuTransport: "none", outputFormat: path },
  );
  // Through the host the output is brought to the device again: either way x and y are there.
  const call = async (): Promise<DeviceArray> => {
    const { y } = (await view.apply({ x })) as { y: unknown };
    return y instanceof DeviceArray ? y : DeviceArray.fromHost(y as Parameters<typeof DeviceArray.fromHost>[0]);
  };
  const y = await call();
  try {
    await compare(x, y);
  } finally {
    y.dispose();
  }
  return timed(async () => (await call()).dispose());
}

async function compare(x: DeviceArray, y: DeviceArray): Promise<void> {
  const count = Math.min(COMPARED / 8, x.shape[0] ?? 0);
  for (const [start, end] of [
    [0, count],
    [-count, undefined],
  ] as const) {
    const [a, b] = [x.slice(start, end), y.slice(start, end)];
    const [before, after] = await Promise.all([a.copyToHost(), b.copyToHost()]);
    a.dispose();
    b.dispose();
    if (Buffer.compare(bytesOf(before), bytesOf(after)) !== 0) throw new Error("the output isn't the input");
  }
}

function reasonToSkip(
  path: Path,
  bytes: number,
  before: { readonly bytes: number; readonly timing: Timing } | undefined,
  until: number,
): string | undefined {
  if (Date.now() > until) return "no time left";
  if (path === "cuda_ipc") return undefined;
  const timing = before?.timing ?? { median: 0 };
  if ("skipped" in timing) return timing.skipped;
  const expected = timing.median * (bytes / (before?.bytes ?? bytes));
  if (expected > LONGEST_CALL) return `a call would take about ${Math.round(expected / 1e3)} s`;
  if (Date.now() + 3 * expected > until) return "no time left";
  if (bytes * HOST_COPIES > freemem()) return `needs ${sizeText(bytes * HOST_COPIES)} of the host's memory`;
  return undefined;
}

async function attempt(work: () => Promise<Timing>): Promise<Timing> {
  try {
    return await work();
  } catch (error) {
    return { skipped: `failed: ${messageOf(error)}` };
  }
}
