/** Arrays that stay on the GPU. */
export { DeviceArray, type DeviceOptions, type FromHostOptions, type OwnedArray } from "./device-array.js";
export { Batch, type OperationOptions } from "./driver/batch.js";
export { CudaDevice, type SubmitOptions } from "./driver/device.js";
export { CudaDriver, type Held, openDriver } from "./driver/driver.js";
export { CudaError, type CudaFailure } from "./driver/errors.js";
export {
  type AddressRange,
  type DevicePointer,
  type EventHandle,
  IPC_HANDLE_BYTES,
  type IpcHandle,
  type MemoryInfo,
  type MemoryKind,
  NULL_POINTER,
  type PointerAttributes,
  type StreamHandle,
} from "./driver/handles.js";
export { type DeviceInfo, type DriverProbe, type DriverProblem, probeDriver } from "./driver/probe.js";
export { BatchResults, type PointerOperand, type PointerPlace, PointerResult, Result } from "./driver/results.js";
export { MOST_PIECES, type StridedLayout, type StridedPiece, stridedPieces } from "./driver/strided.js";
export { FORGOTTEN_CHANNEL, type ForgottenArray } from "./forgotten-arrays.js";
export { DeviceMemory } from "./memory/device-memory.js";
export type { OwnedMemory } from "./storage.js";
export { type CudaIpcOptions, cudaIpc } from "./transport/cuda-ipc.js";
export type { MappingLimits } from "./transport/mappings.js";
