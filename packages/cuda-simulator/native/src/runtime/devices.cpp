// Devices, versions and errors. https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__DEVICE.html,
// group__CUDART__ERROR.html
#include "runtime.h"

using namespace simulator;
using namespace simulator::runtime;

CUDA_SIMULATOR_EXPORT cudaError_t cudaSetDevice(int device) {
  return call("cudaSetDevice", [&] {
    setDevice(device);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaGetDevice(int* device) {
  return call("cudaGetDevice", [&] {
    require(device != nullptr, CUDA_ERROR_INVALID_VALUE);
    initialize();
    *device = runtime::device();
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaGetDeviceCount(int* count) {
  return call("cudaGetDeviceCount", [&] {
    require(count != nullptr, CUDA_ERROR_INVALID_VALUE);
    *count = 0;
    initialize();
    return cuDeviceGetCount(count);
  });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaDeviceGetAttribute(int* value, int attribute, int device) {
  return call("cudaDeviceGetAttribute", [&] {
    initialize();
    return cuDeviceGetAttribute(value, attribute, device);
  });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return call("cudaDeviceGetPCIBusId", [&] {
    initialize();
    return cuDeviceGetPCIBusId(text, length, device);
  });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return call("cudaDeviceCanAccessPeer", [&] {
    initialize();
    return cuDeviceCanAccessPeer(can, device, peer);
  });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaDeviceSynchronize() {
  return callInContext("cudaDeviceSynchronize", [] { return cuCtxSynchronize(); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaDeviceReset() {
  return call("cudaDeviceReset", [] {
    initialize();
    return cuDevicePrimaryCtxReset_v2(device());
  });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaDriverGetVersion(int* version) {
  return call("cudaDriverGetVersion", [&] { return cuDriverGetVersion(version); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaRuntimeGetVersion(int* version) {
  return call("cudaRuntimeGetVersion", [&] {
    require(version != nullptr, CUDA_ERROR_INVALID_VALUE);
    *version = 12040;
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaGetLastError() {
  int error = lastError();
  // "The last error that has been produced by any of the runtime calls in the same instance ... and resets it", except for
  // one that stays: "any further CUDA work will return the same error".
  unsigned flags = 0;
  if (!staysWithContext(error) || cuCtxGetFlags(&flags) != error) lastError() = CUDA_SUCCESS;
  return error;
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaPeekAtLastError() { return lastError(); }

CUDA_SIMULATOR_EXPORT const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* found = findError(error);
  return found == nullptr ? "unrecognized error code" : found->text;
}

CUDA_SIMULATOR_EXPORT const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* found = findError(error);
  return found == nullptr ? "unrecognized error code" : found->runtimeName;
}
