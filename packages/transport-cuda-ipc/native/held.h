// What an environment has of the driver: every allocation, mapping, stream and event that it hasn't given back. Only what
// is in here is ever freed, so that an address is never freed twice or by someone who doesn't own it.
#pragma once
#include <map>
#include <mutex>
#include <optional>

#include "cuda.h"

namespace cuda_ipc {

// As src/driver/batch.ts numbers them.
enum class MemoryKind : uint64_t { kPlain = 0, kVirtual = 1, kPool = 2 };

struct Allocation {
  int ordinal;
  MemoryKind kind;
  size_t bytes;
  size_t reserved = 0;    // of virtual memory: rounded up to whole granules
  bool mapped = true;     // of virtual memory: whether the physical memory is still there
  bool exported = false;  // another process may have it mapped
};

// Things of one kind, by the driver's handle or address. `take` removes what is going to be ended, so that of two who try
// only one succeeds; `add` puts it back if it couldn't be.
template <class Key, class Thing>
class HeldThings {
 public:
  void add(Key key, const Thing& thing) {
    std::lock_guard lock(mutex_);
    things_.insert_or_assign(key, thing);
  }
  std::optional<Thing> take(Key key, int ordinal) {
    std::lock_guard lock(mutex_);
    auto found = things_.find(key);
    if (found == things_.end() || found->second.ordinal != ordinal) return std::nullopt;
    Thing thing = found->second;
    things_.erase(found);
    return thing;
  }
  std::map<Key, Thing> all() const {
    std::lock_guard lock(mutex_);
    return things_;
  }
  // Calls `change` with whatever begins at `key` or, failing that, before it.
  template <class Change>
  void at(Key key, Change change) {
    std::lock_guard lock(mutex_);
    auto after = things_.upper_bound(key);
    if (after != things_.begin()) change(std::prev(after)->first, std::prev(after)->second);
  }

 private:
  mutable std::mutex mutex_;
  std::map<Key, Thing> things_;
};

struct Handle {
  int ordinal;
};

// Mappings of other processes' memory: the driver gives the same address for each opening, and counts them.
class Mappings {
 public:
  void add(CUdeviceptr base, int ordinal);
  bool take(CUdeviceptr base, int ordinal);
  std::map<CUdeviceptr, std::pair<int, size_t>> all() const;

 private:
  mutable std::mutex mutex_;
  std::map<CUdeviceptr, std::pair<int, size_t>> openings_;  // device and count
};

struct Held {
  HeldThings<CUdeviceptr, Allocation> allocations;
  Mappings mappings;
  HeldThings<CUstream, Handle> streams;
  HeldThings<CUevent, Handle> events;

  // Whether anything that is held lives in the device's context.
  bool any(int ordinal) const;
};

}  // namespace cuda_ipc
