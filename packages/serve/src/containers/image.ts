/** What an engine says of an image. */
import { TesseractError } from "@tesseract-ts/core";
import { type Engine, type EngineCall, lastWords } from "./engine.js";

export interface Image {
  /** As it was asked for. */
  readonly name: string;
  readonly id: string;
  /** The variables that it sets. */
  readonly environment: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  /** `linux/amd64` */
  readonly platform: string;
}

/** Says of an image that it serves a Tesseract, and which runtime does. Written by `buildImage`. */
export const RUNTIME_LABEL = "io.tesseract-ts.runtime";

const missing = /no such image|image not known|not found|did not resolve|no such object|does not exist/i;

/**
 * Looks at an image that is on this machine.
 *
 * @throws TesseractError IMAGE_NOT_FOUND, IMAGE_INVALID if it is no Tesseract's, ENGINE_FAILED, ENGINE_UNAVAILABLE, ABORTED
 */
export async function inspectImage(engine: Engine, name: string, call: EngineCall = {}): Promise<Image> {
  if (name === "" || name.startsWith("-")) {
    throw new TesseractError("INVALID_ARGUMENT", `"${name}" is no image's name`, { hint: 'Such as "heat:latest".' });
  }
  const { status, stdout, stderr } = await engine.run(["image", "inspect", name], call);
  if (status !== 0) {
    if (!missing.test(stderr)) {
      throw new TesseractError("ENGINE_FAILED", `The image "${name}" can't be looked at: ${lastWords(stderr)}`);
    }
    throw new TesseractError("IMAGE_NOT_FOUND", `${engine.name} has no image "${name}"`, {
      hint: `\`${engine.kind} images\` lists those that it has. \`${engine.kind} pull ${name}\` gets one from a registry, \`tesseract-ts build\` makes one.`,
    });
  }
  const image = readImage(name, stdout);
  if (image.environment.TESSERACT_NAME === undefined) {
    throw new TesseractError("IMAGE_INVALID", `The image "${name}" is no Tesseract's: it doesn't set TESSERACT_NAME`, {
      hint: "Images of Tesseracts are made by `tesseract build`, and by `tesseract-ts build`.",
    });
  }
  return image;
}

interface Inspected {
  readonly Id?: string;
  readonly Os?: string;
  readonly Architecture?: string;
  readonly Config?: {
    readonly Env?: readonly string[] | null;
    readonly Labels?: Readonly<Record<string, string>> | null;
  };
}

function readImage(name: string, json: string): Image {
  let found: Inspected | undefined;
  try {
    found = (JSON.parse(json) as readonly Inspected[])[0];
  } catch (error) {
    throw new TesseractError("ENGINE_FAILED", `What the engine says of the image "${name}" is no JSON`, {
      cause: error,
    });
  }
  const variables = (found?.Config?.Env ?? []).map((line) => {
    const at = line.indexOf("=");
    return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)];
  });
  return {
    name,
    id: found?.Id ?? "",
    environment: Object.fromEntries(variables),
    labels: found?.Config?.Labels ?? {},
    platform: `${found?.Os ?? "?"}/${found?.Architecture ?? "?"}`,
  };
}
