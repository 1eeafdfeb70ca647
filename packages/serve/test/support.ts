/** Servers for tests, and requests to them. */
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ErrorCode } from "@tesseract-ts/core";
import { TesseractError } from "@tesseract-ts/core";
import { afterEach, expect } from "vitest";
import { type ServedTesseract, type ServeOptions, serve } from "../src/index.js";

export const tesseractFile = (name: string): string => fileURLToPath(new URL(`tesseracts/${name}.ts`, import.meta.url));

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

export const atTheEnd = (end: () => Promise<unknown>): void => void endings.push(end);

export interface Serving extends ServedTesseract {
  readonly inputPath: string;
  readonly outputPath: string;
}

/** A server on any free port, with folders of its own, until the end of the test. */
export async function serving(tesseract: Parameters<typeof serve>[0], options: ServeOptions = {}): Promise<Serving> {
  const folder = await mkdtemp(join(tmpdir(), "tesseract-serve-"));
  atTheEnd(() => rm(folder, { recursive: true, force: true }));
  const directories = { inputPath: folder, outputPath: join(folder, "out") };
  const served = await serve(tesseract, { port: 0, ...directories, ...options });
  atTheEnd(() => served.close());
  return { ...served, ...directories };
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body, where it is JSON. */
  readonly json: unknown;
}

export async function request(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, { redirect: "manual", ...init });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== "" ? JSON.parse(text) : undefined,
  };
}

/** A call of `apply`, with its inputs. */
export const apply = (
  { url }: { readonly url: string },
  inputs: unknown,
  { query = "", ...init }: RequestInit & { readonly query?: string } = {},
): Promise<Answer> =>
  request(`${url}/apply${query}`, {
    method: "POST",
    body: JSON.stringify({ inputs }),
    ...init,
    headers: { "content-type": "application/json", ...init.headers },
  });

/** A connection that says what it likes. */
export class RawConnection implements AsyncDisposable {
  received = "";
  readonly closed: Promise<void>;
  private readonly socket: Socket;

  constructor(port: number) {
    this.socket = connect(port, "127.0.0.1");
    this.socket.setEncoding("utf8").on("data", (text: string) => {
      this.received += text;
    });
    this.socket.on("error", () => {});
    this.closed = new Promise((resolve) => this.socket.once("close", () => resolve()));
  }

  write(text: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => void this.socket.write(text, () => resolve()));
  }

  destroy(): void {
    this.socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.destroy();
    await this.closed;
  }
}

export async function failureOf(work: () => unknown): Promise<TesseractError> {
  try {
    await work();
  } catch (error) {
    if (error instanceof TesseractError) return error;
    throw error;
  }
  throw new Error("Nothing was thrown");
}

export const tesseractError = (code: ErrorCode, ...words: readonly string[]): unknown =>
  expect.toSatisfy(
    (error: unknown) =>
      error instanceof TesseractError &&
      error.code === code &&
      words.every((word) => `${error.message} ${error.hint}`.includes(word)),
    `a TesseractError ${[code, ...words].join(", ")}`,
  );

/** Waits until `check` is true; the test's time limit ends it. */
export async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await check())) await new Promise((resolve) => setTimeout(resolve, 10));
}
