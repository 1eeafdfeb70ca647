/** Turns an answer that reports an error, or isn't a Tesseract's, into a typed error. */
import { TesseractError, type ValidationIssue } from "../errors.js";
import type { ResponseHead } from "../http/http-client.js";

/** A message quotes no more of a body than this. */
const LONGEST_EXCERPT = 500;

export function errorOfAnswer(what: string, head: ResponseHead, body: string): TesseractError {
  const { status } = head;
  const detail = detailOf(body);
  const details = { status, body, retryAfter: retryAfter(head) };
  if (status === 422) {
    const issues = issuesOf(detail);
    if (issues.length > 0) {
      const list = issues.map(({ path, message }) => `\n  ${path.join(".")}: ${message}`).join("");
      return new TesseractError("VALIDATION_FAILED", `${what} refused the request:${list}`, { ...details, issues });
    }
    return new TesseractError("VALIDATION_FAILED", `${what} refused the request: ${excerpt(body)}`, details);
  }
  if (status === 406) {
    return new TesseractError(
      "ENCODING_UNAVAILABLE",
      `${what} can't produce the requested encoding: ${messageOf(detail) ?? excerpt(body)}`,
      {
        ...details,
        hint: offerOf(detail),
      },
    );
  }
  if (status === 404) {
    return new TesseractError("ENDPOINT_NOT_FOUND", `${what} doesn't exist: ${messageOf(detail) ?? excerpt(body)}`, {
      ...details,
      hint: "Is it a Tesseract that is being served there, and does it have this endpoint?",
    });
  }
  if (status >= 200 && status < 300) return notJson(what, head, body);
  const page = looksLikeHtml(body) ? " (an HTML page; is a proxy in between?)" : "";
  return new TesseractError(
    "SERVER_ERROR",
    `${what} answered with error ${status}${page}: ${messageOf(detail) ?? excerpt(body)}`,
    {
      ...details,
      hint: status === 500 ? "The server's log has the reason. In debug mode the answer has it too." : undefined,
    },
  );
}

/** `Retry-After`: seconds, or a date (RFC 9110, 10.2.3). */
function retryAfter(head: ResponseHead): number | undefined {
  const text = head.header("retry-after")?.trim() ?? "";
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const date = /[A-Za-z]/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

function notJson(what: string, head: ResponseHead, body: string): TesseractError {
  const encoding = head.header("content-encoding");
  const type = head.header("content-type") ?? "no content type";
  const found = encoding === undefined ? type : `${type} compressed with ${encoding}`;
  return new TesseractError("MALFORMED_RESPONSE", `The answer of ${what} isn't JSON but ${found}: ${excerpt(body)}`, {
    status: head.status,
    body,
    hint: "Is it a Tesseract that is being served there, and is a proxy in between?",
  });
}

function detailOf(body: string): unknown {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === "object" && parsed !== null && "detail" in parsed ? parsed.detail : undefined;
  } catch {
    // Not JSON: the message quotes the body instead.
    return undefined;
  }
}

/** The items of FastAPI's `detail`; whatever doesn't have their form is left out. */
function issuesOf(detail: unknown): ValidationIssue[] {
  if (!Array.isArray(detail)) return [];
  return detail.flatMap((item: unknown): ValidationIssue[] => {
    if (typeof item !== "object" || item === null) return [];
    const { type, loc, msg, input, ctx } = item as Readonly<Record<string, unknown>>;
    const path = Array.isArray(loc)
      ? loc.filter((part): part is string | number => typeof part === "string" || typeof part === "number")
      : [];
    return [{ path, type: textOf(type), message: textOf(msg), input, context: ctx }];
  });
}

function messageOf(detail: unknown): string | undefined {
  if (typeof detail === "string") return excerpt(detail);
  if (typeof detail === "object" && detail !== null && "message" in detail) return excerpt(textOf(detail.message));
  return undefined;
}

/** Never a conversion of an object, which one from the wire may make fail: `{"toString": 1}`. */
const textOf = (value: unknown): string =>
  typeof value === "string" ? value : typeof value === "object" || value === undefined ? "" : String(value);

function offerOf(detail: unknown): string | undefined {
  if (typeof detail !== "object" || detail === null) return undefined;
  const offers = Object.entries(detail).filter(
    ([name, value]) => name.startsWith("available_") && Array.isArray(value),
  );
  if (offers.length === 0) return undefined;
  return `It offers ${offers.map(([name, value]) => `${name.slice("available_".length)}: ${(value as unknown[]).map(textOf).join(", ")}`).join("; ")}.`;
}

const looksLikeHtml = (body: string): boolean => /^\s*<(!doctype|html)/i.test(body);

function excerpt(body: string): string {
  const text = body.trim();
  if (text === "") return "(an empty body)";
  return text.length > LONGEST_EXCERPT ? `${text.slice(0, LONGEST_EXCERPT)}…` : text;
}
