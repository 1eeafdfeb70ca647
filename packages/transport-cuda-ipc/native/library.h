// The driver's library and its functions, found at run time: nothing is linked against CUDA.
#pragma once
#include <string>

#include "cuda.h"

namespace cuda_ipc {

// What is called here, the symbol that it has in libcuda, and its form.
#define CUDA_IPC_FUNCTIONS(F)                                                                                         \
  F(cuGetErrorName, "cuGetErrorName", (CUresult, const char**))                                                       \
  F(cuGetErrorString, "cuGetErrorString", (CUresult, const char**))                                                   \
  F(cuDeviceGet, "cuDeviceGet", (CUdevice*, int))                                                                     \
  F(cuDeviceGetCount, "cuDeviceGetCount", (int*))                                                                     \
  F(cuDeviceGetName, "cuDeviceGetName", (char*, int, CUdevice))                                                       \
  F(cuDeviceGetUuid, "cuDeviceGetUuid", (CUuuid*, CUdevice))                                                          \
  F(cuDeviceGetUuid_v2, "cuDeviceGetUuid_v2", (CUuuid*, CUdevice))                                             \
  F(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t*, CUdevice))                                                     \
  F(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int*, CUdevice_attribute, CUdevice))                               \
  F(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char*, int, CUdevice))                                               \
  F(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext*, CUdevice))                                     \
  F(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice))                                            \
  F(cuCtxPushCurrent, "cuCtxPushCurrent_v2", (CUcontext))                                                             \
  F(cuCtxPopCurrent, "cuCtxPopCurrent_v2", (CUcontext*))                                                              \
  F(cuCtxSynchronize, "cuCtxSynchronize", ())                                                                         \
  F(cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr*, size_t))                                                              \
  F(cuMemFree, "cuMemFree_v2", (CUdeviceptr))                                                                         \
  F(cuMemGetInfo, "cuMemGetInfo_v2", (size_t*, size_t*))                                                              \
  F(cuMemGetAddressRange, "cuMemGetAddressRange_v2", (CUdeviceptr*, size_t*, CUdeviceptr))                            \
  F(cuPointerGetAttributes, "cuPointerGetAttributes", (unsigned, CUpointer_attribute*, void**, CUdeviceptr))          \
  F(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void*, size_t, CUstream))                          \
  F(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void*, CUdeviceptr, size_t, CUstream))                                \
  F(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (CUdeviceptr, CUdeviceptr, size_t, CUstream))                          \
  F(cuMemcpyPeerAsync, "cuMemcpyPeerAsync", (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream))       \
  F(cuMemcpy2DAsync, "cuMemcpy2DAsync_v2", (const CUDA_MEMCPY2D*, CUstream))                                          \
  F(cuMemsetD8Async, "cuMemsetD8Async", (CUdeviceptr, unsigned char, size_t, CUstream))                               \
  F(cuMemAllocAsync, "cuMemAllocAsync", (CUdeviceptr*, size_t, CUstream))                                             \
  F(cuMemFreeAsync, "cuMemFreeAsync", (CUdeviceptr, CUstream))                                                        \
  F(cuStreamCreate, "cuStreamCreate", (CUstream*, unsigned))                                                          \
  F(cuStreamDestroy, "cuStreamDestroy_v2", (CUstream))                                                                \
  F(cuStreamSynchronize, "cuStreamSynchronize", (CUstream))                                                           \
  F(cuStreamQuery, "cuStreamQuery", (CUstream))                                                                       \
  F(cuStreamWaitEvent, "cuStreamWaitEvent", (CUstream, CUevent, unsigned))                                            \
  F(cuEventCreate, "cuEventCreate", (CUevent*, unsigned))                                                             \
  F(cuEventDestroy, "cuEventDestroy_v2", (CUevent))                                                                   \
  F(cuEventRecord, "cuEventRecord", (CUevent, CUstream))                                                              \
  F(cuEventQuery, "cuEventQuery", (CUevent))                                                                          \
  F(cuEventSynchronize, "cuEventSynchronize", (CUevent))                                                              \
  F(cuIpcGetMemHandle, "cuIpcGetMemHandle", (CUipcMemHandle*, CUdeviceptr))                                           \
  F(cuIpcOpenMemHandle, "cuIpcOpenMemHandle_v2", (CUdeviceptr*, CUipcMemHandle, unsigned))                            \
  F(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", (CUdeviceptr))                                                        \
  F(cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity",                                                   \
    (size_t*, const CUmemAllocationProp*, CUmemAllocationGranularity_flags))                                          \
  F(cuMemAddressReserve, "cuMemAddressReserve", (CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long))      \
  F(cuMemAddressFree, "cuMemAddressFree", (CUdeviceptr, size_t))                                                      \
  F(cuMemCreate, "cuMemCreate",                                                                                       \
    (CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*, unsigned long long))                          \
  F(cuMemRelease, "cuMemRelease", (CUmemGenericAllocationHandle))                                                     \
  F(cuMemMap, "cuMemMap", (CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long))            \
  F(cuMemUnmap, "cuMemUnmap", (CUdeviceptr, size_t))                                                                  \
  F(cuMemSetAccess, "cuMemSetAccess", (CUdeviceptr, size_t, const CUmemAccessDesc*, size_t))

// One function of the driver, which knows its name for errors.
template <class Signature>
struct Function;
template <class... Arguments>
struct Function<CUresult(Arguments...)> {
  const char* name;
  CUresult (*address)(Arguments...) = nullptr;
  CUresult operator()(Arguments... arguments) const { return address(arguments...); }
};

struct Library {
#define CUDA_IPC_MEMBER(name, symbol, parameters) Function<CUresult parameters> name{#name, nullptr};
  CUDA_IPC_FUNCTIONS(CUDA_IPC_MEMBER)
#undef CUDA_IPC_MEMBER
  int version = 0;  // 1000 * major + 10 * minor
};

// Why the driver can't be used. The words for people are made from it in src/driver/probe.ts.
struct Problem {
  std::string kind;    // one of DriverProblem there
  std::string detail;  // the loader's words, a symbol's name, a version, or an error of the driver
};

struct Opened {
  const Library* library = nullptr;  // lives as long as the process
  Problem problem;
};

// `CUDA_ERROR_INVALID_VALUE (1)`
std::string nameOf(const Library& library, CUresult code);

// Loads and initializes the driver, once in the process: the first `path` that succeeds is kept.
Opened openLibrary(const std::string& path);

}  // namespace cuda_ipc
