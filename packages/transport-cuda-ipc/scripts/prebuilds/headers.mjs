// Node's headers for node-gyp.

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** Variables that name the headers that came with this Node, where they did; otherwise node-gyp fetches them. */
export function headers() {
  const prefix = dirname(dirname(process.execPath));
  return existsSync(join(prefix, "include", "node", "common.gypi")) ? { npm_config_nodedir: prefix } : {};
}
