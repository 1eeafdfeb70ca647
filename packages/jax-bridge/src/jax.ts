/** jax-js, loaded when a program needs it: a call outside programs works without it. */
import type * as Jax from "@jax-js/jax";
import { TesseractError } from "@tesseract-ts/core";

export type JaxModule = typeof Jax;
/** An array of jax-js, or what stands for one while a function is traced. */
export type JaxArray = Jax.numpy.Array;

let loaded: JaxModule | undefined;

/** @throws TesseractError UNSUPPORTED_PLATFORM if it isn't installed */
export async function loadJax(): Promise<JaxModule> {
  try {
    loaded ??= await import("@jax-js/jax");
    return loaded;
  } catch (error) {
    throw new TesseractError("UNSUPPORTED_PLATFORM", "Programs are made of jax-js, which can't be loaded", {
      hint: "Install it: npm install @jax-js/jax",
      cause: error,
    });
  }
}

/** jax-js, once {@link loadJax} has loaded it. */
export function jax(): JaxModule {
  if (loaded === undefined) throw new Error("jax-js is used before it was loaded");
  return loaded;
}
