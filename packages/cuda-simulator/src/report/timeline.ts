/**
 * A trace as trace events, which Perfetto (https://ui.perfetto.dev) and chrome://tracing show.
 *
 * Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
 */
import type { CallRecord, TraceRecord } from "../trace/record.js";
import { isCopy } from "../trace/summary.js";

/** Times and durations are in microseconds since the first line of the trace. */
export type TraceEvent =
  /** A stretch of time. */
  | (EventBase & { readonly ph: "X"; readonly dur: number })
  /** A moment: of a thread or of a process. */
  | (EventBase & { readonly ph: "i"; readonly s: "t" | "p" })
  /** A number that changes. */
  | (EventBase & { readonly ph: "C" })
  /** A name. */
  | { readonly ph: "M"; readonly name: string; readonly pid: number; readonly args: { readonly name: string } };

interface EventBase {
  readonly name: string;
  readonly cat: string;
  readonly ts: number;
  readonly pid: number;
  readonly tid: number;
  readonly args: Readonly<Record<string, string | number | boolean>>;
}

/** Turns records into events, in their order. */
export class Timeline {
  private start: bigint | undefined;
  private readonly named = new Set<number>();
  private readonly bytesToHost = new Map<number, number>();

  *events(record: TraceRecord): Generator<TraceEvent> {
    // A call began before its line was written, and the first line may be a call's.
    this.start ??= record.time - BigInt(record.type === "call" ? (record.duration ?? 0) : 0);
    if (!this.named.has(record.pid)) {
      this.named.add(record.pid);
      yield { ph: "M", name: "process_name", pid: record.pid, args: { name: `process ${record.pid}` } };
    }
    const { pid, tid } = record;
    const ts = Number(record.time - this.start) / 1000;
    const moment = (name: string, cat: string, args: EventBase["args"]): TraceEvent => {
      return { name, cat, ts, pid, tid, args, ph: "i", s: "p" };
    };
    switch (record.type) {
      case "call":
        yield this.call(record, ts);
        if (isCopy(record) && record.direction === "DtoH") yield this.toHost(record, ts);
        break;
      case "begin":
        yield moment("begin", "process", { machine: record.machine, devices: record.devices });
        break;
      case "end":
        yield moment("end", "process", { leaks: record.leaks, leakedBytes: record.leakedBytes });
        break;
      case "leak":
        yield moment(`leak: ${record.kind}`, "leak", { pointer: hexadecimal(record.pointer), bytes: record.bytes });
        break;
      case "hazard":
        yield moment(`hazard: ${record.what}`, "hazard", { allocation: record.allocation, bytes: record.bytes });
        break;
      case "fault":
        yield moment(`fault: ${record.function} ${record.effect}`, "fault", {});
        break;
      case "failure":
        yield moment(`failure: ${record.result}`, "failure", { context: hexadecimal(record.context) });
        break;
    }
  }

  private call(call: CallRecord, end: number): TraceEvent {
    const args: Record<string, string | number | boolean> = { result: call.result };
    if (call.bytes !== undefined) args.bytes = call.bytes;
    if (call.direction !== undefined) args.direction = call.direction;
    if (call.async !== undefined) args.async = call.async;
    for (const [name, address] of Object.entries(call.addresses)) args[name] = hexadecimal(address);
    const { pid, tid } = call;
    const base = { name: call.function, cat: categoryOf(call), pid, tid, args };
    if (call.duration === undefined) return { ...base, ph: "i", s: "t", ts: end };
    const dur = call.duration / 1000;
    return { ...base, ph: "X", ts: end - dur, dur };
  }

  private toHost({ pid, tid, bytes }: CallRecord & { bytes: number }, ts: number): TraceEvent {
    const sum = (this.bytesToHost.get(pid) ?? 0) + bytes;
    this.bytesToHost.set(pid, sum);
    return { name: "bytes to the host", cat: "copy", ph: "C", ts, pid, tid, args: { bytes: sum } };
  }
}

const hexadecimal = (address: bigint): string => `0x${address.toString(16)}`;

function categoryOf(call: CallRecord): string {
  const failed = call.result === 0 ? "" : ",error";
  return `${call.library}${call.direction === undefined ? "" : `,${call.direction}`}${failed}`;
}

/** The file for Perfetto, in pieces. */
export async function* timelineJson(
  records: AsyncIterable<TraceRecord> | Iterable<TraceRecord>,
): AsyncGenerator<string> {
  const timeline = new Timeline();
  let before = '{"displayTimeUnit":"ns","traceEvents":[\n';
  for await (const record of records) {
    for (const event of timeline.events(record)) {
      yield before + JSON.stringify(event);
      before = ",\n";
    }
  }
  yield before.startsWith("{") ? `${before}]}\n` : "\n]}\n";
}
