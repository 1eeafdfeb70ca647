// Memory and copies. https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html,
// group__CUDART__UNIFIED.html
#include "runtime.h"

using namespace simulator;
using namespace simulator::runtime;

namespace {

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

bool isDevice(const void* candidate) {
  unsigned type = 0;
  return cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(candidate)) == CUDA_SUCCESS &&
         type == CU_MEMORYTYPE_DEVICE;
}

// "Calling cudaMemcpy() with dst and src pointers that do not match the direction of the copy results in an undefined
// behavior." Here it is an error.
CUresult copy(void* destination, const void* source, size_t size, int kind) {
  if (size == 0) return CUDA_SUCCESS;
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return cuMemcpyHtoD_v2(address(destination), source, size);
    case cudaMemcpyDeviceToHost:
      return cuMemcpyDtoH_v2(destination, address(source), size);
    case cudaMemcpyDeviceToDevice:
      return cuMemcpyDtoD_v2(address(destination), address(source), size);
    case cudaMemcpyHostToHost:
      require(!isDevice(destination) && !isDevice(source), CUDA_ERROR_INVALID_VALUE);
      return cuMemcpy(address(destination), address(source), size);
    case cudaMemcpyDefault:
      return cuMemcpy(address(destination), address(source), size);
    default:
      return static_cast<CUresult>(21);  // cudaErrorInvalidMemcpyDirection
  }
}

CUresult copyAsync(void* destination, const void* source, size_t size, int kind, CUstream stream) {
  if (size == 0) return CUDA_SUCCESS;
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return cuMemcpyHtoDAsync_v2(address(destination), source, size, stream);
    case cudaMemcpyDeviceToHost:
      return cuMemcpyDtoHAsync_v2(destination, address(source), size, stream);
    case cudaMemcpyDeviceToDevice:
      return cuMemcpyDtoDAsync_v2(address(destination), address(source), size, stream);
    case cudaMemcpyHostToHost:
      require(!isDevice(destination) && !isDevice(source), CUDA_ERROR_INVALID_VALUE);
      return cuMemcpyAsync(address(destination), address(source), size, stream);
    case cudaMemcpyDefault:
      return cuMemcpyAsync(address(destination), address(source), size, stream);
    default:
      return static_cast<CUresult>(21);
  }
}

CUresult allocateHost(void** result, size_t size, unsigned flags) {
  require(result != nullptr, CUDA_ERROR_INVALID_VALUE);
  *result = nullptr;
  return size == 0 ? CUDA_SUCCESS : cuMemHostAlloc(result, size, flags);
}

enum cudaMemoryType : int {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
};

struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
};

}  // namespace

CUDA_SIMULATOR_EXPORT cudaError_t cudaMalloc(void** result, size_t size) {
  return callInContext("cudaMalloc", [&] {
    require(result != nullptr, CUDA_ERROR_INVALID_VALUE);
    *result = nullptr;
    if (size == 0) return CUDA_SUCCESS;  // a null pointer, unlike the driver's error
    CUdeviceptr allocated = 0;
    CUresult code = cuMemAlloc_v2(&allocated, size);
    if (code == CUDA_SUCCESS) *result = pointer(allocated);
    return code;
  });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaFree(void* memory) {
  return callInContext("cudaFree", [&] { return cuMemFree_v2(address(memory)); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaMallocAsync(void** result, size_t size, CUstream stream) {
  return callInContext("cudaMallocAsync", [&] {
    require(result != nullptr, CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr allocated = 0;
    CUresult code = cuMemAllocAsync(&allocated, size, stream);
    if (code == CUDA_SUCCESS) *result = pointer(allocated);
    return code;
  });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaFreeAsync(void* memory, CUstream stream) {
  return callInContext("cudaFreeAsync", [&] { return cuMemFreeAsync(address(memory), stream); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaMallocHost(void** result, size_t size) {
  return callInContext("cudaMallocHost", [&] { return allocateHost(result, size, 0); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaHostAlloc(void** result, size_t size, unsigned flags) {
  return callInContext("cudaHostAlloc", [&] { return allocateHost(result, size, flags); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaFreeHost(void* memory) {
  return callInContext("cudaFreeHost", [&] { return memory == nullptr ? CUDA_SUCCESS : cuMemFreeHost(memory); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaHostRegister(void* memory, size_t size, unsigned flags) {
  return callInContext("cudaHostRegister", [&] { return cuMemHostRegister_v2(memory, size, flags); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaHostUnregister(void* memory) {
  return callInContext("cudaHostUnregister", [&] { return cuMemHostUnregister(memory); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaHostGetDevicePointer(void** result, void* memory, unsigned flags) {
  return callInContext("cudaHostGetDevicePointer", [&] {
    require(result != nullptr, CUDA_ERROR_INVALID_VALUE);
    return cuMemHostGetDevicePointer_v2(reinterpret_cast<CUdeviceptr*>(result), memory, flags);
  });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return callInContext("cudaMemGetInfo", [&] { return cuMemGetInfo_v2(free, total); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaMemcpy(void* destination, const void* source, size_t size, int kind) {
  return callInContext("cudaMemcpy", [&] { return copy(destination, source, size, kind); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t size, int kind,
                                                  CUstream stream) {
  return callInContext("cudaMemcpyAsync", [&] { return copyAsync(destination, source, size, kind, stream); });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaMemset(void* destination, int value, size_t size) {
  return callInContext("cudaMemset", [&] {
    return cuMemsetD8_v2(address(destination), static_cast<unsigned char>(value), size);
  });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaMemsetAsync(void* destination, int value, size_t size, CUstream stream) {
  return callInContext("cudaMemsetAsync", [&] {
    return cuMemsetD8Async(address(destination), static_cast<unsigned char>(value), size, stream);
  });
}

CUDA_SIMULATOR_EXPORT cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  return callInContext("cudaPointerGetAttributes", [&] {
    require(attributes != nullptr, CUDA_ERROR_INVALID_VALUE);
    unsigned type = 0;
    int device = -2;
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void* data[] = {&type, &device};
    check(cuPointerGetAttributes(2, wanted, data, address(memory)));
    void* same = const_cast<void*>(memory);
    // "If memory was not allocated by CUDA ... cudaMemoryTypeUnregistered", since CUDA 11 without an error.
    attributes->type = static_cast<cudaMemoryType>(type);
    attributes->device = type == cudaMemoryTypeDevice ? device : type == cudaMemoryTypeHost ? runtime::device() : -2;
    attributes->devicePointer = type == cudaMemoryTypeUnregistered ? nullptr : same;
    attributes->hostPointer = type == cudaMemoryTypeDevice ? nullptr : same;
    return CUDA_SUCCESS;
  });
}
