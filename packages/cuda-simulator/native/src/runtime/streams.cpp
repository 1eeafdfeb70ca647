// Streams and events. https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__STREAM.html, group__CUDART__EVENT.html
#include "runtime.h"

using namespace simulator;
using namespace simulator::runtime;

CUDA_SIMULATOR_EXPORT cudaError_t cudaStreamCreate(CUstream* stream) {
  return callInContext("cudaStreamCreate", [&] { return cuStreamCreate(stream, CU_STREAM_DEFAULT); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaStreamCreateWithFlags(CUstream* stream, unsigned flags) {
  return callInContext("cudaStreamCreateWithFlags", [&] { return cuStreamCreate(stream, flags); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return callInContext("cudaStreamCreateWithPriority",
                       [&] { return cuStreamCreateWithPriority(stream, flags, priority); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaStreamDestroy(CUstream stream) {
  return callInContext("cudaStreamDestroy", [&] { return cuStreamDestroy_v2(stream); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaStreamQuery(CUstream stream) {
  return callInContext("cudaStreamQuery", [&] { return cuStreamQuery(stream); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaStreamSynchronize(CUstream stream) {
  return callInContext("cudaStreamSynchronize", [&] { return cuStreamSynchronize(stream); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return callInContext("cudaStreamWaitEvent", [&] { return cuStreamWaitEvent(stream, event, flags); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaLaunchHostFunc(CUstream stream, CUhostFn function, void* userData) {
  return callInContext("cudaLaunchHostFunc", [&] { return cuLaunchHostFunc(stream, function, userData); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaEventCreate(CUevent* event) {
  return callInContext("cudaEventCreate", [&] { return cuEventCreate(event, CU_EVENT_DEFAULT); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaEventCreateWithFlags(CUevent* event, unsigned flags) {
  return callInContext("cudaEventCreateWithFlags", [&] { return cuEventCreate(event, flags); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaEventDestroy(CUevent event) {
  return callInContext("cudaEventDestroy", [&] { return cuEventDestroy_v2(event); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaEventRecord(CUevent event, CUstream stream) {
  return callInContext("cudaEventRecord", [&] { return cuEventRecord(event, stream); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaEventQuery(CUevent event) {
  return callInContext("cudaEventQuery", [&] { return cuEventQuery(event); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaEventSynchronize(CUevent event) {
  return callInContext("cudaEventSynchronize", [&] { return cuEventSynchronize(event); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return callInContext("cudaEventElapsedTime", [&] { return cuEventElapsedTime(milliseconds, start, end); });
}
