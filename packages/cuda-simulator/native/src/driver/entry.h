// For the files that hold the driver's entry points. A function's trace and faults name it without the version at its end.
#pragma once
#include "../call.h"
#include "../context.h"
#include "../driver.h"
#include "../process.h"

namespace simulator {

// Throws CUDA_ERROR_INVALID_VALUE for a null pointer; every result goes through it.
template <class T>
T& given(T* pointer) {
  require(pointer != nullptr, CUDA_ERROR_INVALID_VALUE);
  return *pointer;
}

inline Process& process() { return Process::instance(); }

}  // namespace simulator
