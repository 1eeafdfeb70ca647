export type { AdaptedArray, ArrayAdapter } from "./adapters/adapter.js";
export {
  asCudaArray,
  type CudaArray,
  type CudaArrayInterface,
  type DevicePointer,
  dtypeOfTypestr,
} from "./arrays/cuda-array.js";
export {
  type DType,
  dtypeKind,
  dtypeOfTypedArray,
  dtypes,
  entriesPerElement,
  isDType,
  itemSize,
  type TypedArray,
  type TypedArrayOf,
  viewAs,
} from "./arrays/dtype.js";
export { float16ToNumber, numberToFloat16 } from "./arrays/float16.js";
export {
  bytesOf,
  checkHostArray,
  elementCount,
  type HostArray,
  hostArray,
  isHostArray,
  makeHostArray,
  type NestedList,
  toNestedList,
} from "./arrays/host-array.js";
export type { Backend, BackendCall, CallOptions, EndpointRoute, OpenApiSchema, RunOptions } from "./backend.js";
export { Closing } from "./closing.js";
export { withDeadline } from "./deadline.js";
export type { RequestedEncoding, ServerCapabilities } from "./encoding.js";
export type { Endpoint, TestSpec } from "./endpoints.js";
export {
  type ErrorCode,
  type ErrorDetails,
  TesseractError,
  type TesseractWarning,
  type ValidationIssue,
} from "./errors.js";
export { backendFromUrl, type FromUrlOptions, fromUrl } from "./from-url.js";
export type { GpuTransportCheck, GpuTransportExplanation } from "./gpu-transport.js";
export { type FoundArray, mapArrays } from "./message/leaves.js";
export { Tesseract } from "./tesseract.js";
export type {
  AnnouncedArray,
  BufferSink,
  Compression,
  DecodeContext,
  DeviceTransport,
  EncodeContext,
  EncodedArray,
  EncodedData,
  EncodedMessage,
  Headers,
  HostTransport,
  Lease,
  MessageContext,
  Peer,
  ProbeResult,
  ReceivedArray,
  Session,
  TextSource,
  Transport,
  Transports,
} from "./transport.js";
export type { AbstractArray, ArraysByPath, InputTree, TesseractTypes, Untyped } from "./tree.js";
