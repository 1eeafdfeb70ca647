// How many bytes the GPU has copied up to now, of all processes: the simulated one writes it down.

import { readTrace, Trace, type TraceRecord } from "@tesseract-ts/cuda-simulator";

export interface Copied {
  readonly onDevice: number;
  readonly toHost: number;
  readonly fromHost: number;
}

/** Whether this process is on a simulated GPU. */
export const trace = process.env.CUDA_SIMULATOR_TRACE;

/** Undefined on a GPU, which tells nobody. */
export async function copiedSoFar(): Promise<Copied | undefined> {
  if (trace === undefined) return undefined;
  const records: TraceRecord[] = [];
  for await (const record of readTrace(trace)) records.push(record);
  const { DtoD, DtoH, HtoD } = new Trace(records).bytes;
  return { onDevice: DtoD, toHost: DtoH, fromHost: HtoD };
}

export const difference = (before: Copied, now: Copied): Copied => ({
  onDevice: now.onDevice - before.onDevice,
  toHost: now.toHost - before.toHost,
  fromHost: now.fromHost - before.fromHost,
});
