// Devices: what they are, their primary contexts, and the streams on which native threads have them work.
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "library.h"

namespace cuda_ipc {

struct Held;

struct DeviceInfo {
  int ordinal;
  std::string uuid;  // lower case with hyphens
  std::string name;
  size_t totalMemory;
  std::string pciBusId;
  bool mig;
  int major, minor;
  bool virtualMemory, memoryPools;
};

// All that this process sees. Throws a Failure.
std::vector<DeviceInfo> devicesOf(const Library& library);

// The devices' primary contexts, each retained by this environment when it is first used. They are what the CUDA runtime
// and other libraries of the process use, too.
class Contexts {
 public:
  explicit Contexts(const Library& library) : library_(library) {}
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;

  // Throws a Failure.
  CUcontext of(int ordinal);
  // Those that nothing is left in: a last release would take the rest along.
  void releaseUnused(const Held& held);
  const Library& library() const { return library_; }

 private:
  const Library& library_;
  std::mutex mutex_;
  std::map<int, CUcontext> retained_;
};

// Makes a context the current one of this thread, for as long as this lives.
class CurrentContext {
 public:
  CurrentContext(const Library& library, CUcontext context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const Library& library_;
};

// A native thread's own stream of one device, and an event to let it wait for others.
class OwnStream {
 public:
  OwnStream(Contexts& contexts, int ordinal);
  ~OwnStream();
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

  CUstream stream() const { return stream_; }
  CUevent event() const { return event_; }

 private:
  const Library& library_;
  CUcontext context_;
  CUstream stream_ = nullptr;
  CUevent event_ = nullptr;
};

}  // namespace cuda_ipc
