/** Notices the end of whoever started this process, by a pipe that it holds open. */
import { Socket } from "node:net";

/**
 * @param fd the read end
 * @returns what stops the watching
 */
export function watchParent(fd: number, onEnd: () => void): () => void {
  const pipe = new Socket({ fd, readable: true, writable: false });
  pipe.on("error", () => onEnd());
  pipe.on("end", onEnd);
  // What comes through it means nothing.
  pipe.resume();
  pipe.unref();
  return () => pipe.destroy();
}
