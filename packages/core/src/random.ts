/** Random values, wherever this runs. */

/** 122 random bits or more, as letters and digits. `crypto.randomUUID` is missing from pages without TLS. */
export const randomId = (): string =>
  Array.from(randomBytes(16), (byte) => byte.toString(16).padStart(2, "0")).join("");

export const randomBytes = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count));
