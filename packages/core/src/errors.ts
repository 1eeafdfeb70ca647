/**
 * What can go wrong, as stable codes. docs/errors.md has a section for each.
 */
export type ErrorCode =
  /** The URL can't name a Tesseract server. */
  | "INVALID_URL"
  /** An argument or option is wrong, whatever the server. */
  | "INVALID_ARGUMENT"
  /** A dtype that Tesseracts don't have, such as bfloat16. */
  | "UNSUPPORTED_DTYPE"
  /** An array's shape, dtype and data don't fit together. */
  | "INVALID_ARRAY"
  /** A tree holds something that can't be sent: a function, a cycle, a NaN outside an array. */
  | "INVALID_TREE"
  /** No connection to the server could be made. */
  | "CONNECTION_FAILED"
  /** The connection ended before the answer was complete; the endpoint may have run. */
  | "CONNECTION_LOST"
  /** The call took longer than its `timeout`. */
  | "TIMEOUT"
  /** The call's `signal` was aborted. */
  | "ABORTED"
  /** The Tesseract was closed. */
  | "CLOSED"
  /** The Tesseract doesn't have this endpoint. */
  | "ENDPOINT_NOT_FOUND"
  /** The server refused the request's content (HTTP 422); `issues` has each place. */
  | "VALIDATION_FAILED"
  /** The server can't produce the requested encoding (HTTP 406, or known before the call). */
  | "ENCODING_UNAVAILABLE"
  /** The runtime is too old to be asked for this. */
  | "RUNTIME_TOO_OLD"
  /** The server answered with another error; `status` and `body` have it. */
  | "SERVER_ERROR"
  /** The answer isn't what a Tesseract sends: no JSON, cut short, an HTML page. */
  | "MALFORMED_RESPONSE"
  /** The answer is larger than `maxResponseBytes`. */
  | "RESPONSE_TOO_LARGE"
  /** An encoded array is damaged: bad base64, a short buffer, a broken LZ4 frame. */
  | "DECODE_FAILED"
  /** A file reference leaves the directory it is confined to. */
  | "PATH_ESCAPE"
  /** A file of a `binref` array can't be read or written. */
  | "FILE_ERROR"
  /** No transport that was passed in carries this encoding. */
  | "TRANSPORT_MISSING"
  /** The transport can't be used by this process. */
  | "TRANSPORT_UNUSABLE"
  /** `TESSERACT_FORBID_DEVICE_HOST_COPY` forbids an implicit copy of a GPU array to the host. */
  | "HOST_COPY_FORBIDDEN"
  /** This process can't use CUDA: no driver, one that is too old, no device, no addon for this platform. */
  | "CUDA_UNAVAILABLE"
  /** The CUDA driver refused or failed a call; `driverCode`, `driverName` and `driverText` are its own words. */
  | "CUDA_ERROR"
  /** A GPU has no memory left for an allocation. */
  | "OUT_OF_DEVICE_MEMORY"
  /** Memory, or what owned it, was used after it was disposed of. */
  | "DISPOSED"
  /** An endpoint of a Tesseract in this process threw; `cause` has what. */
  | "ENDPOINT_FAILED"
  /** An endpoint of a Tesseract in this process returned what its schema doesn't allow; `issues` has each place. */
  | "INVALID_OUTPUTS"
  /** An endpoint changed an input in place. */
  | "INPUT_CHANGED"
  /** A module can't be loaded, or defines no Tesseract. */
  | "LOAD_FAILED"
  /** The regression test that `test()` ran found a difference. */
  | "REGRESSION_FAILED"
  /** The regression test that `test()` asked for couldn't be run. */
  | "REGRESSION_ERROR"
  /** A derivative with respect to an input, or of an output, that the Tesseract's schema doesn't call differentiable. */
  | "NOT_DIFFERENTIABLE"
  /** A program needs a second derivative of a Tesseract, which has no endpoint. */
  | "SECOND_DERIVATIVE"
  /** A batch of calls without a `vmapMethod`. */
  | "VMAP_METHOD_MISSING"
  /** The value of an array is asked for while a function is traced, by control flow or by `await`. */
  | "VALUE_UNKNOWN"
  /** A function makes other calls, or gives another tree, when it is executed again. */
  | "IMPURE_FUNCTION"
  /** A jax-js array is used after it was consumed. */
  | "ARRAY_CONSUMED"
  /** The result of a call outside programs is used without `await`. */
  | "AWAIT_MISSING"
  /** A started Tesseract's process or container ended before it answered; `log` has its last lines. */
  | "START_FAILED"
  /** A started Tesseract didn't answer in time; `log` has its last lines. */
  | "START_TIMED_OUT"
  /** The port that a Tesseract was to be started on is taken. */
  | "PORT_TAKEN"
  /** A started Tesseract's process or container ended during a call, or before it; `log` has its last lines. */
  | "PROCESS_ENDED"
  /** A Python environment can't be built, or has no runtime; `log` has the last lines of what failed. */
  | "ENVIRONMENT_FAILED"
  /** No container engine is installed, or it doesn't answer. */
  | "ENGINE_UNAVAILABLE"
  /** The container engine refused or failed what it was asked for; the message has its words. */
  | "ENGINE_FAILED"
  /** The container engine has no such image. */
  | "IMAGE_NOT_FOUND"
  /** An image that serves no Tesseract, or that this machine can't run. */
  | "IMAGE_INVALID"
  /** An image can't be built; `log` has the last lines of what failed. */
  | "BUILD_FAILED"
  /** This platform can't do it: a big-endian host, files in a browser. */
  | "UNSUPPORTED_PLATFORM";

