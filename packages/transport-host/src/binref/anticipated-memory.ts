/**
 * Memory for the next answer, touched while the server computes.
 *
 * Programs that iterate get answers of one size. To touch fresh memory for the first time costs about as much as the
 * copy into it (a page fault for each 4 KiB), and can be done in a thread of libuv's while there is nothing to do but
 * wait. Where the size turns out to be another, nothing but that thread's time is lost.
 */
import { open } from "node:fs/promises";
import { allocate } from "../allocate.js";

/** Smaller arrays are read sooner than a thread has begun. */
const WORTHWHILE = 1 << 22;
/** More isn't held in advance. */
const MOST = 1 << 28;
/** Bytes of the smallest pages there are; one of larger pages is merely touched several times. */
const PAGE = 4096;
/** Pages between two looks at whether the answer has come: as many as one read may have targets (IOV_MAX). */
const PAGES = 1024;

interface Touching {
  readonly memory: Uint8Array<ArrayBuffer>;
  readonly ended: Promise<void>;
  taken: boolean;
}

export class AnticipatedMemory {
  private size = 0;
  /** At most one; of a request that failed it is kept for the next. */
  private next: Touching | undefined;

  /** A request is about to be sent. */
  prepare(): void {
    if (this.next !== undefined || this.size < WORTHWHILE || this.size > MOST) return;
    const next: Touching = {
      memory: allocate(this.size, "the next answer"),
      ended: Promise.resolve().then(() => touch(next)),
      taken: false,
    };
    this.next = next;
  }

  /**
   * Memory whose every byte the caller writes before anyone else sees it.
   *
   * @throws TesseractError DECODE_FAILED, where there isn't that much memory
   */
  async take(bytes: number, path: string): Promise<Uint8Array<ArrayBuffer>> {
    if (bytes >= WORTHWHILE) this.size = bytes;
    const { next } = this;
    if (next === undefined || bytes < WORTHWHILE) return allocate(bytes, path);
    this.next = undefined;
    next.taken = true;
    await next.ended;
    return next.memory.length === bytes ? next.memory : allocate(bytes, path);
  }
}

/** Reads a zero into each page, until all are touched or the memory is taken. */
async function touch(touching: Touching): Promise<void> {
  // Not every platform has the device; the memory is then touched when it is written.
  const zeros = await open("/dev/zero").catch(() => undefined);
  if (zeros === undefined) return;
  try {
    const { memory } = touching;
    for (let at = 0; at < memory.length && !touching.taken; at += PAGES * PAGE) {
      const pages = Math.min(PAGES, Math.ceil((memory.length - at) / PAGE));
      await zeros.readv(
        Array.from({ length: pages }, (_, page) => memory.subarray(at + page * PAGE, at + page * PAGE + 1)),
      );
    }
  } catch {
    // It is done in advance only to save time.
  } finally {
    await zeros.close();
  }
}
