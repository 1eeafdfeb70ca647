/** `cuda-simulator report`: a table, and a timeline. */
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { basename } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { CudaSimulatorError, reasonOf } from "../errors.js";
import { reportText } from "../report/table.js";
import { timelineJson } from "../report/timeline.js";
import { timelinePage } from "../report/timeline-page.js";
import { readTrace } from "../trace/read.js";
import { TraceSummary } from "../trace/summary.js";
import type { ReportRequest } from "./command-line.js";

export async function report({ file, timeline }: ReportRequest, out: NodeJS.WritableStream): Promise<void> {
  const summary = new TraceSummary();
  for await (const record of readTrace(file)) summary.add(record);
  const text = reportText(file, summary);
  if (!out.write(text)) await once(out, "drain");
  if (timeline === undefined) return;
  // The trace is read once more rather than kept: it may be larger than memory.
  const page = /\.html?$/.test(timeline);
  const pieces = page ? timelinePage(basename(file), readTrace(file), text) : timelineJson(readTrace(file));
  try {
    await pipeline(Readable.from(batched(pieces)), createWriteStream(timeline));
  } catch (error) {
    if (error instanceof CudaSimulatorError) throw error;
    throw new CudaSimulatorError("WRITE_FAILED", `The timeline can't be written: ${reasonOf(error)}`, { cause: error });
  }
}

/** Few large pieces rather than many small ones. */
async function* batched(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let batch: string[] = [];
  let size = 0;
  for await (const piece of pieces) {
    batch.push(piece);
    size += piece.length;
    if (size < 65_536) continue;
    yield batch.join("");
    [batch, size] = [[], 0];
  }
  yield batch.join("");
}
