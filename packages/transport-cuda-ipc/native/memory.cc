// Memory of a device, copies and fills.
#include "queue.h"

namespace cuda_ipc {

CUdeviceptr allocate(Queue& queue, size_t bytes, MemoryKind kind) {
  if (bytes == 0) return 0;
  CUdeviceptr pointer = 0;
  Allocation allocation{queue.ordinal, kind, bytes};
  switch (kind) {
    case MemoryKind::kPlain:
      call(queue.library.cuMemAlloc, &pointer, bytes);
      break;
    case MemoryKind::kVirtual:
      pointer = allocateVirtual(queue, bytes, allocation);
      break;
    case MemoryKind::kPool:
      // It is there when the stream gets to it; the end of the batch waits for that.
      call(queue.library.cuMemAllocAsync, &pointer, bytes, queue.stream);
      queue.queued();
      break;
  }
  queue.held.allocations.add(pointer, allocation);
  return pointer;
}

void release(Queue& queue, CUdeviceptr pointer) {
  if (pointer == 0) return;
  std::optional<Allocation> allocation = queue.held.allocations.take(pointer, queue.ordinal);
  if (!allocation) {
    throw Failure{CUDA_ERROR_INVALID_VALUE, queue.library.cuMemFree.name, "this is no allocation of this device and thread"};
  }
  bool ended = false;
  try {
    switch (allocation->kind) {
      case MemoryKind::kPlain:
        callToEnd(ended, queue.library.cuMemFree, pointer);
        break;
      case MemoryKind::kVirtual:
        releaseVirtual(queue.library, pointer, *allocation, ended);
        break;
      case MemoryKind::kPool:
        callToEnd(ended, queue.library.cuMemFreeAsync, pointer, queue.stream);
        queue.queued();
        break;
    }
  } catch (const Failure&) {
    if (!ended) queue.held.allocations.add(pointer, *allocation);
    throw;
  }
}

void copy(Queue& queue, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  if (bytes == 0) return;
  call(queue.library.cuMemcpyDtoDAsync, to, from, bytes, queue.stream);
  queue.queued();
}

void copyRows(Queue& queue, CUdeviceptr to, size_t toPitch, CUdeviceptr from, size_t fromPitch, size_t width,
              size_t height) {
  if (width == 0 || height == 0) return;
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.srcDevice = from;
  rows.srcPitch = fromPitch;
  rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.dstDevice = to;
  rows.dstPitch = toPitch;
  rows.WidthInBytes = width;
  rows.Height = height;
  call(queue.library.cuMemcpy2DAsync, static_cast<const CUDA_MEMCPY2D*>(&rows), queue.stream);
  queue.queued();
}

void copyPeer(Queue& queue, CUdeviceptr to, int toDevice, CUdeviceptr from, int fromDevice, size_t bytes) {
  if (bytes == 0) return;
  CUcontext toContext = queue.contexts.of(toDevice), fromContext = queue.contexts.of(fromDevice);
  call(queue.library.cuMemcpyPeerAsync, to, toContext, from, fromContext, bytes, queue.stream);
  queue.queued();
}

void copyFromHost(Queue& queue, CUdeviceptr to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  call(queue.library.cuMemcpyHtoDAsync, to, from, bytes, queue.stream);
  queue.queued();
}

void copyToHost(Queue& queue, void* to, CUdeviceptr from, size_t bytes) {
  if (bytes == 0) return;
  call(queue.library.cuMemcpyDtoHAsync, to, from, bytes, queue.stream);
  queue.queued();
}

void fill(Queue& queue, CUdeviceptr pointer, unsigned char value, size_t bytes) {
  if (bytes == 0) return;
  call(queue.library.cuMemsetD8Async, pointer, value, bytes, queue.stream);
  queue.queued();
}

void memoryInfo(Queue& queue, uint64_t* words) {
  size_t free = 0, total = 0;
  call(queue.library.cuMemGetInfo, &free, &total);
  words[0] = free;
  words[1] = total;
}

void addressRange(Queue& queue, CUdeviceptr pointer, uint64_t* words) {
  CUdeviceptr base = 0;
  size_t bytes = 0;
  call(queue.library.cuMemGetAddressRange, &base, &bytes, pointer);
  words[0] = base;
  words[1] = bytes;
}

void attributes(Queue& queue, CUdeviceptr pointer, uint64_t* words) {
  unsigned type = 0, capable = 0, managed = 0;
  int ordinal = 0;
  CUdeviceptr base = 0;
  size_t bytes = 0;
  unsigned long long bufferId = 0;
  CUpointer_attribute names[] = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
      CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
      CU_POINTER_ATTRIBUTE_RANGE_SIZE,       CU_POINTER_ATTRIBUTE_IS_MANAGED,
      CU_POINTER_ATTRIBUTE_BUFFER_ID,
  };
  void* values[] = {&type, &ordinal, &capable, &base, &bytes, &managed, &bufferId};
  call(queue.library.cuPointerGetAttributes, static_cast<unsigned>(std::size(names)), names, values, pointer);
  words[0] = type;
  words[1] = static_cast<uint64_t>(static_cast<int64_t>(ordinal));
  words[2] = capable & 1;
  words[3] = base;
  words[4] = bytes;
  words[5] = managed & 1;
  words[6] = bufferId;
}

}  // namespace cuda_ipc
