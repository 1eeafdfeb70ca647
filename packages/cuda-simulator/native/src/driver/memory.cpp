// Device and page-locked memory, and what is known about a pointer.
// https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html
#include <algorithm>

#include "entry.h"

using namespace simulator;

namespace {

// cuMemAlloc: "aligned suitably for any kind of variable"; drivers give multiples of 512 and so do pages.
CUdeviceptr allocate(Context& context, uint64_t size) {
  require(size > 0, CUDA_ERROR_INVALID_VALUE);
  auto range = std::make_shared<Range>();
  range->size = size;
  range->storage = Storage::allocate(process().machine(), process().device(context.device).index, size, MemoryKind::kPlain);
  range->reservation = std::make_shared<Reservation>(size);
  range->base = range->reservation->base();
  range->context = context.weak_from_this();
  range->contextHandle = context.handle;
  range->device = context.device;
  CUdeviceptr base = range->base;
  process().addresses.add(std::move(range));
  return base;
}

constexpr size_t kPitch = 512;
constexpr unsigned kHostFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;

}  // namespace

CUDA_SIMULATOR_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t size) {
  return call("cuMemAlloc", [&](Call& call) {
    call.bytes(size);
    given(pointer);
    *pointer = allocate(currentContext(), size);
    call.address("pointer", *pointer);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height,
                                                  unsigned elementSize) {
  return call("cuMemAllocPitch", [&](Call& call) {
    given(pointer);
    given(pitch);
    Context& context = currentContext();
    require(elementSize == 4 || elementSize == 8 || elementSize == 16, CUDA_ERROR_INVALID_VALUE);
    size_t rows = 0, padded = (width + kPitch - 1) / kPitch * kPitch;
    require(!__builtin_mul_overflow(padded, height, &rows), CUDA_ERROR_INVALID_VALUE);
    call.bytes(rows);
    *pointer = allocate(context, rows);
    *pitch = padded;
    call.address("pointer", *pointer);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemFree_v2(CUdeviceptr pointer) {
  return call("cuMemFree", [&](Call& call) {
    call.address("pointer", pointer);
    currentContext();
    if (pointer == 0) return CUDA_SUCCESS;
    std::shared_ptr<Range> range = process().addresses.find(pointer);
    bool freeable = range != nullptr && range->base == pointer && range->openings == 0 && !range->freeing.load() &&
                    range->storage->kind() != MemoryKind::kVirtual;
    require(freeable, CUDA_ERROR_INVALID_VALUE);
    call.bytes(range->size);
    process().freeStorage(*range->storage, true);
    require(process().addresses.remove(pointer) != nullptr, CUDA_ERROR_INVALID_VALUE);  // another thread was first
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return call("cuMemGetInfo", [&](Call&) {
    Context& context = currentContext();
    given(free);
    given(total);
    *total = process().machine().memory();
    *free = *total - process().machine().used(process().device(context.device).index);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr pointer) {
  return call("cuMemGetAddressRange", [&](Call& call) {
    call.address("pointer", pointer);
    currentContext();
    std::shared_ptr<Range> range = process().addresses.find(pointer);
    require(range != nullptr, CUDA_ERROR_INVALID_VALUE);
    if (base != nullptr) *base = range->base;
    if (size != nullptr) *size = range->size;
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemAllocHost_v2(void** pointer, size_t size) {
  return call("cuMemAllocHost", [&](Call& call) {
    call.bytes(size);
    given(pointer);
    currentContext();
    *pointer = process().host.allocate(size, 0);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemHostAlloc(void** pointer, size_t size, unsigned flags) {
  return call("cuMemHostAlloc", [&](Call& call) {
    call.bytes(size);
    given(pointer);
    currentContext();
    require((flags & ~kHostFlags) == 0, CUDA_ERROR_INVALID_VALUE);
    *pointer = process().host.allocate(size, flags);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemFreeHost(void* pointer) {
  return call("cuMemFreeHost", [&](Call& call) {
    call.address("pointer", pointer);
    currentContext();
    process().host.free(pointer);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemHostRegister_v2(void* pointer, size_t size, unsigned flags) {
  return call("cuMemHostRegister", [&](Call& call) {
    call.bytes(size);
    call.address("pointer", pointer);
    currentContext();
    require((flags & ~(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)) == 0, CUDA_ERROR_INVALID_VALUE);
    process().host.registerRange(pointer, size, flags);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemHostUnregister(void* pointer) {
  return call("cuMemHostUnregister", [&](Call& call) {
    call.address("pointer", pointer);
    currentContext();
    process().host.unregister(pointer);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* pointer, unsigned flags) {
  return call("cuMemHostGetDevicePointer", [&](Call&) {
    given(device);
    currentContext();
    auto address = reinterpret_cast<uint64_t>(pointer);
    require(flags == 0 && process().host.find(address, 1) != nullptr, CUDA_ERROR_INVALID_VALUE);
    *device = address;  // unified addressing
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemHostGetFlags(unsigned* flags, void* pointer) {
  return call("cuMemHostGetFlags", [&](Call&) {
    given(flags);
    currentContext();
    auto block = process().host.find(reinterpret_cast<uint64_t>(pointer), 1);
    require(block != nullptr, CUDA_ERROR_INVALID_VALUE);
    *flags = block->flags();
    return CUDA_SUCCESS;
  });
}
