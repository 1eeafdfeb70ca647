/** What a server and its worker processes say to each other. Sockets travel with `connection`. */
import type { OperatorSettings } from "../operators/observer.js";
import type { Settings } from "../settings.js";

/** What one worker process asks of all others. */
export type Question =
  | { readonly kind: "dropUnacknowledged" }
  | { readonly kind: "givenUp"; readonly ids: readonly string[] }
  | { readonly kind: "metrics" };

/** What one worker process tells others, without waiting. */
export type Notice =
  | { readonly kind: "acknowledge"; readonly ids: readonly string[] }
  | { readonly kind: "overheard"; readonly peer: string; readonly headers: Readonly<Record<string, string>> };

export type ToWorker =
  | {
      readonly kind: "start";
      readonly path: string;
      /** The module that gives the transports; the default ones without it. */
      readonly transports: string | undefined;
      readonly settings: Settings;
      readonly operators: OperatorSettings;
      /** Begins the ids of this process's exports. */
      readonly prefix: string;
    }
  | { readonly kind: "connection"; readonly number: number }
  | { readonly kind: "question"; readonly number: number; readonly question: Question }
  | { readonly kind: "answers"; readonly number: number; readonly answers: readonly unknown[] }
  | { readonly kind: "notice"; readonly notice: Notice }
  | { readonly kind: "close" };

export type FromWorker =
  | { readonly kind: "ready" }
  /** A connection has come, before anything is read from it. */
  | { readonly kind: "taken"; readonly number: number }
  | {
      readonly kind: "failed";
      readonly code: string | undefined;
      readonly message: string;
      readonly hint: string | undefined;
    }
  | { readonly kind: "ask"; readonly number: number; readonly question: Question }
  | { readonly kind: "answer"; readonly number: number; readonly answer: unknown }
  | { readonly kind: "notice"; readonly notice: Notice };
