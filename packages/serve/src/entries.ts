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
  return isSource ? { file, options: { execArgv: runsSources() } } : { file, options: {} };
}

/** The arguments of Node for a process that serves a file by itself. */
export const serveFileEntry = (): readonly string[] =>
  isSource
    ? [...runsSources(), fileURLToPath(besideThis("start/serve-file"))]
    : [fileURLToPath(besideThis("serve-file"))];

/** What stands between this program and a process that it started. */
export const guardEntry = (): URL => new URL(isSource ? "./start/guard.mjs" : "./guard.js", import.meta.url);

/** What removes what a container engine has made. */
export const cleanupEntry = (): string =>
  fileURLToPath(new URL(isSource ? "./containers/engine-cleanup.mjs" : "./engine-cleanup.js", import.meta.url));

/** What ends a container of an engine that must not be sent signals. */
export const endEntry = (): string =>
  fileURLToPath(new URL(isSource ? "./containers/engine-end.mjs" : "./engine-end.js", import.meta.url));

/** What runs a container in a network that it makes first. */
export const networkEntry = (): string =>
  fileURLToPath(new URL(isSource ? "./containers/run-in-network.mjs" : "./run-in-network.js", import.meta.url));

const runsSources = (): string[] => ["--import", JSON.parse(tsx("tsx")), ...conditions];
