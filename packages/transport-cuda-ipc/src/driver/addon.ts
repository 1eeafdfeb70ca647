/** The native addon, loaded when it is first needed, so that importing this package works everywhere. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** A device as the addon describes it. */
export interface NativeDevice {
  readonly ordinal: number;
  readonly uuid: string;
  readonly name: string;
  readonly totalMemory: number;
  readonly pciBusId: string;
  readonly mig: boolean;
  readonly major: number;
  readonly minor: number;
  readonly virtualMemory: boolean;
  readonly memoryPools: boolean;
}

export type NativeProbe =
  | { readonly problem: string; readonly detail: string }
  | { readonly problem?: undefined; readonly version: number; readonly devices: readonly NativeDevice[] };

/** What native/addon.cc exports. */
export interface Addon {
  /** Opens the driver's library, and describes its devices. `worker`: this isn't the process's main thread. */
  probe(library: string, worker: boolean, done: (found: NativeProbe) => void): void;
  /** Has the operations done; `stream` 0 is one of the native thread's own. `error` is what native/result.cc makes. */
  submit(
    ordinal: number,
    words: BigUint64Array,
    views: readonly Uint8Array[],
    stream: bigint,
    wait: boolean,
    done: (error: Error | undefined, results: BigUint64Array) => void,
  ): void;
  held(): {
    readonly [Name in "allocations" | "allocatedBytes" | "mappings" | "streams" | "events" | "pending"]: number;
  };
}

const NAME = "@tesseract-ts/transport-cuda-ipc";

let loaded: Addon | undefined;

/**
 * The addon that was built here, or the prebuilt one for this platform. Each worker thread has one of its own.
 *
 * @throws whatever the loader has to say
 */
export function loadAddon(): Addon {
  if (loaded !== undefined) return loaded;
  const require = createRequire(import.meta.url);
  const load = require("node-gyp-build") as (folder: string) => Addon;
  loaded = load(packageRoot());
  return loaded;
}

/** The folder with this package's package.json, whether this runs from `src` or from `dist`. */
function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!isPackage(folder)) {
    const above = dirname(folder);
    if (above === folder) throw new Error(`This isn't part of an installed ${NAME}`);
    folder = above;
  }
  return folder;
}

function isPackage(folder: string): boolean {
  const file = join(folder, "package.json");
  return existsSync(file) && (JSON.parse(readFileSync(file, "utf8")) as { name?: unknown }).name === NAME;
}
