/** What the server and its threads say to each other. */
import type { ErrorCode, HostArray } from "@tesseract-ts/core";
import type { KnownTransport, RequestIssue, RunnerRoute } from "@tesseract-ts/inprocess";

/** What a thread is started with. */
export interface ThreadData {
  /** The file of the Tesseract. */
  readonly path: string;
  readonly development: boolean;
  /** What the server can decode. */
  readonly transports: readonly KnownTransport[];
}

/** An array for one of the payload's places, in their order. */
export type SentArray =
  | { readonly kind: "array"; readonly array: HostArray }
  | { readonly kind: "undecodable"; readonly encoding: string; readonly reason: string };

export type ToThread =
  | {
      readonly kind: "call";
      readonly route: RunnerRoute;
      readonly payload: unknown;
      readonly arrays: readonly SentArray[];
      readonly runId: string;
      readonly outputPath: string;
    }
  | { readonly kind: "abort"; readonly reason: string };

/** An error, as far as it can cross. */
export interface SentError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string | undefined;
  readonly stack: string | undefined;
  /** Of what the endpoint threw. */
  readonly cause: { readonly message: string; readonly stack: string | undefined } | undefined;
}

export type FromThread =
  | { readonly kind: "ready" }
  | { readonly kind: "answered"; readonly outputs: unknown }
  | { readonly kind: "refused"; readonly issues: readonly RequestIssue[] }
  | { readonly kind: "failed"; readonly error: SentError };
