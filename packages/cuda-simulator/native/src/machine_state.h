// The layout of a simulated machine's control segment: what its processes share about devices, allocations, mappings and
// interprocess events. `cuda-simulator-status` reads the same.
//
// Files, in /dev/shm:  cuda-simulator.UID.MACHINE        the control segment
//                      cuda-simulator.UID.MACHINE.ID     the bytes of allocation ID
// MACHINE is CUDA_SIMULATOR_MACHINE, with "+HOST" behind it if CUDA_SIMULATOR_HOST is set: another simulated host is
// another machine, with devices of its own.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace simulator {

constexpr uint32_t kStateMagic = 0x43534d31;  // "CSM1": one more for each change of the layout
constexpr int kMostDevices = 16;
constexpr int kMostProcesses = 256;
constexpr int kMostAllocations = 16384;
constexpr int kMostMappings = 16384;
constexpr int kMostEvents = 2048;

// Byte ranges of the control segment's file that processes lock (fcntl's open file description locks). The kernel lets go
// of them when a process dies, however it dies, and they mean the same in every PID namespace, unlike a pid: a process is
// alive as long as the byte of its slot is locked.
constexpr off_t kTablesByte = 1 << 20;

struct ProcessRecord {
  int32_t pid;  // 0 for a slot that is free; for people to read, never to judge whether it lives
  uint32_t pidNamespace;
};

enum class MemoryKind : uint32_t { kPlain = 1, kVirtual = 2, kPool = 3 };

// An allocation, which counts against its device's memory until its owner has freed it and no one has it mapped.
struct AllocationRecord {
  uint64_t id;      // 0 for a slot that is free
  uint64_t size;    // as asked for
  uint64_t inode;   // of its file, so that an imported file descriptor can be recognized; 0 until the file is there
  int32_t process;  // the owner's slot
  int32_t device;
  MemoryKind kind;
  uint32_t freed;     // its owner has let go
  uint32_t exported;  // as a file descriptor, which may hold it
  uint32_t padding;
  uint8_t secret[16];  // part of its IPC handles, so that none can be made up
};

struct MappingRecord {
  int32_t allocation;  // a slot
  int32_t process;     // -1 for a slot that is free
};

// An interprocess event. A wait is for the recording that was the latest when the wait was asked for.
struct EventRecord {
  uint64_t id;  // 0 for a slot that is free
  int32_t process;
  int32_t device;
  uint8_t secret[16];
  uint8_t openers[kMostProcesses / 8];  // one bit a process
  uint32_t destroyed;                   // by its owner
  std::atomic<uint32_t> recorders;      // the last process that recorded it, plus one
  std::atomic<uint64_t> recorded;       // recordings so far
  std::atomic<uint64_t> completed;      // up to which recording work is complete
  std::atomic<uint64_t> wanted;         // up to which recording something waits, so that delayed work is hurried on
};

struct MachineState {
  std::atomic<uint32_t> magic;
  int32_t devices;
  int32_t lockHolder;  // the slot, plus one, of who changes the tables; not 0 after the lock was had: that one died at it
  uint64_t memory;     // bytes of each device
  uint64_t secret;     // tells this machine's handles from those of one of the same name before it
  uint64_t nextId;
  std::atomic<uint64_t> hazards;
  uint64_t used[kMostDevices];
  int32_t allocationsEnd, mappingsEnd, eventsEnd;  // no slot at or behind it was ever used
  ProcessRecord processes[kMostProcesses];
  AllocationRecord allocations[kMostAllocations];
  MappingRecord mappings[kMostMappings];
  EventRecord events[kMostEvents];
};

// What an allocation takes of its device: whole pages, as its file does.
constexpr uint64_t kPage = 4096;
constexpr uint64_t wholePages(uint64_t size) { return (size + kPage - 1) / kPage * kPage; }

// What freed device memory reads as, and memory that was never written.
constexpr unsigned char kFreedByte = 0xDB;
constexpr unsigned char kFreshByte = 0xCD;

}  // namespace simulator
