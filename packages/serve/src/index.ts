export type { OperatorSettings } from "./operators/observer.js";
export { type ServedTesseract, type ServeOptions, serve } from "./serve.js";
export type { ServerSettings } from "./settings.js";
export type { TransportsOption } from "./transports.js";
