// Every function of the simulated driver. The entry points are checked against it, the runtime is written on it, and the
// tests load it by these names; what isn't here isn't in the library.
#pragma once
#include "cuda.h"

#pragma GCC visibility push(default)
extern "C" {

// initialization
CUresult cuInit(unsigned flags);
CUresult cuDriverGetVersion(int* version);
CUresult cuGetErrorName(CUresult error, const char** name);
CUresult cuGetErrorString(CUresult error, const char** text);
CUresult cuGetProcAddress(const char* symbol, void** function, int, uint64_t flags);
CUresult cuGetProcAddress_v2(const char* symbol, void** function, int, uint64_t flags, int* status);

// device
CUresult cuDeviceGet(CUdevice* device, int ordinal);
CUresult cuDeviceGetCount(int* count);
CUresult cuDeviceGetName(char* name, int length, CUdevice device);
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device);
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device);
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device);
CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device);
CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device);
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags);
CUresult cuCtxDisablePeerAccess(CUcontext peer);

// context
CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device);
CUresult cuCtxDestroy_v2(CUcontext handle);
CUresult cuCtxPushCurrent_v2(CUcontext handle);
CUresult cuCtxPopCurrent_v2(CUcontext* handle);
CUresult cuCtxSetCurrent(CUcontext handle);
CUresult cuCtxGetCurrent(CUcontext* handle);
CUresult cuCtxGetDevice(CUdevice* device);
CUresult cuCtxSynchronize();
CUresult cuCtxGetFlags(unsigned* flags);
CUresult cuCtxGetApiVersion(CUcontext handle, unsigned* version);
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest);
CUresult cuDevicePrimaryCtxRetain(CUcontext* handle, CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active);
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags);

// memory
CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t size);
CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height, unsigned elementSize);
CUresult cuMemFree_v2(CUdeviceptr pointer);
CUresult cuMemGetInfo_v2(size_t* free, size_t* total);
CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr pointer);
CUresult cuMemAllocHost_v2(void** pointer, size_t size);
CUresult cuMemHostAlloc(void** pointer, size_t size, unsigned flags);
CUresult cuMemFreeHost(void* pointer);
CUresult cuMemHostRegister_v2(void* pointer, size_t size, unsigned flags);
CUresult cuMemHostUnregister(void* pointer);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* pointer, unsigned flags);
CUresult cuMemHostGetFlags(unsigned* flags, void* pointer);

// copies
CUresult cuMemcpyHtoD_v2(CUdeviceptr destination, const void* source, size_t size);
CUresult cuMemcpyDtoH_v2(void* destination, CUdeviceptr source, size_t size);
CUresult cuMemcpyDtoD_v2(CUdeviceptr destination, CUdeviceptr source, size_t size);
CUresult cuMemcpy(CUdeviceptr destination, CUdeviceptr source, size_t size);
CUresult cuMemcpyPeer(CUdeviceptr destination, CUcontext destinationContext, CUdeviceptr source,
                      CUcontext sourceContext, size_t size);
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* parameters);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr destination, const void* source, size_t size, CUstream stream);
CUresult cuMemcpyDtoHAsync_v2(void* destination, CUdeviceptr source, size_t size, CUstream stream);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr destination, CUdeviceptr source, size_t size, CUstream stream);
CUresult cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source, size_t size, CUstream stream);
CUresult cuMemcpyPeerAsync(CUdeviceptr destination, CUcontext destinationContext, CUdeviceptr source,
                           CUcontext sourceContext, size_t size, CUstream stream);
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* parameters, CUstream stream);

// sets
CUresult cuMemsetD8_v2(CUdeviceptr destination, unsigned char value, size_t count);
CUresult cuMemsetD16_v2(CUdeviceptr destination, unsigned short value, size_t count);
CUresult cuMemsetD32_v2(CUdeviceptr destination, unsigned value, size_t count);
CUresult cuMemsetD2D8_v2(CUdeviceptr destination, size_t pitch, unsigned char value, size_t width, size_t height);
CUresult cuMemsetD2D16_v2(CUdeviceptr destination, size_t pitch, unsigned short value, size_t width, size_t height);
CUresult cuMemsetD2D32_v2(CUdeviceptr destination, size_t pitch, unsigned value, size_t width, size_t height);
CUresult cuMemsetD8Async(CUdeviceptr destination, unsigned char value, size_t count, CUstream stream);
CUresult cuMemsetD16Async(CUdeviceptr destination, unsigned short value, size_t count, CUstream stream);
CUresult cuMemsetD32Async(CUdeviceptr destination, unsigned value, size_t count, CUstream stream);
CUresult cuMemsetD2D8Async(CUdeviceptr destination, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream);

// streams
CUresult cuStreamCreate(CUstream* stream, unsigned flags);
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority);
CUresult cuStreamDestroy_v2(CUstream handle);
CUresult cuStreamQuery(CUstream handle);
CUresult cuStreamSynchronize(CUstream handle);
CUresult cuStreamWaitEvent(CUstream handle, CUevent eventHandle, unsigned flags);
CUresult cuStreamGetFlags(CUstream handle, unsigned* flags);
CUresult cuStreamGetPriority(CUstream handle, int* priority);
CUresult cuStreamGetCtx(CUstream handle, CUcontext* context);
CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* userData);
CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* userData, unsigned flags);

// events
CUresult cuEventCreate(CUevent* handle, unsigned flags);
CUresult cuEventDestroy_v2(CUevent handle);
CUresult cuEventRecord(CUevent handle, CUstream streamHandle);
CUresult cuEventQuery(CUevent handle);
CUresult cuEventSynchronize(CUevent handle);
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end);

// ipc
CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr pointer);
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned flags);
CUresult cuIpcCloseMemHandle(CUdeviceptr pointer);
CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent eventHandle);
CUresult cuIpcOpenEventHandle(CUevent* eventHandle, CUipcEventHandle handle);

// pointers
CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer);
CUresult cuPointerGetAttributes(unsigned count, const CUpointer_attribute* attributes, void** data,
                                CUdeviceptr pointer);

// virtual memory
CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties, int);
CUresult cuMemAddressReserve(CUdeviceptr* pointer, size_t size, size_t alignment, CUdeviceptr wanted,
                             unsigned long long flags);
CUresult cuMemAddressFree(CUdeviceptr pointer, size_t size);
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* properties,
                     unsigned long long flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuMemMap(CUdeviceptr pointer, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr pointer, size_t size);
CUresult cuMemSetAccess(CUdeviceptr pointer, size_t size, const CUmemAccessDesc* access, size_t count);
CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr pointer);
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* pointer);
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle);
CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags);
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                        CUmemAllocationHandleType type);

// pools
CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t size, CUstream stream);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t size, CUmemoryPool pool, CUstream stream);
CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream streamHandle);
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device);
CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device);
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool);
CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties);
CUresult cuMemPoolDestroy(CUmemoryPool handle);
CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t);
CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value);
CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value);
}
#pragma GCC visibility pop
