// Memory between processes. https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html (cuIpc…)
#include <cstring>

#include "queue.h"

namespace cuda_ipc {

void exportHandle(Queue& queue, CUdeviceptr pointer, uint64_t* words) {
  CUipcMemHandle handle{};
  call(queue.library.cuIpcGetMemHandle, &handle, pointer);
  std::memcpy(words, &handle, sizeof handle);
  queue.held.allocations.at(pointer, [&](CUdeviceptr base, Allocation& allocation) {
    if (pointer - base < allocation.bytes) allocation.exported = true;
  });
}

CUdeviceptr openHandle(Queue& queue, const uint64_t* words) {
  CUipcMemHandle handle{};
  std::memcpy(&handle, words, sizeof handle);
  CUdeviceptr base = 0;
  call(queue.library.cuIpcOpenMemHandle, &base, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  queue.held.mappings.add(base, queue.ordinal);
  return base;
}

void closeHandle(Queue& queue, CUdeviceptr base) {
  if (!queue.held.mappings.take(base, queue.ordinal)) {
    throw Failure{CUDA_ERROR_INVALID_VALUE, queue.library.cuIpcCloseMemHandle.name,
                  "this is no open mapping of this device and thread"};
  }
  bool ended = false;
  try {
    callToEnd(ended, queue.library.cuIpcCloseMemHandle, base);
  } catch (const Failure&) {
    if (!ended) queue.held.mappings.add(base, queue.ordinal);
    throw;
  }
}

}  // namespace cuda_ipc
