// What a pointer is. https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__UNIFIED.html
#include <cstring>

#include "entry.h"

using namespace simulator;

namespace {

template <class T>
void put(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
}

bool hasLegacyHandle(const Range& range) {
  return range.storage->kind() == MemoryKind::kPlain && !range.storage->imported();
}

void deviceAttribute(void* data, CUpointer_attribute attribute, const Range& range, CUdeviceptr pointer) {
  MemoryKind kind = range.storage->kind();
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return put(data, range.contextHandle);  // none for virtual and pool memory, as on a GPU
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(data, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(data, pointer);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(data, 0u);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return put(data, range.bufferId);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(data, range.device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put(data, hasLegacyHandle(range) ? 1u : 0u);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(data, range.base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(data, static_cast<size_t>(range.size));
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(data, 1u);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: {
      bool fd = kind == MemoryKind::kVirtual && process().virtualMemory.exportable(*range.storage);
      return put(data, static_cast<uint64_t>(fd ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE));
    }
    default:
      throw Failure(CUDA_ERROR_INVALID_VALUE);  // CU_POINTER_ATTRIBUTE_HOST_POINTER of device memory, too
  }
}

void hostAttribute(void* data, CUpointer_attribute attribute, const HostBlock& block, CUdeviceptr pointer) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(data, static_cast<unsigned>(CU_MEMORYTYPE_HOST));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(data, pointer);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return put(data, reinterpret_cast<void*>(pointer));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put(data, 0u);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(data, block.address());
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(data, static_cast<size_t>(block.size()));
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(data, 1u);
    default:
      throw Failure(CUDA_ERROR_INVALID_VALUE);
  }
}

void read(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  if (std::shared_ptr<Range> range = process().addresses.find(pointer)) {
    return deviceAttribute(data, attribute, *range, pointer);
  }
  std::shared_ptr<HostBlock> block = process().host.find(pointer, 1);
  require(block != nullptr, CUDA_ERROR_INVALID_VALUE);  // memory that CUDA doesn't know
  hostAttribute(data, attribute, *block, pointer);
}

size_t sizeOf(CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return 8;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return 4;
  }
  throw Failure(CUDA_ERROR_INVALID_VALUE);
}

}  // namespace

CUDA_SIMULATOR_EXPORT CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  return call("cuPointerGetAttribute", [&](Call& call) {
    call.address("pointer", pointer);
    require(data != nullptr, CUDA_ERROR_INVALID_VALUE);
    currentContext();
    sizeOf(attribute);
    read(data, attribute, pointer);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuPointerGetAttributes(unsigned count, const CUpointer_attribute* attributes, void** data,
                                                      CUdeviceptr pointer) {
  return call("cuPointerGetAttributes", [&](Call& call) {
    call.address("pointer", pointer);
    require(attributes != nullptr && data != nullptr && count > 0, CUDA_ERROR_INVALID_VALUE);
    currentContext();
    // "Unlike cuPointerGetAttribute, this function will not return an error when the ptr encountered is not a valid CUDA
    // pointer. Instead, the attributes are assigned default NULL values."
    for (unsigned i = 0; i < count; ++i) {
      std::memset(&given(data[i] == nullptr ? nullptr : static_cast<char*>(data[i])), 0, sizeOf(attributes[i]));
      if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) put(data[i], -2);
      try {
        read(data[i], attributes[i], pointer);
      } catch (const Failure&) {
      }
    }
    return CUDA_SUCCESS;
  });
}
