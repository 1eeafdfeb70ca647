// Memory and events between processes; handles are passed by value, as structures.
// https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__DEVICE.html (cudaIpc…)
#include "runtime.h"

using namespace simulator;
using namespace simulator::runtime;

CUDA_SIMULATOR_EXPORT cudaError_t cudaIpcGetMemHandle(CUipcMemHandle* handle, void* memory) {
  return callInContext("cudaIpcGetMemHandle",
                       [&] { return cuIpcGetMemHandle(handle, reinterpret_cast<CUdeviceptr>(memory)); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaIpcOpenMemHandle(void** memory, CUipcMemHandle handle, unsigned flags) {
  return callInContext("cudaIpcOpenMemHandle", [&] {
    require(memory != nullptr, CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr opened = 0;
    CUresult result = cuIpcOpenMemHandle_v2(&opened, handle, flags);
    if (result == CUDA_SUCCESS) *memory = reinterpret_cast<void*>(opened);
    return result;
  });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaIpcCloseMemHandle(void* memory) {
  return callInContext("cudaIpcCloseMemHandle",
                       [&] { return cuIpcCloseMemHandle(reinterpret_cast<CUdeviceptr>(memory)); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaIpcGetEventHandle(CUipcEventHandle* handle, CUevent event) {
  return callInContext("cudaIpcGetEventHandle", [&] { return cuIpcGetEventHandle(handle, event); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaIpcOpenEventHandle(CUevent* event, CUipcEventHandle handle) {
  return callInContext("cudaIpcOpenEventHandle", [&] { return cuIpcOpenEventHandle(event, handle); });
}
