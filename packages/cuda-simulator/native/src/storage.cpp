#include "storage.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "errors.h"

namespace simulator {

std::shared_ptr<Storage> Storage::allocate(Machine& machine, int device, uint64_t size, MemoryKind kind) {
  std::optional<SharedName> name = machine.allocate(device, size, kind);
  require(name.has_value(), CUDA_ERROR_OUT_OF_MEMORY);
  std::shared_ptr<Storage> storage(new Storage(machine, *name));  // lets go of the name whatever happens next
  storage->size_ = size;
  storage->device_ = device;
  storage->kind_ = kind;
  File file = machine.openAllocation(*name, true);
  // Reserves the pages, so that touching them can't fail later (a full tmpfs would raise SIGBUS).
  bool reserved = file && posix_fallocate(file.get(), 0, static_cast<off_t>(wholePages(size))) == 0;
  if (reserved) storage->bytes_ = MappedBytes::shared(file, wholePages(size));
  require(static_cast<bool>(storage->bytes_), CUDA_ERROR_OUT_OF_MEMORY);
  std::memset(storage->bytes(), kFreshByte, storage->bytes_.size());
  struct stat status {};
  require(fstat(file.get(), &status) == 0, CUDA_ERROR_OPERATING_SYSTEM);
  machine.confirm(*name, status.st_ino);
  return storage;
}

std::shared_ptr<Storage> Storage::adopt(Machine& machine, const Machine::Found& found) {
  std::shared_ptr<Storage> storage(new Storage(machine, found.name));
  storage->size_ = found.size;
  storage->device_ = found.device;
  storage->kind_ = found.kind;
  storage->imported_ = true;
  File file = machine.openAllocation(found.name, false);
  if (file) storage->bytes_ = MappedBytes::shared(file, wholePages(found.size));
  require(static_cast<bool>(storage->bytes_), CUDA_ERROR_MAP_FAILED);
  return storage;
}

Storage::~Storage() { release(false); }

Release Storage::release(bool unlessMapped) {
  std::unique_lock lock(use_);
  if (gone_) return Release::kDone;
  Release result = Release::kDone;
  if (imported_) machine_.unmap(name_);
  else result = machine_.release(name_, unlessMapped);
  gone_ = result != Release::kRefused;
  return result;
}

InUse::InUse(std::vector<Storage*> storages) : storages_(std::move(storages)) {
  // In one order everywhere, so that two that want the same can't wait for each other.
  std::sort(storages_.begin(), storages_.end());
  storages_.erase(std::unique(storages_.begin(), storages_.end()), storages_.end());
  for (Storage* storage : storages_) storage->use_.lock_shared();
}

InUse::~InUse() {
  for (Storage* storage : storages_) storage->use_.unlock_shared();
}

bool InUse::allThere() const {
  for (const Storage* storage : storages_) {
    if (storage->gone_) return false;
  }
  return true;
}

}  // namespace simulator
