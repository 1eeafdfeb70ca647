/** Loads a Tesseract from a module, in this process. */
import { readFile, stat } from "node:fs/promises";
import { dirname, extname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { TesseractError } from "@tesseract-ts/core";
import { isTesseractDefinition, type TesseractDefinition } from "./define.js";

const typescript = new Set([".ts", ".mts", ".cts"]);
const javascript = new Set([".js", ".mjs", ".cjs"]);

/**
 * Loads the Tesseract that a module exports as its default, or as `tesseract`. Its code runs in this process.
 *
 * TypeScript is loaded by tsx, which has to be installed; afresh each time, if its package.json has the `type` "module". What is
 * JavaScript, or CommonJS, is loaded once.
 *
 * @param path of a `.ts`, `.mts`, `.js` or `.mjs` file; relative to the working directory
 * @throws TesseractError LOAD_FAILED
 */
export async function loadTesseract(path: string): Promise<TesseractDefinition> {
  const file = resolve(path);
  const extension = extname(file);
  if (!typescript.has(extension) && !javascript.has(extension)) {
    throw loadFailed(path, `its name ends with "${extension}"`, "A Tesseract is a .ts, .mts, .js or .mjs file.");
  }
  const found = await stat(file).catch(() => undefined);
  if (found?.isFile() !== true) throw loadFailed(path, "there is no such file");
  const url = pathToFileURL(file).href;
  const load = typescript.has(extension) ? await typescriptLoader(path, file) : (target: string) => import(target);
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await load(url);
  } catch (error) {
    throw loadFailed(path, error instanceof Error ? error.message : String(error), undefined, error);
  }
  const tesseract = exported(module);
  if (tesseract !== undefined) return tesseract;
  throw loadFailed(path, "it exports no Tesseract", "Write export default defineTesseract({ … }).");
}

function exported(module: Readonly<Record<string, unknown>>): TesseractDefinition | undefined {
  const { default: main, tesseract } = module;
  // A CommonJS module's exports come as the default, with its own default within.
  const inner = typeof main === "object" && main !== null && "default" in main ? main.default : undefined;
  return [main, tesseract, inner].find(isTesseractDefinition);
}

type Load = (url: string) => Promise<Readonly<Record<string, unknown>>>;

async function typescriptLoader(path: string, file: string): Promise<Load> {
  try {
    if (await isCommonJs(file)) {
      registered ??= registerTsx();
      await registered;
      return (url) => import(url);
    }
    const { tsImport } = await import("tsx/esm/api");
    return (url) => tsImport(url, import.meta.url);
  } catch (error) {
    throw loadFailed(path, "tsx, which loads TypeScript, isn't there", "npm install tsx", error);
  }
}

let registered: Promise<void> | undefined;

/**
 * For CommonJS, tsx stays registered in this process: its `tsImport` would load a second copy of every package that such a module
 * needs, and not all of them bear it (undici's classes refuse each other).
 */
async function registerTsx(): Promise<void> {
  const [esm, cjs] = await Promise.all([import("tsx/esm/api"), import("tsx/cjs/api")]);
  esm.register();
  cjs.register();
}

/** As Node decides it for `.ts`: by the nearest package.json. */
async function isCommonJs(file: string): Promise<boolean> {
  const extension = extname(file);
  if (extension !== ".ts") return extension === ".cts";
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const manifest = await readFile(join(folder, "package.json"), "utf8").catch(() => undefined);
    if (manifest !== undefined) return !/"type"\s*:\s*"module"/.test(manifest);
    if (folder === dirname(folder)) return true;
  }
}

const loadFailed = (path: string, reason: string, hint?: string, cause?: unknown): TesseractError =>
  new TesseractError("LOAD_FAILED", `The Tesseract "${path}" can't be loaded: ${reason}`, { hint, cause });
