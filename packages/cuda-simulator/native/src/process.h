// The driver in this process: what cuInit sets up, and all that it has handed out since.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "address_space.h"
#include "context.h"
#include "event.h"
#include "handles.h"
#include "host_memory.h"
#include "machine.h"
#include "pool.h"
#include "schedule.h"
#include "virtual_memory.h"

namespace simulator {

// A device that CUDA_VISIBLE_DEVICES lets this process see.
struct Device {
  int index;  // on the machine
  CUuuid uuid;
};

class Process {
 public:
  static Process& instance();

  // cuInit: joins the machine. Once it has failed it keeps failing.
  CUresult initialize();

  // Throws what a call gets before cuInit, in a forked child, and while the process ends.
  void checkUsable() const;

  Machine& machine() { return *machine_; }
  const std::vector<Device>& devices() const { return devices_; }
  const Device& device(int ordinal) const;  // throws CUDA_ERROR_INVALID_DEVICE
  int ordinal(int index) const;             // of the device with that index on the machine; -1 if it isn't visible

  // Lets go of an allocation. If another process has it mapped, that is a hazard: recorded, or in strict mode an error,
  // CUDA_ERROR_ILLEGAL_STATE, and the allocation stays.
  void freeStorage(Storage& storage, bool mayRefuse = false);

  Handles<Context, CUcontext> contexts{0x51};
  Handles<Stream, CUstream> streams{0x52};
  Handles<Event, CUevent> events{0x53};
  Handles<Pool, CUmemoryPool> pools{0x54};
  Handles<Storage, CUmemGenericAllocationHandle> allocations{0x55};
  AddressSpace addresses;
  HostMemory host;
  VirtualMemory virtualMemory;
  Schedule schedule;
  PrimaryContexts primaries;
  DefaultPools defaultPools;

 private:
  friend class Ending;
  void end();
  void reportLeaks();
  CUresult joinMachine();
  void prepareForFork();

  std::mutex initializing_;
  std::atomic<int> state_{CUDA_ERROR_NOT_INITIALIZED};  // CUDA_SUCCESS once usable, else what calls return
  bool tried_ = false;
  CUresult outcome_ = CUDA_SUCCESS;
  std::unique_ptr<Machine> machine_;
  std::vector<Device> devices_;
};

}  // namespace simulator
