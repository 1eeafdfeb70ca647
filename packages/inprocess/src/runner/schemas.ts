/** A Tesseract's schemas, read once, in the forms that requests and results are checked against. */
import type { TesseractDefinition } from "../define.js";
import { abstractObject, type ObjectNode } from "../schema/node.js";
import { type ArrayPattern, differentiableArrays } from "../schema/paths.js";

export interface Schemas {
  readonly inputs: ObjectNode;
  readonly outputs: ObjectNode;
  readonly abstractInputs: ObjectNode;
  readonly abstractOutputs: ObjectNode;
  readonly differentiableInputs: readonly ArrayPattern[];
  readonly differentiableOutputs: readonly ArrayPattern[];
}

export function schemasOf({ inputs, outputs }: Pick<TesseractDefinition, "inputs" | "outputs">): Schemas {
  return {
    inputs,
    outputs,
    abstractInputs: abstractObject(inputs),
    abstractOutputs: abstractObject(outputs),
    differentiableInputs: differentiableArrays(inputs),
    differentiableOutputs: differentiableArrays(outputs),
  };
}
