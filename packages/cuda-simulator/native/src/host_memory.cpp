#include "host_memory.h"

#include <sys/mman.h>

#include "errors.h"

namespace simulator {

void* HostMemory::allocate(uint64_t size, unsigned flags) {
  require(size > 0, CUDA_ERROR_INVALID_VALUE);
  uint64_t whole = wholePages(size);
  require(whole >= size, CUDA_ERROR_OUT_OF_MEMORY);
  void* at = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(at != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
  auto address = reinterpret_cast<uint64_t>(at);
  auto block = std::make_shared<HostBlock>(address, size, MappedBytes(at, whole), flags);
  std::unique_lock lock(mutex_);
  blocks_[address] = std::move(block);
  return at;
}

void HostMemory::free(void* pointer) {
  std::unique_lock lock(mutex_);
  auto found = blocks_.find(reinterpret_cast<uint64_t>(pointer));
  require(found != blocks_.end() && !found->second->registered(), CUDA_ERROR_INVALID_VALUE);
  found->second->let();
  blocks_.erase(found);
}

void HostMemory::registerRange(void* pointer, uint64_t size, unsigned flags) {
  require(pointer != nullptr && size > 0, CUDA_ERROR_INVALID_VALUE);
  auto address = reinterpret_cast<uint64_t>(pointer);
  std::unique_lock lock(mutex_);
  auto after = blocks_.lower_bound(address + size);
  bool overlaps = after != blocks_.begin() && [&] {
    const HostBlock& before = *std::prev(after)->second;
    return before.address() + before.size() > address;
  }();
  require(!overlaps, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  blocks_[address] = std::make_shared<HostBlock>(address, size, MappedBytes(), flags);
}

void HostMemory::unregister(void* pointer) {
  std::unique_lock lock(mutex_);
  auto found = blocks_.find(reinterpret_cast<uint64_t>(pointer));
  require(found != blocks_.end() && found->second->registered(), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  found->second->let();
  blocks_.erase(found);
}

std::shared_ptr<HostBlock> HostMemory::find(uint64_t pointer, uint64_t size) const {
  std::shared_lock lock(mutex_);
  auto after = blocks_.upper_bound(pointer);
  if (after == blocks_.begin()) return nullptr;
  const std::shared_ptr<HostBlock>& block = std::prev(after)->second;
  uint64_t inside = pointer - block->address();
  return inside < block->size() && size <= block->size() - inside ? block : nullptr;
}

std::vector<std::shared_ptr<HostBlock>> HostMemory::all() const {
  std::shared_lock lock(mutex_);
  std::vector<std::shared_ptr<HostBlock>> list;
  for (const auto& entry : blocks_) list.push_back(entry.second);
  return list;
}

}  // namespace simulator
