// Prints, as JSON, what a simulated machine holds: devices and the bytes in use on each, processes, allocations and who has
// them mapped, interprocess events, hazards. It looks from outside: it joins nothing and changes nothing.
//
//   cuda-simulator-status [MACHINE]      MACHINE is CUDA_SIMULATOR_MACHINE's value, by default this environment's
//   cuda-simulator-status --clear        removes what machines left whose processes were all killed, as the next start does
#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "../src/machine_files.h"
#include "../src/visible_devices.h"

using namespace simulator;

namespace {

const char* kindName(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kPlain: return "plain";
    case MemoryKind::kVirtual: return "virtual";
    case MemoryKind::kPool: return "pool";
  }
  return "unknown";
}

void print(const MachineState& state, const std::string& path, const File& file) {
  std::printf("{\"machine\":\"%s\",\"hazards\":%" PRIu64 ",\"devices\":[", path.c_str(), state.hazards.load());
  for (int i = 0; i < state.devices; ++i) {
    std::printf("%s{\"index\":%d,\"uuid\":\"%s\",\"memory\":%" PRIu64 ",\"used\":%" PRIu64 "}", i > 0 ? "," : "", i,
                uuidText(deviceUuid(path, i)).c_str(), state.memory, state.used[i]);
  }
  std::printf("],\"processes\":[");
  const char* comma = "";
  for (int i = 0; i < kMostProcesses; ++i) {
    if (state.processes[i].pid == 0) continue;
    bool alive = othersLock(file, i, 1);
    std::printf("%s{\"slot\":%d,\"pid\":%d,\"alive\":%s}", comma, i, state.processes[i].pid, alive ? "true" : "false");
    comma = ",";
  }
  std::printf("],\"allocations\":[");
  comma = "";
  for (int i = 0; i < state.allocationsEnd; ++i) {
    const AllocationRecord& record = state.allocations[i];
    if (record.id == 0) continue;
    std::printf("%s{\"id\":%" PRIu64 ",\"device\":%d,\"bytes\":%" PRIu64 ",\"kind\":\"%s\",\"owner\":%d,\"freed\":%s,\"mappedBy\":[",
                comma, record.id, record.device, record.size, kindName(record.kind), state.processes[record.process].pid,
                record.freed != 0 ? "true" : "false");
    comma = "";
    for (int m = 0; m < state.mappingsEnd; ++m) {
      const MappingRecord& mapping = state.mappings[m];
      if (mapping.process < 0 || mapping.allocation != i) continue;
      std::printf("%s%d", comma, state.processes[mapping.process].pid);
      comma = ",";
    }
    std::printf("]}");
    comma = ",";
  }
  int events = 0;
  for (int i = 0; i < state.eventsEnd; ++i) events += state.events[i].id != 0 ? 1 : 0;
  std::printf("],\"events\":%d}\n", events);
}

int isForeign(const std::string& path) {
  std::fprintf(stderr, "cuda-simulator: %s belongs to another version of the simulator\n", path.c_str());
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  Config settings = config();
  if (count > 1 && std::strcmp(arguments[1], "--clear") == 0) {
    clearUpDeadMachines(settings);
    return 0;
  }
  if (count > 1) settings.machine = arguments[1];
  std::string path = machineFile(settings);
  File file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  // One that is empty is being made; the lock on it belongs to whoever makes it.
  if (!file || isEmpty(file)) {
    std::printf("{\"machine\":\"%s\",\"running\":false}\n", path.c_str());
    return 1;
  }
  if (!holdsState(file)) return isForeign(path);
  if (!lockByte(file, kTablesByte)) return 2;
  if (!holdsState(file)) return isForeign(path);
  MappedBytes bytes = MappedBytes::shared(file, sizeof(MachineState));
  if (!bytes) return 2;
  const auto* state = reinterpret_cast<const MachineState*>(bytes.bytes());
  if (state->magic.load() != kStateMagic) return isForeign(path);
  print(*state, path, file);
  return 0;
}
