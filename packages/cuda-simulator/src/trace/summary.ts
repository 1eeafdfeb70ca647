/** A trace in numbers, counted while it is read. */
import type {
  CallRecord,
  Direction,
  FailureRecord,
  FaultRecord,
  HazardRecord,
  LeakRecord,
  TraceRecord,
} from "./record.js";

export interface FunctionSummary {
  readonly library: CallRecord["library"];
  readonly function: string;
  calls: number;
  /** How often it returned which error. */
  readonly errors: Map<number, number>;
  /** Of the calls that succeeded. */
  bytes: number;
  /** In nanoseconds, of the calls whose duration the trace has; undefined if it has none. */
  time: number | undefined;
}

export interface CopySummary {
  /** Copies of at least one byte that succeeded. */
  count: number;
  bytes: number;
}

/** The records that a report shows one by one are kept; of more than this many of a kind, only the number is. */
const MOST_SHOWN = 1_000;

/** The first of some records, and how many there are. */
export class Shown<Item> {
  readonly first: Item[] = [];
  count = 0;

  add(item: Item): void {
    if (this.count++ < MOST_SHOWN) this.first.push(item);
  }
}

export class TraceSummary {
  calls = 0;
  /** When the first and the last line were written. */
  from: bigint | undefined;
  to: bigint | undefined;
  readonly processes = new Set<number>();
  /** Processes that joined the machine and haven't ended on their own: killed, or still running. */
  readonly unended = new Set<number>();
  readonly copies: Readonly<Record<Direction, CopySummary>> = {
    HtoD: { count: 0, bytes: 0 },
    DtoH: { count: 0, bytes: 0 },
    DtoD: { count: 0, bytes: 0 },
    HtoH: { count: 0, bytes: 0 },
  };
  readonly hazards = new Shown<HazardRecord>();
  readonly leaks = new Shown<LeakRecord>();
  readonly faults = new Shown<FaultRecord>();
  readonly failures = new Shown<FailureRecord>();
  leakedBytes = 0;
  private readonly byFunction = new Map<string, FunctionSummary>();

  add(record: TraceRecord): void {
    if (this.from === undefined || record.time < this.from) this.from = record.time;
    if (this.to === undefined || record.time > this.to) this.to = record.time;
    this.processes.add(record.pid);
    switch (record.type) {
      case "call":
        this.addCall(record);
        break;
      case "begin":
        this.unended.add(record.pid);
        break;
      case "end":
        this.unended.delete(record.pid);
        break;
      case "leak":
        this.leakedBytes += record.bytes;
        this.leaks.add(record);
        break;
      case "hazard":
        this.hazards.add(record);
        break;
      case "fault":
        this.faults.add(record);
        break;
      case "failure":
        this.failures.add(record);
        break;
    }
  }

  /** Each function that was called, the driver's first, by name. */
  get functions(): readonly FunctionSummary[] {
    const key = (each: FunctionSummary): string => `${each.library} ${each.function}`;
    return [...this.byFunction.values()].sort((a, b) => (key(a) < key(b) ? -1 : 1));
  }

  private addCall(call: CallRecord): void {
    this.calls++;
    const key = `${call.library} ${call.function}`;
    let known = this.byFunction.get(key);
    if (known === undefined) {
      const { library } = call;
      known = { library, function: call.function, calls: 0, errors: new Map(), bytes: 0, time: undefined };
      this.byFunction.set(key, known);
    }
    known.calls++;
    if (call.duration !== undefined) known.time = (known.time ?? 0) + call.duration;
    if (call.result === 0) known.bytes += call.bytes ?? 0;
    else known.errors.set(call.result, (known.errors.get(call.result) ?? 0) + 1);
    if (isCopy(call)) {
      const copies = this.copies[call.direction];
      copies.count++;
      copies.bytes += call.bytes;
    }
  }
}

/** Whether a call copied bytes, or queued a copy. */
export function isCopy(call: CallRecord): call is CallRecord & { direction: Direction; bytes: number } {
  return call.result === 0 && call.direction !== undefined && call.bytes !== undefined && call.bytes > 0;
}

export function summarize(records: Iterable<TraceRecord>): TraceSummary {
  const summary = new TraceSummary();
  for (const record of records) summary.add(record);
  return summary;
}
