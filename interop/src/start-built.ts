/** `fromSource` as it is published: what it starts is then plain JavaScript, which starts in a third of the time. */
import { pathToFileURL } from "node:url";
import { repositoryRoot } from "./python.js";

/** Its module's address. */
export const builtServe = pathToFileURL(`${repositoryRoot}packages/serve/dist/index.js`).href;

export const { fromSource } = (await import(builtServe)) as typeof import("@tesseract-ts/serve");
