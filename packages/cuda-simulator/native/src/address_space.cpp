#include "address_space.h"

#include <algorithm>

#include "errors.h"

namespace simulator {
namespace {

constexpr size_t kMostRetired = 128;

}  // namespace

Reservation::Reservation(uint64_t size, uint64_t alignment, uint64_t wanted) : size_(wholePages(size)) {
  // One page more than asked for, so that a pointer just behind one allocation is never the start of another.
  uint64_t slack = alignment > kPage ? alignment : 0;
  addresses_ = MappedBytes::unreadable(size_ + slack + kPage, wanted);
  require(static_cast<bool>(addresses_), CUDA_ERROR_OUT_OF_MEMORY);
  base_ = reinterpret_cast<uint64_t>(addresses_.bytes());
  base_ = (base_ + alignment - 1) / alignment * alignment;
}

void AddressSpace::add(std::shared_ptr<Range> range) {
  std::unique_lock lock(mutex_);
  range->bufferId = nextBufferId_++;
  CUdeviceptr base = range->base;
  ranges_[base] = std::move(range);
}

std::shared_ptr<Range> AddressSpace::remove(CUdeviceptr base) {
  std::shared_ptr<Reservation> oldest;  // its addresses are given back after the lock
  std::unique_lock lock(mutex_);
  auto found = ranges_.find(base);
  if (found == ranges_.end()) return nullptr;
  std::shared_ptr<Range> range = std::move(found->second);
  ranges_.erase(found);
  range->removed = true;
  if (range->storage->kind() != MemoryKind::kVirtual) {
    retired_.push_back(range->reservation);
    if (retired_.size() > kMostRetired) {
      oldest = std::move(retired_.front());
      retired_.pop_front();
    }
  }
  return range;
}

std::shared_ptr<Range> AddressSpace::findLocked(CUdeviceptr pointer) const {
  auto after = ranges_.upper_bound(pointer);
  if (after == ranges_.begin()) return nullptr;
  const std::shared_ptr<Range>& range = std::prev(after)->second;
  return pointer - range->base < range->size ? range : nullptr;
}

std::shared_ptr<Range> AddressSpace::find(CUdeviceptr pointer) const {
  std::shared_lock lock(mutex_);
  return findLocked(pointer);
}

std::vector<std::shared_ptr<Range>> AddressSpace::all() const {
  std::shared_lock lock(mutex_);
  std::vector<std::shared_ptr<Range>> list;
  for (const auto& entry : ranges_) list.push_back(entry.second);
  return list;
}

std::vector<Piece> AddressSpace::resolve(CUdeviceptr pointer, uint64_t size, bool write) const {
  std::shared_lock lock(mutex_);
  std::vector<Piece> pieces;
  const Reservation* reservation = nullptr;
  while (size > 0) {
    std::shared_ptr<Range> range = findLocked(pointer);
    require(range != nullptr && range->accessible && !(write && range->readOnly) && !range->freeing.load(),
            CUDA_ERROR_INVALID_VALUE);
    require(reservation == nullptr || reservation == range->reservation.get(), CUDA_ERROR_INVALID_VALUE);
    reservation = range->reservation.get();
    uint64_t inside = pointer - range->base;
    uint64_t part = std::min(size, range->size - inside);
    pieces.push_back({range, inside, part});
    pointer += part;
    size -= part;
  }
  return pieces;
}

}  // namespace simulator
