/** Asks an interpreter which Tesseract runtime it has. */
import { execFile } from "node:child_process";
import { environmentWith } from "./environment.js";

/** Milliseconds that it may take to say so; it imports nothing large. */
const LIMIT_MS = 60_000;

/** Variables that would let another interpreter find this process's packages. */
export const importVariables = ["PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"];

export type FoundRuntime =
  /** `version` is undefined for one that isn't installed, but found all the same. */
  | { readonly kind: "found"; readonly version: string | undefined }
  | { readonly kind: "none" }
  | { readonly kind: "no interpreter"; readonly reason: string };

// The distribution is named tesseract-core, or tesseract-runtime where the reference has installed its own. Without its extra
// "runtime" it can't serve.
const QUESTION = `
import importlib.util, importlib.metadata
def version(name):
    try: return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError: return None
found = all(importlib.util.find_spec(name) for name in ("tesseract_core", "fastapi", "uvicorn"))
print("tesseract runtime:", (version("tesseract-core") or version("tesseract-runtime") or "unknown") if found else "none")
`;

export function runtimeOf(interpreter: string, env: Readonly<Record<string, string>> = {}): Promise<FoundRuntime> {
  const options = { env: environmentWith(env, importVariables), timeout: LIMIT_MS };
  return new Promise((resolve) => {
    execFile(interpreter, ["-c", QUESTION], options, (error, stdout, stderr) => {
      const said = /^tesseract runtime: (\S+)/m.exec(stdout)?.[1];
      if (error !== null || said === undefined) {
        resolve({
          kind: "no interpreter",
          reason: (stderr.trim().split("\n").at(-1) || error?.message) ?? "it printed nothing",
        });
      } else if (said === "none") resolve({ kind: "none" });
      else resolve({ kind: "found", version: said === "unknown" ? undefined : said });
    });
  });
}
