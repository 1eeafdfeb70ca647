#include "process.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>

#include "faults.h"
#include "lasting.h"
#include "trace.h"
#include "visible_devices.h"

namespace simulator {
namespace {

void say(const std::string& problem) { std::fprintf(stderr, "cuda-simulator: %s\n", problem.c_str()); }

}  // namespace

Process& Process::instance() {
  static const Lasting<Process> once;
  return *once;
}

void Process::prepareForFork() {
  // "CUDA isn't fork-safe": the child can't use it (https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html
  // #multi-process-service, and what every driver does: CUDA_ERROR_NOT_INITIALIZED).
  pthread_atfork(nullptr, nullptr, [] {
    Process& process = instance();
    if (process.state_.load() != CUDA_SUCCESS) return;
    process.state_ = CUDA_ERROR_NOT_INITIALIZED;
    process.machine_->forget();
  });
}

CUresult Process::initialize() {
  int state = state_.load();
  if (state == CUDA_SUCCESS || state == CUDA_ERROR_DEINITIALIZED) return static_cast<CUresult>(state);
  std::lock_guard lock(initializing_);
  if (tried_) return outcome_ == CUDA_SUCCESS && state_.load() != CUDA_SUCCESS ? CUDA_ERROR_NOT_INITIALIZED : outcome_;
  tried_ = true;
  outcome_ = joinMachine();
  if (outcome_ == CUDA_SUCCESS) state_ = CUDA_SUCCESS;
  return outcome_;
}

CUresult Process::joinMachine() {
  const Config& settings = config();
  std::string problem = settings.problem.empty() ? Faults::configured().problem() : settings.problem;
  if (problem.empty()) machine_ = Machine::join(settings, problem);
  if (!machine_) {
    say(problem);
    return CUDA_ERROR_SYSTEM_NOT_READY;
  }
  for (int index : visibleDevices(settings.visible, machine_->name(), machine_->devices())) {
    devices_.push_back({index, deviceUuid(machine_->name(), index)});
  }
  if (devices_.empty()) {
    machine_->leave();
    return CUDA_ERROR_NO_DEVICE;
  }
  prepareForFork();
  TraceLine("begin").text("machine", machine_->name()).number("devices", devices_.size()).write();
  return CUDA_SUCCESS;
}

void Process::checkUsable() const {
  int state = state_.load(std::memory_order_acquire);
  if (state != CUDA_SUCCESS) throw Failure(static_cast<CUresult>(state));
}

const Device& Process::device(int ordinal) const {
  require(ordinal >= 0 && ordinal < static_cast<int>(devices_.size()), CUDA_ERROR_INVALID_DEVICE);
  return devices_[static_cast<size_t>(ordinal)];
}

int Process::ordinal(int index) const {
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i].index == index) return static_cast<int>(i);
  }
  return -1;
}

void Process::freeStorage(Storage& storage, bool mayRefuse) {
  Release result = storage.release(mayRefuse && config().strict);
  if (result == Release::kDone) return;
  const char* what = "memory is freed while another process has it mapped";
  recordHazard(*machine_, what, storage.name(), storage.size());
  if (!config().strict) return;
  say(std::string(what) + " (allocation " + std::to_string(storage.name().id) + ")");
  require(result != Release::kRefused, CUDA_ERROR_ILLEGAL_STATE);
}

void Process::reportLeaks() {
  uint64_t count = 0, bytes = 0;
  auto leak = [&](const char* kind, uint64_t where, uint64_t size) {
    ++count;
    bytes += size;
    TraceLine("leak").text("kind", kind).address("pointer", where).number("bytes", size).write();
    if (config().leaks) {
      std::fprintf(stderr, "cuda-simulator: leak: %s 0x%llx, %llu bytes\n", kind, static_cast<unsigned long long>(where),
                   static_cast<unsigned long long>(size));
    }
  };
  for (const auto& range : addresses.all()) {
    MemoryKind kind = range->storage->kind();
    const char* name = range->openings > 0                ? "ipc mapping"
                       : kind == MemoryKind::kPlain       ? "memory"
                       : kind == MemoryKind::kPool        ? "pool memory"
                                                          : "virtual mapping";
    leak(name, range->base, range->size);
  }
  for (const auto& [handle, storage] : allocations.all()) leak("virtual allocation", handle, storage->size());
  for (const auto& reservation : virtualMemory.reservations()) leak("address reservation", reservation.base, 0);
  for (const auto& block : host.all()) {
    leak(block->registered() ? "registered host memory" : "host memory", block->address(), block->size());
  }
  for (const auto& entry : streams.all()) leak("stream", reinterpret_cast<uint64_t>(entry.first), 0);
  for (const auto& entry : events.all()) leak("event", reinterpret_cast<uint64_t>(entry.first), 0);
  if (count > 0 && config().leaks) {
    std::fprintf(stderr, "cuda-simulator: process %d ended with %llu leak(s), %llu bytes\n", getpid(),
                 static_cast<unsigned long long>(count), static_cast<unsigned long long>(bytes));
  }
  TraceLine("end").number("leaks", count).number("leakedBytes", bytes).write();
}

void Process::end() {
  int usable = CUDA_SUCCESS;
  if (!state_.compare_exchange_strong(usable, CUDA_ERROR_DEINITIALIZED)) return;  // never joined, or a forked child
  reportLeaks();
  machine_->leave();
}

// Runs after the program's own exit handlers and static objects have had their chance to free what they own.
class Ending {
 public:
  static void run() { Process::instance().end(); }
};

__attribute__((destructor)) void whenTheProcessEnds() { Ending::run(); }

}  // namespace simulator
