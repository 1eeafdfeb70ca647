// Stream-ordered pools.
#include "rules.h"

using namespace rules;

#define LAZY "CUDA_SIMULATOR_DELAY=lazy"

namespace {

CUdeviceptr allocateAsync(size_t size, CUstream stream = nullptr) {
  CUdeviceptr pointer = 0;
  WORKS(cuda.cuMemAllocAsync(&pointer, size, stream));
  return pointer;
}

uint64_t attribute(CUmemoryPool pool, CUmemPool_attribute name) {
  uint64_t value = 0;
  WORKS(cuda.cuMemPoolGetAttribute(pool, name, &value));
  return value;
}

CUmemoryPool makePool(size_t most = 0) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  properties.maxSize = most;
  CUmemoryPool pool = nullptr;
  WORKS(cuda.cuMemPoolCreate(&pool, &properties));
  return pool;
}

}  // namespace

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html");

RULE("a free is ordered in its stream", IF_SIMULATED(LAZY)) {
  start();
  CUdeviceptr pointer = allocateAsync(1000);
  CUdeviceptr mine = allocate(1000);
  WORKS(cuda.cuMemsetD8Async(pointer, 1, 1000, nullptr));
  WORKS(cuda.cuMemcpyDtoDAsync_v2(mine, pointer, 1000, nullptr));
  WORKS(cuda.cuMemFreeAsync(pointer, nullptr));
  if (simulated()) {  // undefined elsewhere
    GIVES(cuda.cuMemsetD8Async(pointer, 1, 1000, nullptr), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuda.cuMemFreeAsync(pointer, nullptr), CUDA_ERROR_INVALID_VALUE);
  }
  WORKS(cuda.cuCtxSynchronize());
  HOLDS(all(read(mine, 1000), 1));
}

RULE("work in another stream that isn't ordered before the free is a fault", LAZY) {
  start();
  CUstream other = nullptr;
  WORKS(cuda.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CUdeviceptr pointer = allocateAsync(1000);
  WORKS(cuda.cuMemsetD8Async(pointer, 1, 1000, other));
  WORKS(cuda.cuMemFreeAsync(pointer, nullptr));
  WORKS(cuda.cuStreamSynchronize(nullptr));
  GIVES(cuda.cuStreamSynchronize(other), CUDA_ERROR_ILLEGAL_ADDRESS);
}

RULE("pool memory has no legacy handle, and cuMemFree takes it") {
  start();
  CUdeviceptr pointer = allocateAsync(1000);
  CUipcMemHandle handle{};
  GIVES(cuda.cuIpcGetMemHandle(&handle, pointer), CUDA_ERROR_INVALID_VALUE);
  unsigned legacy = 1;
  WORKS(cuda.cuPointerGetAttribute(&legacy, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, pointer));
  GIVES(legacy, 0u);
  HOLDS(faults(pointer));
  WORKS(cuda.cuMemFree_v2(pointer));
  if (simulated()) GIVES(cuda.cuMemFreeAsync(allocate(10), nullptr), CUDA_ERROR_INVALID_VALUE);  // not a pool's
}

RULE("pools count what they hold") {
  start();
  CUmemoryPool pool = nullptr, current = nullptr;
  WORKS(cuda.cuDeviceGetDefaultMemPool(&pool, 0));
  WORKS(cuda.cuDeviceGetMemPool(&current, 0));
  GIVES(current, pool);
  CUdeviceptr pointer = allocateAsync(8192);
  uint64_t used = attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
  HOLDS(simulated() ? used == 8192 : used >= 8192);
  WORKS(cuda.cuMemFreeAsync(pointer, nullptr));
  WORKS(cuda.cuCtxSynchronize());
  GIVES(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0u);
  GIVES(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), used);
  uint64_t threshold = 1 << 20;
  WORKS(cuda.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  GIVES(attribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), threshold);
  WORKS(cuda.cuMemPoolTrimTo(pool, 0));
  GIVES(cuda.cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
}

RULE("a pool of one's own is limited, can be chosen, and destroyed", STRICTER("a limit may be rounded up, and a destroyed pool's handle is undefined")) {
  start();
  CUmemoryPool pool = makePool(8192), current = nullptr;
  CUdeviceptr pointer = 0, more = 0;
  WORKS(cuda.cuMemAllocFromPoolAsync(&pointer, 8192, pool, nullptr));
  GIVES(cuda.cuMemAllocFromPoolAsync(&more, 1, pool, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  WORKS(cuda.cuDeviceSetMemPool(0, pool));
  WORKS(cuda.cuDeviceGetMemPool(&current, 0));
  GIVES(current, pool);
  GIVES(cuda.cuMemAllocAsync(&more, 1, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  WORKS(cuda.cuMemFreeAsync(pointer, nullptr));
  WORKS(cuda.cuMemPoolDestroy(pool));
  GIVES(cuda.cuMemAllocFromPoolAsync(&more, 1, pool, nullptr), CUDA_ERROR_INVALID_VALUE);
  WORKS(cuda.cuMemAllocAsync(&more, 1, nullptr));  // from the default pool again
}
