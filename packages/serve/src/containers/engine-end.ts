/** How what an engine runs is ended. */
import { endEntry } from "../entries.js";
import type { Command } from "../start/launch.js";
import type { Engine } from "./engine.js";
import { engineEnvironment } from "./engine-environment.js";

export interface EngineEnd {
  readonly command: readonly string[];
  /** Its name. */
  readonly container: string;
}

/** Undefined where the engine's client can be sent signals: docker's, whose daemon does the work. */
export const endCommand = (engine: Engine, container: string): Command | undefined =>
  engine.kind === "docker"
    ? undefined
    : {
        command: process.execPath,
        args: [endEntry(), JSON.stringify({ command: engine.command, container } satisfies EngineEnd)],
        env: engineEnvironment(),
      };
