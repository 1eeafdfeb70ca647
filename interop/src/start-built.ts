/** `fromSource` as it is published: what it starts is then plain JavaScript, which starts in a third of the time. */
import { pathToFileURL } from "node:url";
import { repositoryRoot } from "./python.js";

const built = pathToFileURL(`${repositoryRoot}packages/serve/dist/index.js`).href;

export const { fromSource } = (await import(built)) as typeof import("@tesseract-ts/serve");
