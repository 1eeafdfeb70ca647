#include "virtual_memory.h"

#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "process.h"

namespace simulator {
namespace {

bool isWhole(uint64_t size) { return size > 0 && size % kGranularity == 0; }

}  // namespace

CUdeviceptr VirtualMemory::reserve(uint64_t size, uint64_t alignment, CUdeviceptr wanted) {
  require(isWhole(size), CUDA_ERROR_INVALID_VALUE);
  require((alignment & (alignment - 1)) == 0, CUDA_ERROR_INVALID_VALUE);  // "must be power of two", 0 included
  auto reservation = std::make_shared<Reservation>(size, std::max(alignment, kGranularity), wanted);
  std::lock_guard lock(mutex_);
  reservations_[reservation->base()] = reservation;
  return reservation->base();
}

void VirtualMemory::freeReservation(CUdeviceptr base, uint64_t size) {
  std::lock_guard lock(mutex_);
  auto found = reservations_.find(base);
  require(found != reservations_.end() && found->second->size() == size, CUDA_ERROR_INVALID_VALUE);
  for (const std::shared_ptr<Range>& range : Process::instance().addresses.all()) {
    require(range->reservation != found->second, CUDA_ERROR_INVALID_VALUE);  // something is still mapped there
  }
  reservations_.erase(found);
}

std::vector<VirtualMemory::Reserved> VirtualMemory::reservations() {
  std::lock_guard lock(mutex_);
  std::vector<Reserved> list;
  for (const auto& [base, reservation] : reservations_) list.push_back({base, reservation->size()});
  return list;
}

CUmemGenericAllocationHandle VirtualMemory::create(int device, uint64_t size, bool exportable) {
  require(isWhole(size), CUDA_ERROR_INVALID_VALUE);
  Process& process = Process::instance();
  auto storage = Storage::allocate(process.machine(), process.device(device).index, size, MemoryKind::kVirtual);
  std::lock_guard lock(mutex_);
  storages_[storage->name().id] = storage;
  if (exportable) exportable_.insert(storage->name().id);
  CUmemGenericAllocationHandle handle = process.allocations.add(storage);
  handles_[handle] = 1;
  return handle;
}

std::shared_ptr<Storage> VirtualMemory::allocation(CUmemGenericAllocationHandle handle) {
  std::shared_ptr<Storage> storage = Process::instance().allocations.find(handle);
  require(storage != nullptr, CUDA_ERROR_INVALID_VALUE);
  return storage;
}

bool VirtualMemory::exportable(const Storage& storage) {
  std::lock_guard lock(mutex_);
  return storage.imported() || exportable_.count(storage.name().id) != 0;
}

int VirtualMemory::exportFd(CUmemGenericAllocationHandle handle) {
  std::shared_ptr<Storage> storage = allocation(handle);
  require(exportable(*storage), CUDA_ERROR_INVALID_VALUE);
  File file = Process::instance().machine().exportFile(storage->name());
  require(static_cast<bool>(file), CUDA_ERROR_OPERATING_SYSTEM);
  return file.release();
}

CUmemGenericAllocationHandle VirtualMemory::import(int fd) {
  Process& process = Process::instance();
  struct stat status {};
  require(fstat(fd, &status) == 0, CUDA_ERROR_INVALID_VALUE);
  std::optional<Machine::Found> found = process.machine().mapFile(status.st_ino);
  require(found.has_value(), CUDA_ERROR_INVALID_VALUE);
  std::lock_guard lock(mutex_);
  std::shared_ptr<Storage> storage = storages_[found->name.id].lock();
  if (storage) {
    if (!found->own) process.machine().unmap(found->name);  // it is mapped already, and counted once
  } else {
    require(!found->own, CUDA_ERROR_INVALID_VALUE);
    if (process.ordinal(found->device) < 0) {
      process.machine().unmap(found->name);
      throw Failure(CUDA_ERROR_INVALID_DEVICE);
    }
    storage = Storage::adopt(process.machine(), *found);
    storages_[found->name.id] = storage;
  }
  CUmemGenericAllocationHandle handle = process.allocations.add(storage);
  handles_[handle] = 1;
  return handle;
}

void VirtualMemory::release(CUmemGenericAllocationHandle handle) {
  std::shared_ptr<Storage> last;  // "the memory is freed when all outstanding mappings to it are unmapped" as well
  std::lock_guard lock(mutex_);
  auto found = handles_.find(handle);
  require(found != handles_.end(), CUDA_ERROR_INVALID_VALUE);
  if (--found->second > 0) return;
  handles_.erase(found);
  last = Process::instance().allocations.take(handle);
}

CUmemGenericAllocationHandle VirtualMemory::retain(CUdeviceptr pointer) {
  Process& process = Process::instance();
  std::shared_ptr<Range> range = process.addresses.find(pointer);
  require(range != nullptr && range->storage->kind() == MemoryKind::kVirtual, CUDA_ERROR_INVALID_VALUE);
  std::lock_guard lock(mutex_);
  for (const auto& [handle, storage] : process.allocations.all()) {
    if (storage != range->storage) continue;
    ++handles_[handle];
    return handle;
  }
  CUmemGenericAllocationHandle handle = process.allocations.add(range->storage);
  handles_[handle] = 1;
  return handle;
}

std::shared_ptr<Reservation> VirtualMemory::reservationAround(CUdeviceptr pointer, uint64_t size) {
  auto after = reservations_.upper_bound(pointer);
  require(after != reservations_.begin(), CUDA_ERROR_INVALID_VALUE);
  std::shared_ptr<Reservation> reservation = std::prev(after)->second;
  uint64_t inside = pointer - reservation->base();
  require(inside < reservation->size() && size <= reservation->size() - inside, CUDA_ERROR_INVALID_VALUE);
  return reservation;
}

void VirtualMemory::map(CUdeviceptr pointer, uint64_t size, CUmemGenericAllocationHandle handle) {
  Process& process = Process::instance();
  std::shared_ptr<Storage> storage = allocation(handle);
  require(isWhole(size) && size == storage->size() && pointer % kGranularity == 0, CUDA_ERROR_INVALID_VALUE);
  std::lock_guard lock(mutex_);
  auto range = std::make_shared<Range>();
  range->reservation = reservationAround(pointer, size);
  for (const std::shared_ptr<Range>& other : process.addresses.all()) {
    bool apart = other->base + other->size <= pointer || pointer + size <= other->base;
    require(apart, CUDA_ERROR_ALREADY_MAPPED);
  }
  range->base = pointer;
  range->size = size;
  range->storage = std::move(storage);
  range->device = process.ordinal(range->storage->device());
  range->accessible = false;  // until cuMemSetAccess
  process.addresses.add(range);
}

std::vector<std::shared_ptr<Range>> VirtualMemory::exactly(CUdeviceptr pointer, uint64_t size) {
  std::vector<std::shared_ptr<Range>> ranges;
  uint64_t covered = 0;
  while (covered < size) {
    std::shared_ptr<Range> range = Process::instance().addresses.find(pointer + covered);
    require(range != nullptr && range->storage->kind() == MemoryKind::kVirtual && range->base == pointer + covered &&
                range->size <= size - covered,
            CUDA_ERROR_INVALID_VALUE);
    covered += range->size;
    ranges.push_back(std::move(range));
  }
  require(!ranges.empty(), CUDA_ERROR_INVALID_VALUE);
  return ranges;
}

void VirtualMemory::unmap(CUdeviceptr pointer, uint64_t size) {
  std::lock_guard lock(mutex_);
  // "The range must be the entire address range that was mapped to": a part of a mapping can't be unmapped.
  for (const std::shared_ptr<Range>& range : exactly(pointer, size)) Process::instance().addresses.remove(range->base);
}

void VirtualMemory::setAccess(CUdeviceptr pointer, uint64_t size, CUmemAccess_flags flags) {
  std::lock_guard lock(mutex_);
  for (const std::shared_ptr<Range>& range : exactly(pointer, size)) {
    auto changed = std::make_shared<Range>();  // in place of the old one, which other threads may be reading
    changed->base = range->base;
    changed->size = range->size;
    changed->storage = range->storage;
    changed->reservation = range->reservation;
    changed->device = range->device;
    changed->accessible = flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    changed->readOnly = flags == CU_MEM_ACCESS_FLAGS_PROT_READ;
    Process::instance().addresses.add(std::move(changed));
  }
}

}  // namespace simulator
