// The runtime interface on the driver's: a device and a last error for each thread, and primary contexts made current when
// they are needed. https://docs.nvidia.com/cuda/cuda-runtime-api/
#pragma once
#include "../driver.h"
#include "../errors.h"
#include "../faults.h"
#include "../trace.h"

namespace simulator::runtime {

using cudaError_t = int;

enum cudaMemcpyKind : int {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4,
};

// The thread's last error. Errors of asynchronous work aren't cleared by reading: the context has failed for good.
int& lastError();
bool staysWithContext(int error);

// Throws the driver's error, if it is one.
inline void check(CUresult result) {
  if (result != CUDA_SUCCESS) throw Failure(result);
}

// Initializes the driver, once. Throws what cuInit gave.
void initialize();
// The thread's device: its current context's, or what cudaSetDevice chose, or 0.
int device();
// Makes the device's primary context current, unless the thread has a context.
void makeContextCurrent();
void setDevice(int device);

void traceCall(const char* function, const TraceTimer& timer, int result);

// Runs an entry point's work, and keeps its error as the thread's last.
template <class Body>
cudaError_t call(const char* function, Body&& body) {
  TraceTimer timer;
  int result;
  try {
    std::optional<CUresult> fault;
    if (Faults::configured().any()) fault = Faults::configured().strike(function);
    if (fault) result = *fault;
    else result = body();
  } catch (const Failure& failure) {
    result = failure.code();
  }
  if (result != CUDA_SUCCESS) lastError() = result;
  if (tracing()) traceCall(function, timer, result);
  return result;
}

// The same for what acts on the current context.
template <class Body>
cudaError_t callInContext(const char* function, Body&& body) {
  return call(function, [&] {
    makeContextCurrent();
    return body();
  });
}

}  // namespace simulator::runtime
