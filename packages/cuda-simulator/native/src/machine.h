// What the processes on one simulated machine share, and this process's part in it. Its tables lie in POSIX shared memory
// and outlive any process that is killed; whoever changes them next clears up after the dead.
#pragma once
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "machine_files.h"
#include "machine_state.h"

namespace simulator {

using Secret = std::array<uint8_t, 16>;

// Names an allocation or an interprocess event across processes.
struct SharedName {
  int slot = -1;
  uint64_t id = 0;
  Secret secret{};
};

enum class Release {
  kDone,             // no one else had it mapped
  kMappedElsewhere,  // its bytes are poison now, for those that still map it
  kRefused,          // mapped elsewhere, and asked not to free in that case
};

class Machine {
 public:
  // Joins the machine that the configuration names, or sets it up. Without one, `problem` says what to do about it, and
  // nothing was changed.
  static std::unique_ptr<Machine> join(const Config& config, std::string& problem);

  // Leaves; the last to leave removes everything. Later calls do nothing.
  void leave();

  // In a forked child: lets go of the parent's locks, so that its death is noticed even while the child lives.
  void forget();

  int devices() const { return state_->devices; }
  uint64_t memory() const { return state_->memory; }
  uint64_t secret() const { return state_->secret; }
  const std::string& name() const { return name_; }
  int slot() const { return slot_; }
  uint64_t used(int device);
  void countHazard() { state_->hazards.fetch_add(1); }

  // An allocation of this process, charged to its device; nothing if the device hasn't that much left. Its file is to be
  // made by openAllocation.
  std::optional<SharedName> allocate(int device, uint64_t size, MemoryKind kind);
  File openAllocation(const SharedName& allocation, bool create);
  void confirm(const SharedName& allocation, uint64_t inode);
  Release release(const SharedName& allocation, bool unlessMapped);

  struct Found {
    SharedName name;
    int device;
    uint64_t size;
    MemoryKind kind;
    bool own;
  };
  // One more mapping by this process, if the allocation is there and not freed.
  std::optional<Found> map(const SharedName& allocation);
  // The same for the allocation that a file descriptor was exported from; one of this process's own isn't counted.
  std::optional<Found> mapFile(uint64_t inode);
  void unmap(const SharedName& allocation);

  // A file descriptor for another process, which keeps the allocation for as long as any copy of it is open.
  File exportFile(const SharedName& allocation);

  std::optional<SharedName> createEvent(int device);
  std::optional<SharedName> openEvent(const SharedName& event, int& device);
  void closeEvent(const SharedName& event, bool owned);
  EventRecord& event(const SharedName& event) { return state_->events[event.slot]; }

  // Buries processes that have died since.
  void sweep();

 private:
  class Locked;
  Machine() = default;
  bool setUp(const Config& config, std::string& problem);
  bool takeSlot();
  void buryDead();
  void recount();
  void bury(int process);
  bool mapped(int allocation, int exceptProcess) const;
  Release letGo(int allocation, bool unlessMapped);
  void discardIfUnused(int allocation);
  void poison(const AllocationRecord& record) const;
  void dropMapping(int allocation, int process);

  std::string name_;  // path of the control segment
  File file_;
  MappedBytes mapping_;
  MachineState* state_ = nullptr;
  int slot_ = -1;
  bool left_ = false;
  std::mutex mutex_;  // the file's lock is this process's, not a thread's
};

// Records something that CUDA leaves undefined and this program did: in the trace, and in the machine's count.
void recordHazard(Machine& machine, const char* what, const SharedName& name, uint64_t size);

}  // namespace simulator
