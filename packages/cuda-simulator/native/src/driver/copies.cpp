// Copies. https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html (cuMemcpy…)
#include "../copy.h"

#include "entry.h"

using namespace simulator;

namespace {

constexpr bool kSynchronous = true, kAsynchronous = false;

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

std::shared_ptr<Stream> legacyStream() { return currentContext().legacyStream(); }

// The stream of an asynchronous function, which also needs a current context.
std::shared_ptr<Stream> streamOf(CUstream handle) {
  currentContext();
  return findStream(handle);
}

void note(Call& call, uint64_t destination, uint64_t source) {
  call.address("destination", destination);
  call.address("source", source);
}

CUresult hostToDevice(Call& call, CUdeviceptr destination, const void* source, size_t size,
                      const std::shared_ptr<Stream>& stream, bool synchronous) {
  note(call, destination, address(source));
  Shape shape{size, 1};
  copy(call, Place::device(destination, shape, size, true), Place::host(source, shape, size), shape, stream, synchronous);
  return CUDA_SUCCESS;
}

CUresult deviceToHost(Call& call, void* destination, CUdeviceptr source, size_t size,
                      const std::shared_ptr<Stream>& stream, bool synchronous) {
  note(call, address(destination), source);
  Shape shape{size, 1};
  copy(call, Place::host(destination, shape, size), Place::device(source, shape, size, false), shape, stream, synchronous);
  return CUDA_SUCCESS;
}

CUresult deviceToDevice(Call& call, CUdeviceptr destination, CUdeviceptr source, size_t size,
                        const std::shared_ptr<Stream>& stream, bool synchronous) {
  note(call, destination, source);
  Shape shape{size, 1};
  copy(call, Place::device(destination, shape, size, true), Place::device(source, shape, size, false), shape, stream,
       synchronous);
  return CUDA_SUCCESS;
}

CUresult anyToAny(Call& call, CUdeviceptr destination, CUdeviceptr source, size_t size,
                  const std::shared_ptr<Stream>& stream, bool synchronous) {
  note(call, destination, source);
  Shape shape{size, 1};
  copy(call, Place::any(destination, shape, size, true), Place::any(source, shape, size, false), shape, stream, synchronous);
  return CUDA_SUCCESS;
}

// One end of a CUDA_MEMCPY2D: "start address = host or device + Y * pitch + XInBytes".
Place end2D(CUmemorytype type, const void* host, CUdeviceptr device, size_t x, size_t y, size_t pitch, Shape shape,
            bool write) {
  if (pitch == 0) pitch = shape.width;
  uint64_t before = y * pitch + x;
  switch (type) {
    case CU_MEMORYTYPE_HOST:
      return Place::host(static_cast<const unsigned char*>(host) + before, shape, pitch);
    case CU_MEMORYTYPE_DEVICE:
      return Place::device(device + before, shape, pitch, write);
    case CU_MEMORYTYPE_UNIFIED:
      return Place::any(device + before, shape, pitch, write);
    case CU_MEMORYTYPE_ARRAY:
      break;
  }
  throw Failure(CUDA_ERROR_INVALID_VALUE);
}

CUresult copy2D(Call& call, const CUDA_MEMCPY2D& p, const std::shared_ptr<Stream>& stream, bool synchronous) {
  Shape shape{p.WidthInBytes, p.Height};
  Place destination =
      end2D(p.dstMemoryType, p.dstHost, p.dstDevice, p.dstXInBytes, p.dstY, p.dstPitch, shape, true);
  Place source = end2D(p.srcMemoryType, p.srcHost, p.srcDevice, p.srcXInBytes, p.srcY, p.srcPitch, shape, false);
  copy(call, destination, source, shape, stream, synchronous);
  return CUDA_SUCCESS;
}

}  // namespace

CUDA_SIMULATOR_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr destination, const void* source, size_t size) {
  return call("cuMemcpyHtoD",
              [&](Call& call) { return hostToDevice(call, destination, source, size, legacyStream(), kSynchronous); });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemcpyDtoH_v2(void* destination, CUdeviceptr source, size_t size) {
  return call("cuMemcpyDtoH",
              [&](Call& call) { return deviceToHost(call, destination, source, size, legacyStream(), kSynchronous); });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr destination, CUdeviceptr source, size_t size) {
  return call("cuMemcpyDtoD",
              [&](Call& call) { return deviceToDevice(call, destination, source, size, legacyStream(), kSynchronous); });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemcpy(CUdeviceptr destination, CUdeviceptr source, size_t size) {
  return call("cuMemcpy",
              [&](Call& call) { return anyToAny(call, destination, source, size, legacyStream(), kSynchronous); });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemcpyPeer(CUdeviceptr destination, CUcontext destinationContext, CUdeviceptr source,
                                            CUcontext sourceContext, size_t size) {
  return call("cuMemcpyPeer", [&](Call& call) {
    findContext(destinationContext)->check();
    findContext(sourceContext)->check();
    return deviceToDevice(call, destination, source, size, legacyStream(), kSynchronous);
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* parameters) {
  return call("cuMemcpy2D",
              [&](Call& call) { return copy2D(call, given(parameters), legacyStream(), kSynchronous); });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr destination, const void* source, size_t size,
                                                    CUstream stream) {
  return call("cuMemcpyHtoDAsync", [&](Call& call) {
    return hostToDevice(call, destination, source, size, streamOf(stream), kAsynchronous);
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemcpyDtoHAsync_v2(void* destination, CUdeviceptr source, size_t size, CUstream stream) {
  return call("cuMemcpyDtoHAsync", [&](Call& call) {
    return deviceToHost(call, destination, source, size, streamOf(stream), kAsynchronous);
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr destination, CUdeviceptr source, size_t size,
                                                    CUstream stream) {
  return call("cuMemcpyDtoDAsync", [&](Call& call) {
    return deviceToDevice(call, destination, source, size, streamOf(stream), kAsynchronous);
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source, size_t size, CUstream stream) {
  return call("cuMemcpyAsync", [&](Call& call) {
    return anyToAny(call, destination, source, size, streamOf(stream), kAsynchronous);
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr destination, CUcontext destinationContext,
                                                 CUdeviceptr source, CUcontext sourceContext, size_t size,
                                                 CUstream stream) {
  return call("cuMemcpyPeerAsync", [&](Call& call) {
    findContext(destinationContext)->check();
    findContext(sourceContext)->check();
    return deviceToDevice(call, destination, source, size, streamOf(stream), kAsynchronous);
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* parameters, CUstream stream) {
  return call("cuMemcpy2DAsync",
              [&](Call& call) { return copy2D(call, given(parameters), streamOf(stream), kAsynchronous); });
}
