#include "library.h"

#include <dlfcn.h>

#include <memory>
#include <mutex>
#include <new>

namespace cuda_ipc {

namespace {

// cuDeviceGetUuid_v2, by which the wire names devices, came with CUDA 11.4.
constexpr int kOldestVersion = 11040;

// The process's one driver. It is never destroyed: native threads may still call it while the process exits.
struct Process {
  std::mutex mutex;
  std::string path;
  Library library;
  bool open = false;
};

Process& process() {
  alignas(Process) static unsigned char storage[sizeof(Process)];
  static Process* instance = ::new (static_cast<void*>(storage)) Process;
  return *instance;
}

struct Close {
  void operator()(void* handle) const { dlclose(handle); }
};
using Handle = std::unique_ptr<void, Close>;

template <class Signature>
bool find(void* handle, const char* symbol, Function<Signature>& function) {
  function.address = reinterpret_cast<decltype(function.address)>(dlsym(handle, symbol));
  return function.address != nullptr;
}

Problem load(void* handle, Library& library) {
  Function<CUresult(unsigned)> init{"cuInit", nullptr};
  Function<CUresult(int*)> driverVersion{"cuDriverGetVersion", nullptr};
  if (!find(handle, "cuDriverGetVersion", driverVersion)) return {"symbol-missing", "cuDriverGetVersion"};
  if (!find(handle, "cuInit", init)) return {"symbol-missing", "cuInit"};
  // The version first: an old driver lacks functions, which says less.
  CUresult result = driverVersion(&library.version);
  if (result != CUDA_SUCCESS) return {"driver-failed", "cuDriverGetVersion: " + nameOf(library, result)};
  if (library.version < kOldestVersion) return {"driver-too-old", std::to_string(library.version)};
#define CUDA_IPC_FIND(name, symbol, parameters) \
  if (!find(handle, symbol, library.name)) return {"symbol-missing", symbol};
  CUDA_IPC_FUNCTIONS(CUDA_IPC_FIND)
#undef CUDA_IPC_FIND
  result = init(0);
  if (result == CUDA_ERROR_NO_DEVICE) return {"no-device", nameOf(library, result)};
  if (result != CUDA_SUCCESS) return {"driver-failed", "cuInit: " + nameOf(library, result)};
  int count = 0;
  result = library.cuDeviceGetCount(&count);
  if (result != CUDA_SUCCESS) return {"driver-failed", "cuDeviceGetCount: " + nameOf(library, result)};
  if (count == 0) return {"no-device", "cuDeviceGetCount: 0"};
  return {};
}

}  // namespace

std::string nameOf(const Library& library, CUresult code) {
  const char* name = nullptr;
  if (library.cuGetErrorName.address == nullptr || library.cuGetErrorName(code, &name) != CUDA_SUCCESS || !name) {
    return "error " + std::to_string(code);
  }
  return std::string(name) + " (" + std::to_string(code) + ")";
}

Opened openLibrary(const std::string& path) {
  Process& process = cuda_ipc::process();
  std::lock_guard lock(process.mutex);
  if (process.open && process.path == path) return {&process.library, {}};
  if (process.open) return {nullptr, {"driver-failed", "this process already uses the driver " + process.path}};
  Handle handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!handle) {
    const char* reason = dlerror();
    return {nullptr, {"no-driver", reason == nullptr ? path : reason}};
  }
  Library library;
  Problem problem = load(handle.get(), library);
  // A driver that was initialized stays loaded, whatever came of it: it has threads of its own.
  static_cast<void>(handle.release());
  if (!problem.kind.empty()) return {nullptr, problem};
  process.library = library;
  process.path = path;
  process.open = true;
  return {&process.library, {}};
}

}  // namespace cuda_ipc
