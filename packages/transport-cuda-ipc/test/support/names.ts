/** The names that tests use, from the packages' sources. */
export { type ErrorCode, TesseractError } from "@tesseract-ts/core";
export * from "../../src/index.js";
