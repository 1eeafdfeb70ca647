#include "machine.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "machine_locked.h"
#include "trace.h"

namespace simulator {
namespace {

std::string mebibytes(uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

// Why the shared memory can't hold the configured devices; empty if it can. Asked before anything is written, since a
// full /dev/shm would otherwise show as a crash, in the middle of whatever touches the page that isn't there.
std::string shortage(const Config& config) {
  struct statvfs status {};
  if (statvfs(config.shmFolder.c_str(), &status) != 0) return config.shmFolder + " isn't there";
  uint64_t devices = static_cast<uint64_t>(config.devices.value_or(kDefaultDevices));
  uint64_t needed = devices * wholePages(config.memory.value_or(kDefaultMemory)) + wholePages(sizeof(MachineState));
  uint64_t total = uint64_t{status.f_blocks} * status.f_frsize;
  uint64_t free = uint64_t{status.f_bavail} * status.f_frsize;
  if (total == 0 || free >= needed) return "";  // 0: a tmpfs without a limit
  return config.shmFolder + " has " + mebibytes(free) + " free of " + mebibytes(total) + ", and " +
         std::to_string(devices) + " device(s) of " + mebibytes(config.memory.value_or(kDefaultMemory)) + " need " +
         mebibytes(needed) + ": enlarge it (for a container: --shm-size) or set CUDA_SIMULATOR_MEMORY";
}

bool sameFile(const File& file, const std::string& path) {
  struct stat opened {}, named {};
  return fstat(file.get(), &opened) == 0 && stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino;
}

}  // namespace

std::unique_ptr<Machine> Machine::join(const Config& config, std::string& problem) {
  clearUpDeadMachines(config);
  std::unique_ptr<Machine> machine(new Machine);  // the constructor is private
  machine->name_ = machineFile(config);
  if (access(machine->name_.c_str(), F_OK) != 0) {
    problem = shortage(config);
    if (!problem.empty()) return nullptr;
  }
  do {  // again if the last process left between our opening the file and our having the lock
    machine->file_ = File(open(machine->name_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!machine->file_ || !lockByte(machine->file_, kTablesByte)) {
      problem = "can't open and lock " + machine->name_ + " (errno " + std::to_string(errno) + ")";
      return nullptr;
    }
  } while (!sameFile(machine->file_, machine->name_));
  bool joined = machine->setUp(config, problem);
  unlockByte(machine->file_, kTablesByte);
  if (!joined) return nullptr;
  return machine;
}

bool Machine::setUp(const Config& config, std::string& problem) {
  bool first = !othersLock(file_, 0, kMostProcesses);
  if (first) {
    unlinkAllocations(name_);
    problem = shortage(config);
    if (problem.empty() && (ftruncate(file_.get(), 0) != 0 ||
                            posix_fallocate(file_.get(), 0, static_cast<off_t>(sizeof(MachineState))) != 0)) {
      problem = "can't write " + name_;
    }
    if (!problem.empty()) {
      unlink(name_.c_str());
      return false;
    }
  }
  const std::string foreign = "the machine " + name_ + " belongs to another version of the simulator; set CUDA_SIMULATOR_MACHINE";
  if (!holdsState(file_)) {
    problem = foreign;
    return false;
  }
  // By an open file of its own: a forked child inherits mappings, and they would keep `file_`, and its locks, from being
  // let go of when this process is killed.
  File forMapping(open(name_.c_str(), O_RDWR | O_CLOEXEC));
  if (forMapping) mapping_ = MappedBytes::shared(forMapping, sizeof(MachineState));
  if (!mapping_) {
    problem = "can't map " + name_;
    return false;
  }
  state_ = reinterpret_cast<MachineState*>(mapping_.bytes());
  if (first) {
    state_->devices = config.devices.value_or(kDefaultDevices);
    state_->memory = wholePages(config.memory.value_or(kDefaultMemory));
    state_->secret = randomNumber();
    state_->nextId = 1;
    state_->magic.store(kStateMagic);
  } else if (state_->magic.load() != kStateMagic) {
    problem = foreign;
    return false;
  }
  if (config.devices.value_or(state_->devices) != state_->devices ||
      wholePages(config.memory.value_or(state_->memory)) != state_->memory) {
    problem = "the machine " + name_ + " is running with " + std::to_string(state_->devices) + " device(s) of " +
              mebibytes(state_->memory) + ", not with what this process is told; set CUDA_SIMULATOR_MACHINE";
    return false;
  }
  if (!first) buryDead();
  if (!takeSlot()) {
    problem = "the machine " + name_ + " has as many processes as it can";
    return false;
  }
  state_->processes[slot_].pid = getpid();
  state_->processes[slot_].pidNamespace = static_cast<uint32_t>(hashOf(config.pidNamespace));
  return true;
}

bool Machine::takeSlot() {
  for (int slot = 0; slot < kMostProcesses; ++slot) {
    if (state_->processes[slot].pid == 0 && tryLockByte(file_, slot)) {
      slot_ = slot;
      return true;
    }
  }
  return false;
}

void Machine::forget() { file_ = File(); }

void Machine::sweep() {
  Locked locked(*this);
  if (!left_) buryDead();
}

void Machine::buryDead() {
  for (int process = 0; process < kMostProcesses; ++process) {
    if (process == slot_ || state_->processes[process].pid == 0) continue;
    if (!othersLock(file_, process, 1)) bury(process);
  }
  for (int slot = 0; slot < state_->allocationsEnd; ++slot) {
    // One that an exported file descriptor held, or whose last user died just before it could do this.
    if (state_->allocations[slot].freed != 0) discardIfUnused(slot);
  }
}

void Machine::recount() {
  for (uint64_t& used : state_->used) used = 0;
  for (int slot = 0; slot < state_->allocationsEnd; ++slot) {
    const AllocationRecord& record = state_->allocations[slot];
    if (record.id != 0) state_->used[record.device] += wholePages(record.size);
  }
}

void Machine::bury(int process) {
  for (int slot = 0; slot < state_->allocationsEnd; ++slot) {
    AllocationRecord& record = state_->allocations[slot];
    if (record.id != 0 && record.process == process && record.freed == 0) letGo(slot, false);
  }
  for (int slot = 0; slot < state_->mappingsEnd; ++slot) {
    if (state_->mappings[slot].process == process) dropMapping(state_->mappings[slot].allocation, process);
  }
  for (int slot = 0; slot < state_->eventsEnd; ++slot) {
    EventRecord& record = state_->events[slot];
    if (record.id == 0) continue;
    // The work before it ended with the process, so that no one waits for it forever.
    if (record.recorders.load() == static_cast<uint32_t>(process) + 1) record.completed.store(record.recorded.load());
    record.openers[process / 8] &= static_cast<uint8_t>(~(1u << (process % 8)));
    if (record.process == process) record.destroyed = 1;
    bool opened = false;
    for (uint8_t bits : record.openers) opened = opened || bits != 0;
    if (record.destroyed != 0 && !opened) record.id = 0;
  }
  state_->processes[process].pid = 0;
}

void Machine::leave() {
  Locked locked(*this);
  if (left_) return;
  left_ = true;
  for (int slot = 0; slot < state_->allocationsEnd; ++slot) {
    AllocationRecord& record = state_->allocations[slot];
    if (record.id == 0 || record.process != slot_ || record.freed != 0) continue;
    if (mapped(slot, slot_)) {
      recordHazard(*this, "the process ends while another maps its memory", {slot, record.id, {}}, record.size);
    }
  }
  bury(slot_);
  unlockByte(file_, slot_);
  buryDead();
  if (!othersLock(file_, 0, kMostProcesses)) {
    unlinkAllocations(name_);
    unlink(name_.c_str());
  }
}

uint64_t Machine::used(int device) {
  Locked locked(*this);
  return state_->used[device];
}

void recordHazard(Machine& machine, const char* what, const SharedName& name, uint64_t size) {
  machine.countHazard();
  TraceLine("hazard").text("what", what).number("allocation", name.id).number("bytes", size).write();
}

}  // namespace simulator
