// Host memory that the simulator knows: allocated page-locked, or registered. What it doesn't know is pageable.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "machine_files.h"

namespace simulator {

class HostBlock {
 public:
  HostBlock(uint64_t address, uint64_t size, MappedBytes own, unsigned flags)
      : address_(address), size_(size), flags_(flags), own_(std::move(own)) {}
  uint64_t address() const { return address_; }
  uint64_t size() const { return size_; }
  unsigned flags() const { return flags_; }
  bool registered() const { return !own_; }  // the program's own memory, rather than the simulator's
  bool gone() const { return gone_.load(); }
  void let() { gone_.store(true); }

 private:
  uint64_t address_;
  uint64_t size_;
  unsigned flags_;
  std::atomic<bool> gone_{false};
  MappedBytes own_;  // stays until queued work has let go of the block
};

class HostMemory {
 public:
  // Page-locked memory. Throws CUDA_ERROR_OUT_OF_MEMORY.
  void* allocate(uint64_t size, unsigned flags);
  // Throws CUDA_ERROR_INVALID_VALUE for a pointer that `allocate` didn't give.
  void free(void* pointer);
  void registerRange(void* pointer, uint64_t size, unsigned flags);
  void unregister(void* pointer);
  // The block in which all of [pointer, pointer + size) lies.
  std::shared_ptr<HostBlock> find(uint64_t pointer, uint64_t size) const;
  std::vector<std::shared_ptr<HostBlock>> all() const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, std::shared_ptr<HostBlock>> blocks_;
};

}  // namespace simulator
