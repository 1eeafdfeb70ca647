/** What an engine has made for one start or one build, and how it is removed. */
import { cleanupEntry } from "../entries.js";
import type { Command } from "../start/launch.js";
import type { Engine } from "./engine.js";
import { engineEnvironment } from "./engine-environment.js";

export interface EngineRemains {
  readonly kind: Engine["kind"];
  readonly command: readonly string[];
  /** `name=value`: of containers. */
  readonly label?: string;
  /** What podman builds an image in, and keeps if it is killed. */
  readonly workingContainer?: string;
  /** A name that an image was given for the build alone. */
  readonly tag?: string;
  /** A network that was made, unless others use it. */
  readonly network?: string;
}

/** What removes them, run by the guard of the start or build. */
export const removalOf = (engine: Engine, remains: Omit<EngineRemains, "kind" | "command">): Command => ({
  command: process.execPath,
  args: [
    cleanupEntry(),
    JSON.stringify({ kind: engine.kind, command: engine.command, ...remains } satisfies EngineRemains),
  ],
  env: engineEnvironment(),
});