/** One place at which a server's validation refused a request (an item of FastAPI's `detail`). */
export interface ValidationIssue {
  /** From the body's root down, as the server gave it: `["body", "inputs", "x"]`. */
  readonly path: readonly (string | number)[];
  /** The kind of the fault, such as `array_non_numeric` or `extra_forbidden`. */
  readonly type: string;
  readonly message: string;
  /** What was found there, if the server repeats it. */
  readonly input?: unknown;
  /** The values that the message was made from, if the server gives them. */
  readonly context?: unknown;
}

export interface ErrorDetails {
  /** What to do next. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
  /** The HTTP status, where an answer caused the error. */
  readonly status?: number | undefined;
  /** The beginning of the answer's body, where an answer caused the error. */
  readonly body?: string | undefined;
  readonly issues?: readonly ValidationIssue[] | undefined;
  /** Milliseconds that the server asks to wait before the next attempt: `Retry-After` (RFC 9110, 10.2.3). */
  readonly retryAfter?: number | undefined;
  /** The last lines that a process or container printed, where its end or its silence is the error. */
  readonly log?: readonly string[] | undefined;
}

/** Known to every copy of this module: a program may have one as ESM and one as CommonJS, by way of a plugin. */
const brand: unique symbol = Symbol.for("@tesseract-ts/core/TesseractError");

/**
 * The one error class of this project. `code` is stable and documented in docs/errors.md; `message` says what
 * happened and to what, `hint` what to do next, `cause` keeps the rest.
 *
 * @example
 * try {
 *   await tess.apply({ x });
 * } catch (error) {
 *   if (error instanceof TesseractError && error.code === "VALIDATION_FAILED") console.error(error.issues);
 * }
 */
export class TesseractError extends Error {
  declare readonly name: "TesseractError";
  readonly code: ErrorCode;
  declare readonly hint?: string;
  declare readonly status?: number;
  declare readonly body?: string;
  declare readonly issues: readonly ValidationIssue[];
  /** Milliseconds that the server asks to wait before the next attempt. */
  declare readonly retryAfter?: number;
  /** The last lines, oldest first, of a process or container whose end or silence is the error. */
  declare readonly log?: readonly string[];

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    // Only what is there, so that an error that is printed says no more than that.
    const { cause: _, ...more } = details;
    Object.assign(this, Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined)));
  }
}

Object.defineProperties(TesseractError.prototype, {
  [brand]: { value: true },
  name: { value: "TesseractError" },
  issues: { value: [], writable: true },
});

Object.defineProperty(TesseractError, Symbol.hasInstance, {
  value(this: typeof TesseractError, value: unknown): boolean {
    // A subclass has instances of its own.
    if (this !== TesseractError) return Function.prototype[Symbol.hasInstance].call(this, value);
    return typeof value === "object" && value !== null && brand in value;
  },
});

/** Something the caller should know that doesn't stop the call. */
export interface TesseractWarning {
  readonly code: "COMPRESSION_NOT_ADVERTISED" | "GPU_TRANSPORT_UNUSABLE";
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string;
}
