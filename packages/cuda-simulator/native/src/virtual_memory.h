// Virtual memory: addresses that are reserved, and allocations that are mapped there.
// https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__VA.html
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "address_space.h"
#include "cuda.h"

namespace simulator {

constexpr uint64_t kGranularity = uint64_t{2} << 20;

class VirtualMemory {
 public:
  CUdeviceptr reserve(uint64_t size, uint64_t alignment, CUdeviceptr wanted);
  void freeReservation(CUdeviceptr base, uint64_t size);

  CUmemGenericAllocationHandle create(int device, uint64_t size, bool exportable);
  CUmemGenericAllocationHandle import(int fd);
  int exportFd(CUmemGenericAllocationHandle handle);
  void release(CUmemGenericAllocationHandle handle);
  CUmemGenericAllocationHandle retain(CUdeviceptr pointer);
  std::shared_ptr<Storage> allocation(CUmemGenericAllocationHandle handle);
  bool exportable(const Storage& storage);

  void map(CUdeviceptr pointer, uint64_t size, CUmemGenericAllocationHandle handle);
  void unmap(CUdeviceptr pointer, uint64_t size);
  void setAccess(CUdeviceptr pointer, uint64_t size, CUmemAccess_flags flags);

  struct Reserved {
    CUdeviceptr base;
    uint64_t size;
  };
  std::vector<Reserved> reservations();

 private:
  std::shared_ptr<Reservation> reservationAround(CUdeviceptr pointer, uint64_t size);
  std::vector<std::shared_ptr<Range>> exactly(CUdeviceptr pointer, uint64_t size);
  std::mutex mutex_;
  std::map<CUdeviceptr, std::shared_ptr<Reservation>> reservations_;
  std::map<uint64_t, std::weak_ptr<Storage>> storages_;  // by the allocation's id: one alias each, however often imported
  std::map<uint64_t, int> handles_;                      // references by handle
  std::set<uint64_t> exportable_;                        // ids
};

}  // namespace simulator
