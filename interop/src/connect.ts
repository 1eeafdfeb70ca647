// Clients of the served fixtures.

import { type FromUrlOptions, fromUrl, type Tesseract, type TesseractTypes, type Untyped } from "@tesseract-ts/core";
import { host } from "@tesseract-ts/transport-host";
import { afterAll, beforeAll } from "vitest";
import type { Runtime } from "./runtime.js";

/** Where a server is, and the folders that it shares with its clients. */
export type Address = Pick<Runtime, "url" | "inputPath" | "outputPath">;

/** A client with every transport through the host. */
export function connect<T extends TesseractTypes = Untyped>(
  { url, inputPath, outputPath }: Address,
  options: Partial<FromUrlOptions> = {},
): Promise<Tesseract<T>> {
  return fromUrl<T>(url, { transports: [host({ inputPath, outputPath })], ...options });
}

/** One client for all tests of a `describe`, made before the first and closed after the last. */
export function sharedClient<T extends TesseractTypes = Untyped>(
  address: () => Address,
  options: Partial<FromUrlOptions> = {},
): () => Tesseract<T> {
  let client: Tesseract<T> | undefined;
  beforeAll(async () => {
    client = await connect<T>(address(), options);
  });
  afterAll(() => client?.close());
  return () => {
    if (client === undefined) throw new Error("The client isn't connected.");
    return client;
  };
}
