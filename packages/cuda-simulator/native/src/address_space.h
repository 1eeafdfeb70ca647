// The device addresses of this process: what lies where, and which bytes a pointer and a size stand for.
#pragma once
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "cuda.h"
#include "storage.h"

namespace simulator {

class Context;

// Device addresses that belong together and were never given out otherwise.
class Reservation {
 public:
  explicit Reservation(uint64_t size, uint64_t alignment = kPage, uint64_t wanted = 0);
  CUdeviceptr base() const { return base_; }
  uint64_t size() const { return size_; }

 private:
  MappedBytes addresses_;
  CUdeviceptr base_ = 0;
  uint64_t size_ = 0;
};

// Memory at device addresses.
struct Range {
  CUdeviceptr base = 0;
  uint64_t size = 0;
  std::shared_ptr<Storage> storage;
  std::shared_ptr<Reservation> reservation;
  std::weak_ptr<Context> context;  // that it goes with; none for virtual and pool memory
  CUcontext contextHandle = nullptr;
  int device = 0;  // ordinal in this process
  uint64_t bufferId = 0;
  std::atomic<int> openings{0};  // of an IPC handle, in this context
  bool readOnly = false;     // virtual memory with read access only
  bool accessible = true;    // virtual memory isn't, before cuMemSetAccess
  std::atomic<bool> removed{false};  // no longer at its addresses
  std::atomic<bool> freeing{false};  // cuMemFreeAsync was called; the free itself waits in its stream
};

// A stretch of bytes of one allocation.
struct Piece {
  std::shared_ptr<Range> range;
  uint64_t offset;
  uint64_t size;
};

class AddressSpace {
 public:
  void add(std::shared_ptr<Range> range);
  // Takes out the range that starts at `base`; nothing if none does. Its addresses stay unused for a while, so that a
  // pointer to freed memory doesn't soon mean something else.
  std::shared_ptr<Range> remove(CUdeviceptr base);
  // The range in which `pointer` lies.
  std::shared_ptr<Range> find(CUdeviceptr pointer) const;
  std::vector<std::shared_ptr<Range>> all() const;

  // The bytes of [pointer, pointer + size): of one allocation, or of virtual memory mapped side by side in one
  // reservation. Throws CUDA_ERROR_INVALID_VALUE if it reaches beyond them, or isn't accessible.
  std::vector<Piece> resolve(CUdeviceptr pointer, uint64_t size, bool write) const;

 private:
  std::shared_ptr<Range> findLocked(CUdeviceptr pointer) const;
  mutable std::shared_mutex mutex_;
  std::map<CUdeviceptr, std::shared_ptr<Range>> ranges_;
  std::deque<std::shared_ptr<Reservation>> retired_;
  uint64_t nextBufferId_ = 1;
};

}  // namespace simulator
