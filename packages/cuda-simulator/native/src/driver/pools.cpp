// Stream-ordered memory. https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html
#include "../pool.h"

#include "entry.h"

using namespace simulator;

namespace {

std::shared_ptr<Pool> find(CUmemoryPool handle) {
  std::shared_ptr<Pool> pool = process().pools.find(handle);
  require(pool != nullptr, CUDA_ERROR_INVALID_VALUE);
  return pool;
}

CUresult allocate(Call& call, CUdeviceptr* pointer, size_t size, const std::shared_ptr<Pool>& pool) {
  call.bytes(size);
  call.async(true);
  *pointer = pool->allocate(size, pool)->base;
  call.address("pointer", *pointer);
  return CUDA_SUCCESS;
}

}  // namespace

CUDA_SIMULATOR_EXPORT CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t size, CUstream stream) {
  return call("cuMemAllocAsync", [&](Call& call) {
    given(pointer);
    currentContext();
    std::shared_ptr<Context> context = findStream(stream)->context.lock();
    require(context != nullptr, CUDA_ERROR_INVALID_HANDLE);
    return allocate(call, pointer, size, find(process().defaultPools.current(context->device)));
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t size, CUmemoryPool pool,
                                                       CUstream stream) {
  return call("cuMemAllocFromPoolAsync", [&](Call& call) {
    given(pointer);
    currentContext();
    findStream(stream);
    return allocate(call, pointer, size, find(pool));
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream streamHandle) {
  return call("cuMemFreeAsync", [&](Call& call) {
    call.address("pointer", pointer);
    call.async(true);
    currentContext();
    std::shared_ptr<Stream> stream = findStream(streamHandle);
    if (pointer == 0) return CUDA_SUCCESS;
    std::shared_ptr<Range> range = process().addresses.find(pointer);
    bool freeable = range != nullptr && range->base == pointer && range->storage->kind() == MemoryKind::kPool;
    require(freeable && !range->freeing.exchange(true), CUDA_ERROR_INVALID_VALUE);
    call.bytes(range->size);
    auto operation = std::make_shared<Operation>();
    operation->evenAfterFailure = true;
    operation->work = [range] {
      process().addresses.remove(range->base);
      range->storage->release(false);
      return CUDA_SUCCESS;
    };
    process().schedule.queue(stream, operation);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return call("cuDeviceGetDefaultMemPool", [&](Call&) {
    given(pool);
    process().device(device);
    *pool = process().defaultPools.ofDevice(device);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return call("cuDeviceGetMemPool", [&](Call&) {
    given(pool);
    process().device(device);
    *pool = process().defaultPools.current(device);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return call("cuDeviceSetMemPool", [&](Call&) {
    process().device(device);
    require(find(pool)->device() == device, CUDA_ERROR_INVALID_VALUE);  // "must be local to the specified device"
    process().defaultPools.setCurrent(device, pool);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  return call("cuMemPoolCreate", [&](Call&) {
    given(pool);
    given(properties);
    require(properties->allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
                properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE,
            CUDA_ERROR_INVALID_VALUE);
    // As CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES says.
    require(properties->handleTypes == CU_MEM_HANDLE_TYPE_NONE, CUDA_ERROR_NOT_SUPPORTED);
    process().device(properties->location.id);
    *pool = process().pools.add(std::make_shared<Pool>(properties->location.id, properties->maxSize, false));
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  return call("cuMemPoolDestroy", [&](Call&) {
    require(!find(handle)->isDefault(), CUDA_ERROR_INVALID_VALUE);  // "a device's default mempool cannot be destroyed"
    process().pools.take(handle);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t) {
  return call("cuMemPoolTrimTo", [&](Call&) {
    find(handle);  // which holds nothing back that could be trimmed
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return call("cuMemPoolGetAttribute", [&](Call&) {
    require(value != nullptr, CUDA_ERROR_INVALID_VALUE);
    uint64_t number = find(handle)->attribute(attribute);
    if (attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES) *static_cast<int*>(value) = static_cast<int>(number);
    else *static_cast<uint64_t*>(value) = number;
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return call("cuMemPoolSetAttribute", [&](Call&) {
    require(value != nullptr, CUDA_ERROR_INVALID_VALUE);
    bool isInt = attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
    uint64_t number = isInt ? static_cast<uint64_t>(*static_cast<int*>(value)) : *static_cast<uint64_t*>(value);
    find(handle)->setAttribute(attribute, number);
    return CUDA_SUCCESS;
  });
}
