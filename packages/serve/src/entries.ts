/** The files that other threads and processes begin with, beside the package's own entry. */
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

const isSource = import.meta.url.endsWith(".ts");
const conditions = ["--conditions", "source"];

const besideThis = (name: string): URL => new URL(`./${name}.${isSource ? "ts" : "js"}`, import.meta.url);

/** A module of tsx, which runs the sources in this project's own tests. */
const tsx = (name: string): string =>
  JSON.stringify(
    pathToFileURL(
      createRequire(import.meta.url)
        .resolve(name)
        .replace(/cjs$/, "mjs"),
    ).href,
  );

/** What a worker thread of this package begins with. */
export function threadEntry(): { readonly url: URL; readonly options: { readonly execArgv?: string[] } } {
  const url = besideThis("thread");
  if (!isSource) return { url, options: {} };
  // tsx's own loader leaves threads alone.
  const code = `import { register } from ${tsx("tsx/esm/api")}; register(); await import(${JSON.stringify(url.href)});`;
  return { url: new URL(`data:text/javascript,${encodeURIComponent(code)}`), options: { execArgv: conditions } };
}

/** What a worker process of this package begins with. */
export function processEntry(): { readonly file: string; readonly options: { readonly execArgv?: string[] } } {
  const file = fileURLToPath(besideThis("worker-process"));
  return isSource
    ? { file, options: { execArgv: ["--import", JSON.parse(tsx("tsx")), ...conditions] } }
    : { file, options: {} };
}
