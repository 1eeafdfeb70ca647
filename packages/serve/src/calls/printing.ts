/**
 * What endpoints print, `console.log` for one, goes to their run's log as well, where the reference puts it. It is told from
 * what the rest of the program prints by the call that it is printed in.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Run } from "./run.js";

const runs = new AsyncLocalStorage<Run>();

/** Servers of this process, or thread, that want to know. */
let watchers = 0;
let stop: (() => void) | undefined;

/** What is printed while `work` runs belongs to the run, and is on standard output or standard error all the same. */
export const printingTo = <T>(run: Run, work: () => T): T => runs.run(run, work);

/** @returns to be called once, when it is over */
export function watchPrinting(): () => void {
  watchers += 1;
  if (watchers === 1) stop = watch([process.stdout, process.stderr]);
  return () => {
    watchers -= 1;
    if (watchers === 0) stop?.();
  };
}

/** Streams have no event for what is written to them, so that their method is replaced. */
function watch(streams: readonly NodeJS.WriteStream[]): () => void {
  const endings = streams.map((stream) => {
    const { write } = stream;
    const observed = ((...args: Parameters<typeof write>): boolean => {
      const [chunk, encoding] = args as readonly unknown[];
      runs.getStore()?.write(textOf(chunk, encoding));
      return write.apply(stream, args);
    }) as typeof write;
    stream.write = observed;
    return () => {
      // Somebody else may have replaced it since.
      if (stream.write === observed) stream.write = write;
    };
  });
  return () => {
    for (const end of endings) end();
  };
}

const textOf = (chunk: unknown, encoding: unknown): string =>
  typeof chunk === "string"
    ? Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8").toString()
    : chunk instanceof Uint8Array
      ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString()
      : "";
