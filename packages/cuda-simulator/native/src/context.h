// Contexts, and which of them is current to which thread.
// https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html, group__CUDA__PRIMARY__CTX.html
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "errors.h"
#include "schedule.h"

namespace simulator {

class Context : public std::enable_shared_from_this<Context> {
 public:
  static std::shared_ptr<Context> create(int device, unsigned flags, bool primary);

  CUcontext handle = nullptr;
  const int device;  // ordinal
  const bool primary;
  std::atomic<unsigned> flags;
  std::atomic<int> error{CUDA_SUCCESS};  // of asynchronous work; it stays
  std::atomic<bool> destroyed{false};
  std::vector<std::shared_ptr<Stream>> streams;  // belongs to the schedule; with those that still finish their work

  // Throws what every call in a destroyed or failed context returns.
  void check() const;
  // Asynchronous work failed. "This leaves the process in an inconsistent state and any further CUDA work will return the
  // same error" (CUDA_ERROR_ILLEGAL_ADDRESS and its like).
  void fail(CUresult code);

  std::shared_ptr<Stream> legacyStream() { return legacy_; }
  std::shared_ptr<Stream> perThreadStream();

  bool enablePeer(CUcontext peer);
  bool disablePeer(CUcontext peer);

  // Takes everything that belongs to it along: memory, streams, events and IPC mappings.
  void destroy();

 private:
  Context(int device_, unsigned flags_, bool primary_) : device(device_), primary(primary_), flags(flags_) {}
  std::shared_ptr<Stream> legacy_;
  std::mutex mutex_;
  std::map<std::thread::id, std::shared_ptr<Stream>> perThread_;
  std::set<CUcontext> peers_;
};

// The stack of the calling thread.
std::vector<std::shared_ptr<Context>>& contextStack();

// The calling thread's context. Throws CUDA_ERROR_INVALID_CONTEXT without one, and what check() throws.
Context& currentContext();

// A handle's context. Throws CUDA_ERROR_CONTEXT_IS_DESTROYED or CUDA_ERROR_INVALID_CONTEXT.
std::shared_ptr<Context> findContext(CUcontext handle);

// A handle's stream, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD included. Throws CUDA_ERROR_INVALID_HANDLE.
std::shared_ptr<Stream> findStream(CUstream handle);

// The primary contexts of this process's devices, which come and go with their users.
class PrimaryContexts {
 public:
  std::shared_ptr<Context> retain(int device);
  void release(int device);
  void reset(int device);
  void state(int device, unsigned& flags, bool& active);
  void setFlags(int device, unsigned flags);

 private:
  struct Primary {
    int users = 0;
    unsigned flags = 0;
    std::shared_ptr<Context> context;
  };
  std::mutex mutex_;
  std::map<int, Primary> primaries_;
};

}  // namespace simulator
