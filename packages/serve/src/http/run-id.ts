/** The name of a run, as a request gives it. */
import { Refusal } from "./refusal.js";

/**
 * Undefined where a request gives none.
 *
 * @throws Refusal 422 for a name that would leave the output directory
 */
export function runIdOf(url: string): string | undefined {
  const at = url.indexOf("?");
  if (at < 0) return undefined;
  // As in the reference, the last one counts.
  const id = new URLSearchParams(url.slice(at + 1)).getAll("run_id").at(-1);
  if (id === undefined) return undefined;
  if (/[/\\\0]/.test(id) || Buffer.byteLength(id) > 200) {
    const msg = "A run id is a part of a file's name: without slashes, and of up to 200 bytes";
    throw new Refusal(422, [{ type: "value_error", loc: ["query", "run_id"], msg, input: id }]);
  }
  return id;
}
