// Virtual memory. https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__VA.html
#include "../virtual_memory.h"

#include "entry.h"

using namespace simulator;

namespace {

int deviceOf(const CUmemLocation& location) {
  require(location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_INVALID_VALUE);
  process().device(location.id);
  return location.id;
}

void check(const CUmemAllocationProp& properties) {
  require(properties.type == CU_MEM_ALLOCATION_TYPE_PINNED, CUDA_ERROR_INVALID_VALUE);
  require(properties.requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE ||
              properties.requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
          CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace

CUDA_SIMULATOR_EXPORT CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                                                             int) {
  return call("cuMemGetAllocationGranularity", [&](Call&) {
    given(granularity);
    check(given(properties));
    deviceOf(properties->location);
    *granularity = kGranularity;
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemAddressReserve(CUdeviceptr* pointer, size_t size, size_t alignment,
                                                   CUdeviceptr wanted, unsigned long long flags) {
  return call("cuMemAddressReserve", [&](Call& call) {
    call.bytes(size);
    given(pointer);
    require(flags == 0, CUDA_ERROR_INVALID_VALUE);
    *pointer = process().virtualMemory.reserve(size, alignment, wanted);
    call.address("pointer", *pointer);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemAddressFree(CUdeviceptr pointer, size_t size) {
  return call("cuMemAddressFree", [&](Call& call) {
    call.bytes(size);
    call.address("pointer", pointer);
    process().virtualMemory.freeReservation(pointer, size);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                                           const CUmemAllocationProp* properties, unsigned long long flags) {
  return call("cuMemCreate", [&](Call& call) {
    call.bytes(size);
    given(handle);
    check(given(properties));
    require(flags == 0, CUDA_ERROR_INVALID_VALUE);
    bool exportable = properties->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    *handle = process().virtualMemory.create(deviceOf(properties->location), size, exportable);
    call.address("allocation", *handle);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return call("cuMemRelease", [&](Call& call) {
    call.address("allocation", handle);
    process().virtualMemory.release(handle);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemMap(CUdeviceptr pointer, size_t size, size_t offset,
                                        CUmemGenericAllocationHandle handle, unsigned long long flags) {
  return call("cuMemMap", [&](Call& call) {
    call.bytes(size);
    call.address("pointer", pointer);
    call.address("allocation", handle);
    require(flags == 0 && offset == 0, CUDA_ERROR_INVALID_VALUE);  // "offset - must be 0 currently"
    process().virtualMemory.map(pointer, size, handle);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemUnmap(CUdeviceptr pointer, size_t size) {
  return call("cuMemUnmap", [&](Call& call) {
    call.bytes(size);
    call.address("pointer", pointer);
    process().virtualMemory.unmap(pointer, size);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemSetAccess(CUdeviceptr pointer, size_t size, const CUmemAccessDesc* access,
                                              size_t count) {
  return call("cuMemSetAccess", [&](Call& call) {
    call.bytes(size);
    call.address("pointer", pointer);
    given(access);
    require(count > 0, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; ++i) {
      CUmemAccess_flags flags = access[i].flags;
      require(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
                  flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
              CUDA_ERROR_INVALID_VALUE);
      int device = deviceOf(access[i].location);
      std::shared_ptr<Range> range = process().addresses.find(pointer);
      require(range != nullptr, CUDA_ERROR_INVALID_VALUE);
      // Another device's access needs the two to be peers; what it is isn't kept apart from the own device's.
      if (device != range->device) {
        require(config().peers, CUDA_ERROR_INVALID_DEVICE);
        continue;
      }
      process().virtualMemory.setAccess(pointer, size, flags);
    }
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                                              CUdeviceptr pointer) {
  return call("cuMemGetAccess", [&](Call&) {
    given(flags);
    int device = deviceOf(given(location));
    std::shared_ptr<Range> range = process().addresses.find(pointer);
    require(range != nullptr && range->storage->kind() == MemoryKind::kVirtual, CUDA_ERROR_INVALID_VALUE);
    bool reads = range->accessible && device == range->device;
    *flags = !reads            ? CU_MEM_ACCESS_FLAGS_PROT_NONE
             : range->readOnly ? CU_MEM_ACCESS_FLAGS_PROT_READ
                               : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* pointer) {
  return call("cuMemRetainAllocationHandle", [&](Call&) {
    given(handle) = process().virtualMemory.retain(reinterpret_cast<uint64_t>(pointer));
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                                      CUmemGenericAllocationHandle handle) {
  return call("cuMemGetAllocationPropertiesFromHandle", [&](Call&) {
    given(properties);
    std::shared_ptr<Storage> storage = process().virtualMemory.allocation(handle);
    *properties = CUmemAllocationProp{};
    properties->type = CU_MEM_ALLOCATION_TYPE_PINNED;
    if (process().virtualMemory.exportable(*storage)) {
      properties->requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    }
    properties->location = {CU_MEM_LOCATION_TYPE_DEVICE, process().ordinal(storage->device())};
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                                            CUmemAllocationHandleType type, unsigned long long flags) {
  return call("cuMemExportToShareableHandle", [&](Call& call) {
    call.address("allocation", handle);
    require(shareable != nullptr && flags == 0, CUDA_ERROR_INVALID_VALUE);
    require(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_INVALID_VALUE);
    *static_cast<int*>(shareable) = process().virtualMemory.exportFd(handle);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                                              CUmemAllocationHandleType type) {
  return call("cuMemImportFromShareableHandle", [&](Call& call) {
    given(handle);
    require(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_INVALID_VALUE);
    *handle = process().virtualMemory.import(static_cast<int>(reinterpret_cast<intptr_t>(shareable)));
    call.address("allocation", *handle);
    return CUDA_SUCCESS;
  });
}
