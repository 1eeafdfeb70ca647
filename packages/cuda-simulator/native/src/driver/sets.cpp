// Sets. https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html (cuMemset…)
#include "../copy.h"

#include "entry.h"

using namespace simulator;

namespace {

struct Rows {
  size_t pitch;
  size_t width;  // in units
  size_t height;
};

CUresult setNow(const char* function, CUdeviceptr destination, uint32_t value, unsigned unit, Rows rows) {
  return call(function, [&](Call& call) {
    call.address("destination", destination);
    set(call, destination, rows.pitch, value, unit, rows.width, rows.height, currentContext().legacyStream(), true);
    return CUDA_SUCCESS;
  });
}

CUresult setLater(const char* function, CUdeviceptr destination, uint32_t value, unsigned unit, Rows rows,
                  CUstream stream) {
  return call(function, [&](Call& call) {
    call.address("destination", destination);
    currentContext();
    set(call, destination, rows.pitch, value, unit, rows.width, rows.height, findStream(stream), false);
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUDA_SIMULATOR_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr destination, unsigned char value, size_t count) {
  return setNow("cuMemsetD8", destination, value, 1, {0, count, 1});
}

CUDA_SIMULATOR_EXPORT CUresult cuMemsetD16_v2(CUdeviceptr destination, unsigned short value, size_t count) {
  return setNow("cuMemsetD16", destination, value, 2, {0, count, 1});
}

CUDA_SIMULATOR_EXPORT CUresult cuMemsetD32_v2(CUdeviceptr destination, unsigned value, size_t count) {
  return setNow("cuMemsetD32", destination, value, 4, {0, count, 1});
}

CUDA_SIMULATOR_EXPORT CUresult cuMemsetD2D8_v2(CUdeviceptr destination, size_t pitch, unsigned char value, size_t width,
                                               size_t height) {
  return setNow("cuMemsetD2D8", destination, value, 1, {pitch, width, height});
}

CUDA_SIMULATOR_EXPORT CUresult cuMemsetD2D16_v2(CUdeviceptr destination, size_t pitch, unsigned short value,
                                                size_t width, size_t height) {
  return setNow("cuMemsetD2D16", destination, value, 2, {pitch, width, height});
}

CUDA_SIMULATOR_EXPORT CUresult cuMemsetD2D32_v2(CUdeviceptr destination, size_t pitch, unsigned value, size_t width,
                                                size_t height) {
  return setNow("cuMemsetD2D32", destination, value, 4, {pitch, width, height});
}

CUDA_SIMULATOR_EXPORT CUresult cuMemsetD8Async(CUdeviceptr destination, unsigned char value, size_t count, CUstream stream) {
  return setLater("cuMemsetD8Async", destination, value, 1, {0, count, 1}, stream);
}

CUDA_SIMULATOR_EXPORT CUresult cuMemsetD16Async(CUdeviceptr destination, unsigned short value, size_t count,
                                                CUstream stream) {
  return setLater("cuMemsetD16Async", destination, value, 2, {0, count, 1}, stream);
}

CUDA_SIMULATOR_EXPORT CUresult cuMemsetD32Async(CUdeviceptr destination, unsigned value, size_t count, CUstream stream) {
  return setLater("cuMemsetD32Async", destination, value, 4, {0, count, 1}, stream);
}

CUDA_SIMULATOR_EXPORT CUresult cuMemsetD2D8Async(CUdeviceptr destination, size_t pitch, unsigned char value,
                                                 size_t width, size_t height, CUstream stream) {
  return setLater("cuMemsetD2D8Async", destination, value, 1, {pitch, width, height}, stream);
}
