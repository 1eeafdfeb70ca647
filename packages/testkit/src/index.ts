export { type AdapterConformanceOptions, adapterConformance } from "./adapter/conformance.js";
export { ConformanceError, type Rule } from "./failure.js";
export {
  type ConformanceCase,
  type ConformanceResult,
  type ConformanceSuite,
  describeConformance,
  runConformance,
  type TestRunner,
} from "./suite.js";
export { transportConformance } from "./transport/conformance.js";
export type { Sides, TransportConformanceOptions } from "./transport/options.js";
export type { DeviceArrays } from "./transport/sides/device-arrays.js";
export { type LocalSideOptions, localSide } from "./transport/sides/local-side.js";
export { type ProcessSide, type ProcessSideOptions, processSide, serveSide } from "./transport/sides/process-side.js";
export type { Side } from "./transport/sides/side.js";
