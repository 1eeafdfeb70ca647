export { type DefinedTesseract, defineTesseract, requireGpuArrays, type TesseractDefinition } from "./define.js";
export type {
  Abstract,
  AbstractResult,
  EndpointContext,
  InputsOf,
  JacobianRequest,
  JvpRequest,
  ObjectSchema,
  ResultOf,
  TesseractOptions,
  VjpRequest,
} from "./definition.js";
export { derivatives } from "./derive/derivatives.js";
export type { DerivedAbstractEval, DerivedGradient } from "./derive/derived.js";
export type { FiniteDifferencesOptions } from "./derive/finite-differences.js";
export { type FromTesseractApiOptions, fromTesseractApi, type TypesOf } from "./from-tesseract-api.js";
export { loadTesseract } from "./load.js";
export type {
  EncodedPlace,
  KnownTransport,
  OpenApiOptions,
  RequestIssue,
  Runner,
  RunnerAnswer,
  RunnerCall,
  RunnerOptions,
  RunnerRoute,
} from "./runner/contract.js";
export { createRunner } from "./runner/runner.js";
export { UndecodableArray } from "./runner/undecodable.js";
export {
  type ArrayLike,
  type ArrayTraits,
  array,
  type Differentiable,
  differentiable,
  type ForeignArray,
  type SchemaShape,
  type ZodTesseractArray,
} from "./schema/array.js";
