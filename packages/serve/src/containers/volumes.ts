/** What of this machine's files a container sees. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { TesseractError } from "@tesseract-ts/core";

/** A folder or file of this machine, or a volume of the engine's by its name, within a container. */
export interface Volume {
  /** A path, or a volume's name: what has no slash and no dot in it is one, as in the reference. */
  readonly source: string;
  /** Where it is in the container: an absolute path. */
  readonly target: string;
  /** `ro` if left out; the engine knows more, such as `rw` and `ro,z`. */
  readonly mode?: string;
}

/**
 * Docker would make a folder, owned by root, where nothing is.
 *
 * @throws TesseractError INVALID_ARGUMENT
 */
export async function requireSources(volumes: readonly (string | Volume)[]): Promise<void> {
  for (const given of volumes) {
    const { source } = volumeOf(given);
    if (isPath(source) && (await stat(source).catch(() => undefined)) === undefined) {
      throw invalid(given, `${resolve(source)} doesn't exist`);
    }
  }
}

/**
 * @param volumes as text too: `./data:/data`, `./data:/data:rw`
 * @returns what `--volume` takes
 * @throws TesseractError INVALID_ARGUMENT
 */
export function volumeArguments(volumes: readonly (string | Volume)[]): readonly string[] {
  const targets = new Set<string>();
  return volumes.map((given) => {
    const { source, target, mode = "ro" } = volumeOf(given);
    if (!target.startsWith("/")) throw invalid(given, `"${target}" is no absolute path`);
    if (targets.has(target)) throw invalid(given, `something else is at ${target} already`);
    targets.add(target);
    const from = isPath(source) ? resolve(source) : source;
    if (`${from.replace(/^[a-z]:[\\/]/i, "")}${target}${mode}`.includes(":")) {
      throw invalid(given, "engines can't be told of paths with a colon");
    }
    return `${from}:${target}:${mode}`;
  });
}

const isPath = (source: string): boolean => /[/\\.]/.test(source);

const volumeOf = (given: string | Volume): Volume => (typeof given === "string" ? parseVolume(given) : given);

function parseVolume(text: string): Volume {
  // A drive of Windows has a colon of its own.
  const drive = /^[a-z]:(?=[\\/])/i.exec(text)?.[0] ?? "";
  const [source = "", target, mode, ...more] = text.slice(drive.length).split(":");
  if (target === undefined || source + drive === "" || more.length > 0) {
    throw invalid(text, "it isn't SOURCE:TARGET or SOURCE:TARGET:MODE");
  }
  return { source: drive + source, target, ...(mode === undefined ? {} : { mode }) };
}

const invalid = (given: string | Volume, reason: string): TesseractError =>
  new TesseractError("INVALID_ARGUMENT", `The volume ${JSON.stringify(given)} can't be used: ${reason}`, {
    hint: 'Such as "./data:/data" (read only), or { source: "./data", target: "/data", mode: "rw" }.',
  });
