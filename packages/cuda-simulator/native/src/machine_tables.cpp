// The tables of a machine: allocations, mappings, interprocess events. Each change is ordered so that a process that dies
// in the middle of it leaves a table that bury() can clear up.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "machine.h"
#include "machine_locked.h"

namespace simulator {
namespace {

Secret newSecret() {
  Secret secret;
  for (size_t at = 0; at < secret.size(); at += sizeof(uint64_t)) {
    uint64_t part = randomNumber();
    std::memcpy(secret.data() + at, &part, sizeof part);
  }
  return secret;
}

// The first slot for which `isFree` holds, below `end` or, if there is room, at it; -1 if there is none.
template <class IsFree>
int freeSlot(int32_t& end, int most, IsFree isFree) {
  for (int slot = 0; slot < end; ++slot) {
    if (isFree(slot)) return slot;
  }
  return end < most ? end++ : -1;
}

}  // namespace

std::optional<SharedName> Machine::allocate(int device, uint64_t size, MemoryKind kind) {
  Locked locked(*this);
  if (left_) return std::nullopt;
  buryDead();
  uint64_t charged = wholePages(size);
  if (size > state_->memory || state_->used[device] + charged > state_->memory) return std::nullopt;
  int slot = freeSlot(state_->allocationsEnd, kMostAllocations, [&](int i) { return state_->allocations[i].id == 0; });
  if (slot < 0) return std::nullopt;
  SharedName name{slot, state_->nextId++, newSecret()};
  AllocationRecord& record = state_->allocations[slot];
  record = AllocationRecord{};
  record.size = size;
  record.process = slot_;
  record.device = device;
  record.kind = kind;
  std::memcpy(record.secret, name.secret.data(), name.secret.size());
  state_->used[device] += charged;
  record.id = name.id;
  return name;
}

File Machine::openAllocation(const SharedName& allocation, bool create) {
  int flags = O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0);
  return File(open(allocationFile(name_, allocation.id).c_str(), flags, 0600));
}

void Machine::confirm(const SharedName& allocation, uint64_t inode) {
  Locked locked(*this);
  state_->allocations[allocation.slot].inode = inode;
}

Release Machine::release(const SharedName& allocation, bool unlessMapped) {
  Locked locked(*this);
  if (left_) return Release::kDone;
  buryDead();
  if (state_->allocations[allocation.slot].id != allocation.id) return Release::kDone;
  return letGo(allocation.slot, unlessMapped);
}

bool Machine::mapped(int allocation, int exceptProcess) const {
  for (int slot = 0; slot < state_->mappingsEnd; ++slot) {
    const MappingRecord& mapping = state_->mappings[slot];
    if (mapping.process >= 0 && mapping.allocation == allocation && mapping.process != exceptProcess) return true;
  }
  return false;
}

Release Machine::letGo(int allocation, bool unlessMapped) {
  AllocationRecord& record = state_->allocations[allocation];
  bool elsewhere = mapped(allocation, record.process);
  // Virtual memory is shared property: it lives until the last process has let go of it.
  bool shared = record.kind == MemoryKind::kVirtual;
  if (elsewhere && unlessMapped && !shared) return Release::kRefused;
  record.freed = 1;
  if (elsewhere && !shared) poison(record);
  discardIfUnused(allocation);
  return elsewhere && !shared ? Release::kMappedElsewhere : Release::kDone;
}

void Machine::discardIfUnused(int allocation) {
  AllocationRecord& record = state_->allocations[allocation];
  if (record.id == 0 || record.freed == 0 || mapped(allocation, -1)) return;
  if (record.exported != 0) {
    File file = openAllocation({allocation, record.id, {}}, false);
    if (file && othersLock(file, 0, 1)) return;
  }
  unlink(allocationFile(name_, record.id).c_str());
  state_->used[record.device] -= wholePages(record.size);
  record.id = 0;
}

void Machine::poison(const AllocationRecord& record) const {
  File file(open(allocationFile(name_, record.id).c_str(), O_RDWR | O_CLOEXEC));
  if (!file) return;
  MappedBytes bytes = MappedBytes::shared(file, wholePages(record.size));
  if (bytes) std::memset(bytes.bytes(), kFreedByte, bytes.size());
}

