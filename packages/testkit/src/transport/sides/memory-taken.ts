/** How much memory of typed arrays something takes. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { BufferSink, HostTransport } from "@tesseract-ts/core";

/**
 * What was let go of before counts as given back when it happens to be collected later, and would hide as much that is
 * taken meanwhile. Collecting takes milliseconds, so less than this, which can't hide much, stays.
 */
const LITTLE = 1 << 24;

/** Looks again and again at how many bytes more are taken than in the beginning, and knows the most of it. */
export class MemoryTaken {
  most = 0;
  private readonly before: number;

  constructor() {
    if (taken() > LITTLE) collectGarbage();
    this.before = taken();
  }

  look(): void {
    this.most = Math.max(this.most, taken() - this.before);
  }

  /** The same, looked at where a sink takes memory: what is let go of at once can't be seen later. */
  sinksOf(openBuffer: NonNullable<HostTransport["openBuffer"]>): NonNullable<HostTransport["openBuffer"]> {
    return (announced, atMost) => {
      const sink = openBuffer(announced, atMost);
      this.look();
      return this.watched(sink);
    };
  }

  private watched(sink: BufferSink): BufferSink {
    return {
      write: (text) => {
        sink.write(text);
        this.look();
      },
      end: () => {
        const buffer = sink.end();
        this.look();
        return buffer;
      },
    };
  }
}

const taken = (): number => process.memoryUsage().arrayBuffers;

let collector: (() => void) | undefined;

/** All of it, and at once; this is what `node --expose-gc` gives. */
export function collectGarbage(): void {
  if (collector === undefined) {
    setFlagsFromString("--expose-gc");
    collector = runInNewContext("gc") as () => void;
    setFlagsFromString("--no-expose-gc");
  }
  collector();
  // The memory of arrays is given back beside the program, and that ends at the latest with the next collection.
  collector();
}
