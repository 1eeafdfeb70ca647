// Where things are, as absolute paths.

import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));

/** What the scripts make and can make again. Git ignores it. */
export const cache = join(root, ".cache");

/** What Python has compiled, of whatever is imported. Beside the sources it would be in the way of those who copy or list them. */
export const bytecode = join(cache, "bytecode");
