// The bytes of one allocation, as this process sees them: an alias of the simulator's own. The device addresses that the
// program knows stay unreadable.
#pragma once
#include <memory>
#include <shared_mutex>
#include <vector>

#include "machine.h"

namespace simulator {

class Storage {
 public:
  // New memory on a device of the machine. Throws CUDA_ERROR_OUT_OF_MEMORY.
  static std::shared_ptr<Storage> allocate(Machine& machine, int device, uint64_t size, MemoryKind kind);
  // Another process's memory, already counted as mapped. Throws CUDA_ERROR_MAP_FAILED.
  static std::shared_ptr<Storage> adopt(Machine& machine, const Machine::Found& found);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  unsigned char* bytes() const { return bytes_.bytes(); }
  uint64_t size() const { return size_; }
  int device() const { return device_; }  // index on the machine
  MemoryKind kind() const { return kind_; }
  bool imported() const { return imported_; }
  const SharedName& name() const { return name_; }

  // Lets go of it, after work that is using it this moment. Work that comes later finds it gone.
  Release release(bool unlessMapped);

 private:
  friend class InUse;
  Storage(Machine& machine, SharedName name) : machine_(machine), name_(name) {}

  Machine& machine_;
  SharedName name_;
  MappedBytes bytes_;
  uint64_t size_ = 0;
  int device_ = 0;
  MemoryKind kind_ = MemoryKind::kPlain;
  bool imported_ = false;
  std::shared_mutex use_;
  bool gone_ = false;
};

// Keeps allocations from being freed while work touches their bytes.
class InUse {
 public:
  explicit InUse(std::vector<Storage*> storages);
  ~InUse();
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;
  bool allThere() const;

 private:
  std::vector<Storage*> storages_;
};

}  // namespace simulator
