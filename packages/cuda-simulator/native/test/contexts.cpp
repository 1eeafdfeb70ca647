// Initialization, contexts, primary contexts, entry points, errors.
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "rules.h"

using namespace rules;

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__INITIALIZE.html");

RULE("before cuInit a call is refused") {
  CUdevice device = 0;
  GIVES(cuda.cuDeviceGet(&device, 0), CUDA_ERROR_NOT_INITIALIZED);
  int version = 0;
  WORKS(cuda.cuDriverGetVersion(&version));  // but this one isn't
  HOLDS(version >= 11000);
}

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html");

RULE("a fresh thread has no context") {
  start();
  CUdeviceptr pointer = allocate(64);
  std::thread([&] {
    CUcontext context = reinterpret_cast<CUcontext>(1);
    WORKS(cuda.cuCtxGetCurrent(&context));
    GIVES(context, nullptr);
    CUdeviceptr other = 0;
    GIVES(cuda.cuMemAlloc_v2(&other, 64), CUDA_ERROR_INVALID_CONTEXT);
    GIVES(cuda.cuMemFree_v2(pointer), CUDA_ERROR_INVALID_CONTEXT);
    GIVES(cuda.cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
  }).join();
  WORKS(cuda.cuMemFree_v2(pointer));
}

RULE("contexts are a stack for each thread") {
  CUcontext first = start(), second = nullptr, current = nullptr;
  WORKS(cuda.cuCtxCreate_v2(&second, 0, 0));
  WORKS(cuda.cuCtxGetCurrent(&current));
  GIVES(current, second);
  WORKS(cuda.cuCtxPopCurrent_v2(&current));
  GIVES(current, second);
  WORKS(cuda.cuCtxGetCurrent(&current));
  GIVES(current, first);
  WORKS(cuda.cuCtxSetCurrent(second));  // replaces the top
  WORKS(cuda.cuCtxPopCurrent_v2(&current));
  GIVES(cuda.cuCtxPopCurrent_v2(&current), CUDA_ERROR_INVALID_CONTEXT);
  WORKS(cuda.cuCtxPushCurrent_v2(first));
  WORKS(cuda.cuCtxSetCurrent(nullptr));  // pops
  WORKS(cuda.cuCtxGetCurrent(&current));
  GIVES(current, nullptr);
}

RULE("a destroyed context takes its memory with it") {
  CUcontext outer = start(), inner = nullptr;
  size_t before = 0, after = 0, total = 0;
  WORKS(cuda.cuMemGetInfo_v2(&before, &total));
  WORKS(cuda.cuCtxCreate_v2(&inner, 0, 0));
  CUdeviceptr pointer = allocate(1 << 20);
  CUstream stream = nullptr;
  WORKS(cuda.cuStreamCreate(&stream, 0));
  WORKS(cuda.cuCtxDestroy_v2(inner));
  CUcontext current = nullptr;
  WORKS(cuda.cuCtxGetCurrent(&current));
  GIVES(current, outer);
  char byte = 0;
  GIVES(cuda.cuMemcpyDtoH_v2(&byte, pointer, 1), CUDA_ERROR_INVALID_VALUE);
  if (!simulated()) return;  // elsewhere other programs use the device too, and old handles are undefined
  WORKS(cuda.cuMemGetInfo_v2(&after, &total));
  GIVES(after, before);
  GIVES(cuda.cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
}

RULE("a destroyed context is known as such") {
  CUcontext context = start();
  bool ready = false, gone = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::thread other([&] {
    WORKS(cuda.cuCtxSetCurrent(context));
    std::unique_lock lock(mutex);
    ready = true;
    changed.notify_all();
    changed.wait(lock, [&] { return gone; });
    CUdeviceptr pointer = 0;
    GIVES(cuda.cuMemAlloc_v2(&pointer, 64), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ready; });
    WORKS(cuda.cuCtxDestroy_v2(context));
    gone = true;
    changed.notify_all();
  }
  other.join();
  if (!simulated()) return;  // using the handle again is undefined elsewhere
  GIVES(cuda.cuCtxSetCurrent(context), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  GIVES(cuda.cuCtxSetCurrent(reinterpret_cast<CUcontext>(0x1234)), CUDA_ERROR_INVALID_CONTEXT);
}

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PRIMARY__CTX.html");

RULE("a primary context lives from the first retain to the last release") {
  WORKS(cuda.cuInit(0));
  CUcontext first = nullptr, second = nullptr;
  unsigned flags = 0;
  int active = 1;
  WORKS(cuda.cuDevicePrimaryCtxGetState(0, &flags, &active));
  GIVES(active, 0);
  WORKS(cuda.cuDevicePrimaryCtxRetain(&first, 0));
  WORKS(cuda.cuDevicePrimaryCtxRetain(&second, 0));
  GIVES(first, second);
  CUcontext current = nullptr;
  WORKS(cuda.cuCtxGetCurrent(&current));
  GIVES(current, nullptr);  // retaining doesn't make it current
  GIVES(cuda.cuCtxDestroy_v2(first), CUDA_ERROR_INVALID_CONTEXT);
  WORKS(cuda.cuCtxSetCurrent(first));
  CUdeviceptr pointer = allocate(64);
  WORKS(cuda.cuDevicePrimaryCtxRelease_v2(0));
  WORKS(cuda.cuMemsetD8_v2(pointer, 1, 64));
  WORKS(cuda.cuDevicePrimaryCtxRelease_v2(0));
  GIVES(cuda.cuMemsetD8_v2(pointer, 1, 64), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  GIVES(cuda.cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
  WORKS(cuda.cuDevicePrimaryCtxGetState(0, &flags, &active));
  GIVES(active, 0);
}

RULE("a reset primary context is destroyed for all its users") {
  WORKS(cuda.cuInit(0));
  CUcontext context = nullptr;
  WORKS(cuda.cuDevicePrimaryCtxSetFlags_v2(0, 4));
  WORKS(cuda.cuDevicePrimaryCtxRetain(&context, 0));
  WORKS(cuda.cuCtxSetCurrent(context));
  unsigned flags = 0;
  WORKS(cuda.cuCtxGetFlags(&flags));
  GIVES(flags & 7, 4u);  // how to wait
  allocate(64);
  WORKS(cuda.cuDevicePrimaryCtxReset_v2(0));
  GIVES(cuda.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

PAGE("https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#multi-process-service");

RULE("a forked child can't use the driver") {
  start();
  pid_t child = fork();
  if (child == 0) {
    CUdeviceptr pointer = 0;
    bool refused = cuda.cuMemAlloc_v2(&pointer, 64) == CUDA_ERROR_NOT_INITIALIZED &&
                   cuda.cuInit(0) == CUDA_ERROR_NOT_INITIALIZED;
    std::_Exit(refused ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  GIVES(status, 0);
  WORKS(cuda.cuMemFree_v2(allocate(64)));  // the parent can
}

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html");

RULE("a host function's thread may not call the driver", STRICTER("an error is what may happen")) {
  start();
  static CUresult inside = CUDA_SUCCESS;
  WORKS(cuda.cuLaunchHostFunc(nullptr, [](void*) { inside = cuda.cuCtxSynchronize(); }, nullptr));
  WORKS(cuda.cuCtxSynchronize());
  GIVES(inside, CUDA_ERROR_NOT_PERMITTED);
}

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DRIVER__ENTRY__POINT.html");

RULE("functions are found by name, and what isn't there isn't found") {
  void* found = nullptr;
  int status = -1;
  WORKS(cuda.cuGetProcAddress_v2("cuMemAlloc", &found, 12000, 0, &status));
  HOLDS(found != nullptr);
  if (simulated()) GIVES(found, reinterpret_cast<void*>(cuda.cuMemAlloc_v2));
  GIVES(status, 0);
  WORKS(cuda.cuGetProcAddress("cuCtxSynchronize", &found, 12000, 0));
  HOLDS(found != nullptr);
  if (simulated()) GIVES(found, reinterpret_cast<void*>(cuda.cuCtxSynchronize));
  const char* missing = simulated() ? "cuLaunchKernel" : "cuNoSuchFunction";
  GIVES(cuda.cuGetProcAddress_v2(missing, &found, 12000, 0, &status), CUDA_ERROR_NOT_FOUND);
  GIVES(found, nullptr);
  GIVES(status, 1);
}

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__ERROR.html");

RULE("errors have names and texts") {
  const char* text = nullptr;
  WORKS(cuda.cuGetErrorName(CUDA_ERROR_INVALID_CONTEXT, &text));
  GIVES(std::string(text), "CUDA_ERROR_INVALID_CONTEXT");
  WORKS(cuda.cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text));
  GIVES(std::string(text), "invalid argument");
  GIVES(cuda.cuGetErrorString(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
  GIVES(text, nullptr);
}