std::optional<Machine::Found> Machine::map(const SharedName& allocation) {
  Locked locked(*this);
  if (left_) return std::nullopt;
  buryDead();
  if (allocation.slot < 0 || allocation.slot >= state_->allocationsEnd) return std::nullopt;
  const AllocationRecord& record = state_->allocations[allocation.slot];
  bool right = record.id == allocation.id && record.inode != 0 && record.freed == 0 &&
               std::memcmp(record.secret, allocation.secret.data(), allocation.secret.size()) == 0;
  if (!right) return std::nullopt;
  Found found{allocation, record.device, record.size, record.kind, record.process == slot_};
  if (found.own) return found;
  int slot = freeSlot(state_->mappingsEnd, kMostMappings, [&](int i) { return state_->mappings[i].process < 0; });
  if (slot < 0) return std::nullopt;
  state_->mappings[slot].allocation = allocation.slot;
  state_->mappings[slot].process = slot_;
  return found;
}

std::optional<Machine::Found> Machine::mapFile(uint64_t inode) {
  Locked locked(*this);
  if (left_) return std::nullopt;
  buryDead();
  for (int i = 0; i < state_->allocationsEnd; ++i) {
    const AllocationRecord& record = state_->allocations[i];
    if (record.id == 0 || record.inode != inode || record.exported == 0) continue;
    Found found{{i, record.id, {}}, record.device, record.size, record.kind, record.process == slot_ && record.freed == 0};
    if (found.own) return found;
    int slot = freeSlot(state_->mappingsEnd, kMostMappings, [&](int m) { return state_->mappings[m].process < 0; });
    if (slot < 0) return std::nullopt;
    state_->mappings[slot].allocation = i;
    state_->mappings[slot].process = slot_;
    return found;
  }
  return std::nullopt;
}

void Machine::unmap(const SharedName& allocation) {
  Locked locked(*this);
  if (left_) return;
  dropMapping(allocation.slot, slot_);
}

void Machine::dropMapping(int allocation, int process) {
  for (int slot = 0; slot < state_->mappingsEnd; ++slot) {
    MappingRecord& mapping = state_->mappings[slot];
    if (mapping.process != process || mapping.allocation != allocation) continue;
    mapping.process = -1;
    discardIfUnused(allocation);
    return;
  }
}

File Machine::exportFile(const SharedName& allocation) {
  Locked locked(*this);
  if (left_) return File();
  File file = openAllocation(allocation, false);
  if (!file || !tryLockByte(file, 0, true)) return File();
  state_->allocations[allocation.slot].exported = 1;
  return file;
}

std::optional<SharedName> Machine::createEvent(int device) {
  Locked locked(*this);
  if (left_) return std::nullopt;
  int slot = freeSlot(state_->eventsEnd, kMostEvents, [&](int i) { return state_->events[i].id == 0; });
  if (slot < 0) return std::nullopt;
  SharedName name{slot, state_->nextId++, newSecret()};
  EventRecord& record = state_->events[slot];
  std::memset(record.openers, 0, sizeof record.openers);
  std::memcpy(record.secret, name.secret.data(), name.secret.size());
  record.process = slot_;
  record.device = device;
  record.destroyed = 0;
  record.recorders = 0;
  record.recorded = 0;
  record.completed = 0;
  record.wanted = 0;
  record.id = name.id;
  return name;
}

std::optional<SharedName> Machine::openEvent(const SharedName& event, int& device) {
  Locked locked(*this);
  if (left_) return std::nullopt;
  buryDead();
  if (event.slot < 0 || event.slot >= state_->eventsEnd) return std::nullopt;
  EventRecord& record = state_->events[event.slot];
  bool right = record.id == event.id && record.destroyed == 0 &&
               std::memcmp(record.secret, event.secret.data(), event.secret.size()) == 0;
  if (!right) return std::nullopt;
  record.openers[slot_ / 8] |= static_cast<uint8_t>(1u << (slot_ % 8));
  device = record.device;
  return event;
}

void Machine::closeEvent(const SharedName& event, bool owned) {
  Locked locked(*this);
  if (left_) return;
  EventRecord& record = state_->events[event.slot];
  if (record.id != event.id) return;
  if (owned) record.destroyed = 1;
  else record.openers[slot_ / 8] &= static_cast<uint8_t>(~(1u << (slot_ % 8)));
  bool opened = false;
  for (uint8_t bits : record.openers) opened = opened || bits != 0;
  if (owned && opened) recordHazard(*this, "an event is destroyed while another process has it open", event, 0);
  if (record.destroyed != 0 && !opened) record.id = 0;
}

}  // namespace simulator
