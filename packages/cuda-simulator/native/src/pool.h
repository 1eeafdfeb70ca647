// Pools of stream-ordered memory. A pool here keeps nothing back: what is freed returns to the device at once, so its
// reserved memory is its used memory.
// https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html
#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "address_space.h"
#include "cuda.h"

namespace simulator {

class Pool {
 public:
  Pool(int device, uint64_t most, bool isDefault) : device_(device), most_(most), isDefault_(isDefault) {}
  int device() const { return device_; }
  bool isDefault() const { return isDefault_; }
  // Throws CUDA_ERROR_OUT_OF_MEMORY beyond the pool's or the device's memory.
  std::shared_ptr<Range> allocate(uint64_t size, const std::shared_ptr<Pool>& self);
  void freed(uint64_t size);
  uint64_t attribute(CUmemPool_attribute attribute);
  void setAttribute(CUmemPool_attribute attribute, uint64_t value);

 private:
  const int device_;  // ordinal
  const uint64_t most_;
  const bool isDefault_;
  std::mutex mutex_;
  uint64_t used_ = 0;
  uint64_t usedHigh_ = 0;
  uint64_t threshold_ = 0;
  uint64_t reuse_[3] = {1, 1, 1};
};

// Each device's default pool, and the one that cuMemAllocAsync takes from.
class DefaultPools {
 public:
  CUmemoryPool ofDevice(int device);
  CUmemoryPool current(int device);
  void setCurrent(int device, CUmemoryPool pool);

 private:
  std::mutex mutex_;
  std::map<int, CUmemoryPool> default_;
  std::map<int, CUmemoryPool> current_;
};

}  // namespace simulator
