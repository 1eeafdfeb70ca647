/** What can go wrong in programs, with the codes of docs/errors.md. */
import { type ErrorCode, type ErrorDetails, TesseractError } from "@tesseract-ts/core";

export const programError = (code: ErrorCode, message: string, details: ErrorDetails = {}): TesseractError =>
  new TesseractError(code, message, details);

const tracedHint =
  "A program is traced with shapes and dtypes only. Let control flow depend on shapes or on plain arguments, " +
  "choose between arrays with np.where, or look at values outside the program.";

export const valueUnknown = (what: string): TesseractError =>
  programError("VALUE_UNKNOWN", `${what}, but values aren't known while a function is traced`, { hint: tracedHint });

export const awaitInside = (): TesseractError =>
  programError("VALUE_UNKNOWN", "A traced function is asynchronous, so it can't be executed stage by stage", {
    hint: "Leave out async and await: inside a program applyTesseract and the transformations give values at once.",
  });

export const impure = (difference: string): TesseractError =>
  programError("IMPURE_FUNCTION", `A function isn't pure: ${difference} when it was executed again`, {
    hint:
      "A program executes its function several times and needs the same calls each time. " +
      "Don't let it depend on random numbers, clocks or variables that it changes.",
  });

export const secondDerivative = (tesseract: string): TesseractError =>
  programError("SECOND_DERIVATIVE", `A second derivative of the Tesseract ${tesseract} is needed`, {
    hint:
      "Tesseracts have endpoints for first derivatives only. Differentiate the parts of the program between " +
      "Tesseracts twice, or keep the derivative constant with stopGradient.",
  });

/** The error that jax-js throws for an array that has been freed, told in this project's words; others as they are. */
export function translated(error: unknown): unknown {
  if (error instanceof ReferenceError && error.message.includes(".ref move semantics")) {
    return programError("ARRAY_CONSUMED", "A jax-js array was used after it had been consumed", {
      hint:
        "What takes a jax-js array consumes it: use x.ref wherever x is needed once more. A program executes its " +
        "function several times, so arrays from outside the function need .ref at each use.",
      cause: error,
    });
  }
  if (error instanceof TypeError && /\.(js|jsAsync|data|dataSync|item) is not a function/.test(error.message)) {
    return valueUnknown(`An array's values were read (${error.message.split(" ")[0]})`);
  }
  return error;
}
