/** This package, as it is installed: images serve with it. */

import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { TesseractError } from "@tesseract-ts/core";
import { readManifest } from "./packages.js";

const NAME = "@tesseract-ts/serve";

export interface OwnPackage {
  readonly name: string;
  readonly version: string;
  readonly folder: string;
}

/** @throws TesseractError BUILD_FAILED */
export async function ownPackage(): Promise<OwnPackage> {
  for (let folder = dirname(fileURLToPath(import.meta.url)); dirname(folder) !== folder; folder = dirname(folder)) {
    const manifest = await readManifest(folder);
    if (manifest?.name !== NAME) continue;
    if ((await stat(`${folder}/dist/image-entry.js`).catch(() => undefined)) === undefined) {
      throw new TesseractError("BUILD_FAILED", `${folder} isn't built`, { hint: `npm run build -w ${NAME}` });
    }
    return { name: NAME, version: manifest.version ?? "0", folder };
  }
  throw new TesseractError("BUILD_FAILED", `This isn't part of an installed ${NAME}`);
}
