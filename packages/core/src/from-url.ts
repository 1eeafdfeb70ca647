/** Connects to a Tesseract that is being served. */
import type { ArrayAdapter } from "./adapters/adapter.js";
import type { Backend } from "./backend.js";
import { Connection } from "./connection.js";
import type { RequestedEncoding } from "./encoding.js";
import { TesseractError, type TesseractWarning } from "./errors.js";
import { loadPart } from "./load-part.js";
import { ArrayFinder } from "./message/array-finder.js";
import { Tesseract } from "./tesseract.js";
import type { Transports } from "./transport.js";
import { TransportSet } from "./transport-set.js";
import type { TesseractTypes, Untyped } from "./tree.js";

export interface FromUrlOptions extends RequestedEncoding {
  /** How arrays may cross, in order of preference. At least one must carry arrays in the host's memory. */
  readonly transports: Transports;
  /** Milliseconds that each call may take, and the connecting; a call's own `timeout` wins. Without it, no limit. */
  readonly timeout?: number;
  /** Ends the connecting early. */
  readonly signal?: AbortSignal;
  /** Sent with every request, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A path that a reverse proxy serves the Tesseract under, such as `/heat`. */
  readonly basePath?: string;
  /** How many calls may be on their way at once; more wait. 128 if left out. Browsers have limits of their own. */
  readonly connections?: number;
  /** The largest answer that is read. 8 GiB if left out. */
  readonly maxResponseBytes?: number;
  /** Recognize the arrays of further libraries. */
  readonly adapters?: readonly ArrayAdapter[];
  /** Told what doesn't stop a call, once for each kind. Written to the console if left out. */
  readonly onWarning?: (warning: TesseractWarning) => void;
}

const DEFAULT_CONNECTIONS = 128;
const DEFAULT_MAX_RESPONSE_BYTES = 2 ** 33;

/**
 * Connects to a Tesseract at a URL such as `http://localhost:8000`, and asks what it offers.
 *
 * The first of the transports that carries arrays in the host's memory and that the server offers is used for both
 * directions, unless `outputFormat` names another. The caller owns the result and closes it.
 *
 * @throws TesseractError INVALID_URL, INVALID_ARGUMENT, CONNECTION_FAILED, CONNECTION_LOST, TIMEOUT, ABORTED,
 *   MALFORMED_RESPONSE, ENDPOINT_NOT_FOUND, SERVER_ERROR, ENCODING_UNAVAILABLE, TRANSPORT_MISSING, RUNTIME_TOO_OLD
 *
 * @example
 * await using heat = await fromUrl("http://localhost:8000", { transports: [host()] });
 * const { temperature } = await heat.apply({ source: new Float64Array(100), steps: 50 });
 */
export async function fromUrl<T extends TesseractTypes = Untyped>(
  url: string | URL,
  options: FromUrlOptions,
): Promise<Tesseract<T>> {
  const backend = await backendFromUrl(url, options);
  const { outputFormat, gpuTransport, compression } = options;
  return new Tesseract<T>(backend, { outputFormat, gpuTransport, compression });
}

/**
 * The connection that {@link fromUrl} makes a Tesseract of, for those who put something around it: a {@link Backend} of their
 * own, which passes calls on to this one, and of which they make the Tesseract. The caller owns it and closes it, as a
 * Tesseract does with its backend.
 *
 * @throws TesseractError as `fromUrl` does
 *
 * @example
 * const connection = await backendFromUrl("http://localhost:8000", { transports: [host()] });
 * const call: Backend["call"] = (call) => (console.log(call.route), connection.call(call));
 * await using heat = new Tesseract(Object.create(connection, { call: { value: call } }));
 */
export async function backendFromUrl(url: string | URL, options: FromUrlOptions): Promise<Backend> {
  const { outputFormat, gpuTransport, compression } = options;
  const origin = await originOf(String(url));
  const connection = await Connection.open(
    {
      origin,
      basePath: checkBasePath(options.basePath ?? ""),
      transports: new TransportSet(options.transports, { name: `the server at ${origin}` }),
      arrays: new ArrayFinder(options.adapters ?? []),
      headers: checkHeaders(options.headers ?? {}),
      connections: options.connections ?? DEFAULT_CONNECTIONS,
      timeout: options.timeout,
      maxResponseBytes: options.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES,
      warn:
        options.onWarning ?? (({ message, hint }) => console.warn(hint === undefined ? message : `${message} ${hint}`)),
    },
    { signal: options.signal, timeout: options.timeout },
  );
  try {
    connection.checkEncoding({ outputFormat, gpuTransport, compression });
  } catch (error) {
    await connection.close();
    throw error;
  }
  return connection;
}

/** @throws TesseractError INVALID_URL */
async function originOf(url: string): Promise<string> {
  if (namesServer(url)) return new URL(url).origin;
  const { invalidUrl } = await loadPart(() => import("#invalid-url"));
  throw invalidUrl(url);
}

/** Whether it is an http(s) URL with nothing but a host and a port. */
function namesServer(url: string): boolean {
  try {
    const { username, password, pathname, search, hash } = new URL(url);
    return /^https?:\/\//i.test(url) && username + password + search + hash === "" && pathname === "/";
  } catch {
    return false;
  }
}

function checkBasePath(basePath: string): string {
  const trimmed = basePath.replace(/\/+$/, "");
  if (trimmed === "" || /^\/[^?#\s]*$/.test(trimmed)) return trimmed;
  throw new TesseractError("INVALID_ARGUMENT", `basePath "${basePath}" is no path`, {
    hint: 'Give one such as "/heat".',
  });
}

/** @returns the headers by their lower-case names */
function checkHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      // RFC 9110, sections 5.1 and 5.5. The value isn't quoted: it may be a secret.
      if (!/^[!#$%&'*+.^`|~\w-]+$/.test(name) || typeof value !== "string" || /[^\t\x20-\x7e\x80-\xff]/.test(value)) {
        throw new TesseractError(
          "INVALID_ARGUMENT",
          `The header ${JSON.stringify(name)} has a name or value that is none`,
          {
            hint: "A name is made of letters, digits and hyphens; a value has no line breaks, and no characters beyond Latin-1.",
          },
        );
      }
      return [name.toLowerCase(), value];
    }),
  );
}
