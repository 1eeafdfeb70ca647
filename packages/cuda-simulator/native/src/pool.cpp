#include "pool.h"

#include "errors.h"
#include "process.h"

namespace simulator {
namespace {

// Tells its pool when it goes.
struct PoolRange : Range {
  std::weak_ptr<Pool> pool;
  ~PoolRange() {
    if (auto from = pool.lock()) from->freed(wholePages(size));
  }
};

}  // namespace

std::shared_ptr<Range> Pool::allocate(uint64_t size, const std::shared_ptr<Pool>& self) {
  Process& process = Process::instance();
  require(size > 0, CUDA_ERROR_INVALID_VALUE);
  {
    std::lock_guard lock(mutex_);
    require(most_ == 0 || (size <= most_ && used_ + wholePages(size) <= wholePages(most_)), CUDA_ERROR_OUT_OF_MEMORY);
    used_ += wholePages(size);
    usedHigh_ = std::max(usedHigh_, used_);
  }
  auto range = std::make_shared<PoolRange>();
  range->size = size;
  range->pool = self;
  range->storage = Storage::allocate(process.machine(), process.device(device_).index, size, MemoryKind::kPool);
  range->reservation = std::make_shared<Reservation>(size);
  range->base = range->reservation->base();
  range->device = device_;
  process.addresses.add(range);
  return range;
}

void Pool::freed(uint64_t size) {
  std::lock_guard lock(mutex_);
  used_ -= size;
}

uint64_t Pool::attribute(CUmemPool_attribute attribute) {
  std::lock_guard lock(mutex_);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return reuse_[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return threshold_;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return used_;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return usedHigh_;
  }
  throw Failure(CUDA_ERROR_INVALID_VALUE);
}

void Pool::setAttribute(CUmemPool_attribute attribute, uint64_t value) {
  std::lock_guard lock(mutex_);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      reuse_[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = value != 0;
      return;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      threshold_ = value;
      return;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      require(value == 0, CUDA_ERROR_INVALID_VALUE);  // "the value must be 0", which resets the high watermark
      usedHigh_ = used_;
      return;
    default:
      throw Failure(CUDA_ERROR_INVALID_VALUE);
  }
}

CUmemoryPool DefaultPools::ofDevice(int device) {
  std::lock_guard lock(mutex_);
  CUmemoryPool& pool = default_[device];
  if (pool == nullptr) pool = Process::instance().pools.add(std::make_shared<Pool>(device, 0, true));
  return pool;
}

CUmemoryPool DefaultPools::current(int device) {
  CUmemoryPool fallback = ofDevice(device);
  std::lock_guard lock(mutex_);
  auto found = current_.find(device);
  bool there = found != current_.end() && Process::instance().pools.find(found->second) != nullptr;
  return there ? found->second : fallback;
}

void DefaultPools::setCurrent(int device, CUmemoryPool pool) {
  std::lock_guard lock(mutex_);
  current_[device] = pool;
}

}  // namespace simulator
