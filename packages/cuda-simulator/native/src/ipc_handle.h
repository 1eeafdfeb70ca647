// The 64 bytes by which another process opens memory or an event.
// https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html (cuIpc…), group__CUDA__TYPES.html (CUipcMemHandle)
#pragma once
#include "cuda.h"
#include "machine.h"

namespace simulator {

enum class Shares : uint32_t { kMemory = 1, kEvent = 2 };

void writeHandle(unsigned char (&handle)[64], Shares what, Machine& machine, const SharedName& name);

// Throws `damaged` unless it is a handle of that kind from this machine (another simulated host is another one), and
// CUDA_ERROR_INVALID_CONTEXT, as drivers do, if it comes from another PID namespace.
SharedName readHandle(const unsigned char (&handle)[64], Shares what, Machine& machine, CUresult damaged);

}  // namespace simulator
