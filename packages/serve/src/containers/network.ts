/** Networks that containers are in. */
import type { Engine, EngineCall } from "./engine.js";

/** Of networks that were made here: whoever uses one last removes it. */
export const NETWORK_LABEL = "io.tesseract-ts.network=1";

/** Names that engines read as something else than a network that was made. */
const builtin = /^(host|bridge|none|private|default|podman|slirp4netns|pasta|ns|container)(:|$)/;

/** Whether a network has to be made, and removed in the end: there is none of this name, or it was made in this way. */
export async function isOwnNetwork(engine: Engine, name: string, { signal }: EngineCall): Promise<boolean> {
  if (builtin.test(name)) return false;
  const { status, stdout } = await engine.run(["network", "inspect", name], { signal });
  const [label = "", value = ""] = NETWORK_LABEL.split("=");
  return status !== 0 || new RegExp(`"${label.replaceAll(".", "\\.")}": *"${value}"`).test(stdout);
}
