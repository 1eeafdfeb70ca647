/** A CUDA driver without a GPU, for tests. */
export { CudaSimulatorError, type ErrorCode, type ErrorDetails, type Output } from "./errors.js";
export {
  type RunOptions,
  type RunResult,
  type SimulatedCuda,
  type SimulatedCudaOptions,
  simulatedCuda,
} from "./machine/simulated-cuda.js";
export type { Exit, SimulatedProcess, StartOptions } from "./machine/simulated-process.js";
export type { AllocationStatus, DeviceStatus, MachineStatus } from "./machine/status.js";
export { libraryFolder } from "./native/libraries.js";
export { type Fault, faultsText, parseFault } from "./settings/faults.js";
export type { Duration, Size } from "./settings/quantities.js";
export type { Delay, MachineSettings, ProcessSettings, Variables } from "./settings/settings.js";
export { readTrace } from "./trace/read.js";
export type {
  AddressName,
  BeginRecord,
  CallRecord,
  Direction,
  EndRecord,
  FailureRecord,
  FaultRecord,
  HazardRecord,
  LeakRecord,
  TraceRecord,
} from "./trace/record.js";
export { type CopySummary, type FunctionSummary, type Shown, summarize, TraceSummary } from "./trace/summary.js";
export { Trace, type TraceFilter } from "./trace/trace.js";
