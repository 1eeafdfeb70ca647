/** What is wrong with a URL that names no server. */
import { TesseractError } from "./errors.js";

/** @param url one that isn't just a server's */
export function invalidUrl(url: string): TesseractError {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) {
    return refusal(url, "has no scheme", `Did you mean "http://${withoutPassword(url)}"?`);
  }
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    // What was caught repeats the URL, password and all.
    return refusal(url, "is no URL", 'Give one such as "http://localhost:8000".');
  }
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") {
    return refusal(url, `has the scheme "${parsed.protocol}"`, "A Tesseract is served by http: or https:.");
  }
  if (parsed.username !== "" || parsed.password !== "") {
    return refusal(
      parsed.origin,
      "was given with a user name or password",
      "Pass { headers: { authorization: … } } instead.",
    );
  }
  return refusal(
    url,
    `goes on after the server's name with "${parsed.pathname + parsed.search + parsed.hash}"`,
    `Give "${parsed.origin}". If a proxy serves the Tesseract under a path, pass { basePath: "${parsed.pathname}" }.`,
  );
}

const refusal = (url: string, problem: string, hint: string): TesseractError =>
  new TesseractError("INVALID_URL", `The URL "${withoutPassword(url)}" ${problem}`, { hint });

/** Messages go to logs. */
const withoutPassword = (url: string): string => url.replace(/^([a-z][a-z0-9+.-]*:\/\/)?[^/]*@/i, "$1…@");
