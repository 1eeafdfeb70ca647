/** The version of this package. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Found upwards from here, as the sources and what is built lie at different depths. */
export function version(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    let text: string;
    try {
      text = readFileSync(join(folder, "package.json"), "utf8");
    } catch {
      if (folder === dirname(folder)) return "unknown";
      continue;
    }
    return String((JSON.parse(text) as { readonly version?: unknown }).version ?? "unknown");
  }
}
