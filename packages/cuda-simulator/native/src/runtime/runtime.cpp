#include "runtime.h"

#include <map>
#include <mutex>

#include "../lasting.h"

namespace simulator::runtime {
namespace {

thread_local int chosenDevice = 0;
thread_local int last = CUDA_SUCCESS;

// The primary contexts that this library has retained, each once and for good, as the runtime does.
class Primaries {
 public:
  CUcontext of(int device) {
    std::lock_guard lock(mutex_);
    CUcontext& context = contexts_[device];
    if (context == nullptr) check(cuDevicePrimaryCtxRetain(&context, device));
    return context;
  }
  // It was reset or destroyed: the next use makes another.
  void forget(CUcontext gone) {
    std::lock_guard lock(mutex_);
    for (auto& entry : contexts_) {
      if (entry.second == gone) entry.second = nullptr;
    }
  }

 private:
  std::mutex mutex_;
  std::map<int, CUcontext> contexts_;
};

Primaries& primaries() {
  static const Lasting<Primaries> once;
  return *once;
}

CUresult makeCurrent(int device) {
  CUcontext context = primaries().of(device);
  CUresult result = cuCtxSetCurrent(context);
  if (result != CUDA_ERROR_CONTEXT_IS_DESTROYED) return result;
  primaries().forget(context);
  return cuCtxSetCurrent(primaries().of(device));
}

}  // namespace

int& lastError() { return last; }

bool staysWithContext(int error) {
  switch (error) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case 214:  // ECC_UNCORRECTABLE
    case 710:  // ASSERT
    case 714:  // HARDWARE_STACK_ERROR
    case 716:  // MISALIGNED_ADDRESS
      return true;
    default:
      return false;
  }
}

void initialize() { check(cuInit(0)); }

int device() {
  CUdevice current = 0;
  return cuCtxGetDevice(&current) == CUDA_SUCCESS ? current : chosenDevice;
}

void makeContextCurrent() {
  initialize();
  CUdevice current = 0;
  CUresult result = cuCtxGetDevice(&current);
  if (result == CUDA_SUCCESS) return;
  // The thread has none yet, or its device was reset.
  require(result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED, result);
  check(makeCurrent(chosenDevice));
}

void setDevice(int device) {
  initialize();
  int count = 0;
  check(cuDeviceGetCount(&count));
  require(device >= 0 && device < count, CUDA_ERROR_INVALID_DEVICE);
  chosenDevice = device;
  check(makeCurrent(device));
}

void traceCall(const char* function, const TraceTimer& timer, int result) {
  uint64_t duration = timer.nanoseconds();
  TraceLine line("call");
  line.text("library", "runtime").text("function", function).number("duration", duration);
  line.signedNumber("result", result).write();
}

}  // namespace simulator::runtime
