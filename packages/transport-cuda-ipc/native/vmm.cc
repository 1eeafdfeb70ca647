// Memory of the virtual-memory interface: physical memory, mapped into a reserved range of addresses. It has no legacy
// handle. https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__VA.html
#include <utility>

#include "queue.h"

namespace cuda_ipc {

namespace {

CUmemAllocationProp propertiesOf(int ordinal) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, ordinal};
  return properties;
}

// A physical allocation for as long as its handle is needed; once mapped it lives without.
class Physical {
 public:
  Physical(const Library& library, size_t bytes, int ordinal) : library_(library) {
    CUmemAllocationProp properties = propertiesOf(ordinal);
    call(library.cuMemCreate, &handle_, bytes, static_cast<const CUmemAllocationProp*>(&properties), 0ull);
  }
  ~Physical() {
    // Once more if it failed; after that no one could do anything else.
    if (handle_ != 0 && library_.cuMemRelease(handle_) != CUDA_SUCCESS) library_.cuMemRelease(handle_);
  }
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;

  CUmemGenericAllocationHandle handle() const { return handle_; }
  void release() {
    bool ended = false;
    CUmemGenericAllocationHandle handle = std::exchange(handle_, 0);
    callToEnd(ended, library_.cuMemRelease, handle);
  }

 private:
  const Library& library_;
  CUmemGenericAllocationHandle handle_ = 0;
};

}  // namespace

size_t granularity(Queue& queue) {
  CUmemAllocationProp properties = propertiesOf(queue.ordinal);
  size_t bytes = 0;
  call(queue.library.cuMemGetAllocationGranularity, &bytes, static_cast<const CUmemAllocationProp*>(&properties),
       CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  return bytes;
}

CUdeviceptr allocateVirtual(Queue& queue, size_t bytes, Allocation& allocation) {
  const Library& library = queue.library;
  size_t granule = granularity(queue);
  if (granule == 0 || bytes > SIZE_MAX - granule) {
    throw Failure{CUDA_ERROR_OUT_OF_MEMORY, library.cuMemCreate.name, "no memory has this size"};
  }
  allocation.reserved = (bytes + granule - 1) / granule * granule;
  Physical physical(library, allocation.reserved, queue.ordinal);
  CUdeviceptr pointer = 0;
  call(library.cuMemAddressReserve, &pointer, allocation.reserved, size_t{0}, CUdeviceptr{0}, 0ull);
  allocation.mapped = false;
  try {
    call(library.cuMemMap, pointer, allocation.reserved, size_t{0}, physical.handle(), 0ull);
    allocation.mapped = true;
    CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, queue.ordinal}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    call(library.cuMemSetAccess, pointer, allocation.reserved, static_cast<const CUmemAccessDesc*>(&access), size_t{1});
    physical.release();
    return pointer;
  } catch (const Failure&) {
    bool ended = false;
    try {
      releaseVirtual(library, pointer, allocation, ended);
    } catch (const Failure&) {
      // The first failure is the one that says why.
    }
    throw;
  }
}

void releaseVirtual(const Library& library, CUdeviceptr pointer, Allocation& allocation, bool& ended) {
  std::optional<Failure> first;
  if (allocation.mapped) {
    bool unmapped = false;
    try {
      callToEnd(unmapped, library.cuMemUnmap, pointer, allocation.reserved);
    } catch (const Failure& failure) {
      first = failure;
    }
    allocation.mapped = !unmapped;
    if (!unmapped) throw *first;
  }
  callToEnd(ended, library.cuMemAddressFree, pointer, allocation.reserved);
  if (first) throw *first;
}

}  // namespace cuda_ipc
