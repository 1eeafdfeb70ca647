// The runtime interface.
#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "rules.h"

using namespace rules;

namespace {

template <class Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(runtimeLibrary(), name));
}

struct Runtime {
  int (*setDevice)(int) = find<int(int)>("cudaSetDevice");
  int (*getDevice)(int*) = find<int(int*)>("cudaGetDevice");
  int (*getDeviceCount)(int*) = find<int(int*)>("cudaGetDeviceCount");
  int (*reset)() = find<int()>("cudaDeviceReset");
  int (*malloc)(void**, size_t) = find<int(void**, size_t)>("cudaMalloc");
  int (*free)(void*) = find<int(void*)>("cudaFree");
  int (*memcpy)(void*, const void*, size_t, int) = find<int(void*, const void*, size_t, int)>("cudaMemcpy");
  int (*memset)(void*, int, size_t) = find<int(void*, int, size_t)>("cudaMemset");
  int (*synchronize)() = find<int()>("cudaDeviceSynchronize");
  int (*lastError)() = find<int()>("cudaGetLastError");
  int (*peek)() = find<int()>("cudaPeekAtLastError");
  const char* (*text)(int) = find<const char*(int)>("cudaGetErrorString");
  const char* (*name)(int) = find<const char*(int)>("cudaGetErrorName");
  int (*getHandle)(CUipcMemHandle*, void*) = find<int(CUipcMemHandle*, void*)>("cudaIpcGetMemHandle");
  int (*open)(void**, CUipcMemHandle, unsigned) = find<int(void**, CUipcMemHandle, unsigned)>("cudaIpcOpenMemHandle");
  int (*close)(void*) = find<int(void*)>("cudaIpcCloseMemHandle");
  int (*streamCreate)(CUstream*) = find<int(CUstream*)>("cudaStreamCreate");
  int (*streamQuery)(CUstream) = find<int(CUstream)>("cudaStreamQuery");
  int (*memsetAsync)(void*, int, size_t, CUstream) = find<int(void*, int, size_t, CUstream)>("cudaMemsetAsync");
};

void* allocate(const Runtime& runtime, size_t size) {
  void* pointer = nullptr;
  GIVES(runtime.malloc(&pointer, size), 0);
  return pointer;
}

}  // namespace

PAGE("https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#initialization");

RULE("the runtime needs no initialization, on any thread") {
  Runtime runtime;
  void* pointer = allocate(runtime, 100);
  std::thread([&] {
    GIVES(runtime.memset(pointer, 3, 100), 0);
    GIVES(runtime.synchronize(), 0);
  }).join();
  unsigned char host[100] = {};
  GIVES(runtime.memcpy(host, pointer, 100, 2), 0);
  GIVES(host[99], 3);
  GIVES(runtime.free(pointer), 0);
  GIVES(runtime.free(nullptr), 0);
  pointer = host;
  GIVES(runtime.malloc(&pointer, 0), 0);
  GIVES(pointer, nullptr);
}

PAGE("https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__ERROR.html");

RULE("the last error is a thread's own, and stays until it is read") {
  Runtime runtime;
  GIVES(runtime.setDevice(77), 101);
  GIVES(runtime.synchronize(), 0);  // a success doesn't clear it
  std::thread([&] { GIVES(runtime.lastError(), 0); }).join();
  GIVES(runtime.peek(), 101);
  GIVES(runtime.lastError(), 101);
  GIVES(runtime.lastError(), 0);
  GIVES(std::string(runtime.text(101)), "invalid device ordinal");
  GIVES(std::string(runtime.name(101)), "cudaErrorInvalidDevice");
  GIVES(std::string(runtime.text(201)), "invalid device context");
  GIVES(std::string(runtime.text(12345)), "unrecognized error code");
}

RULE("an error of asynchronous work can't be cleared", "CUDA_SIMULATOR_DELAY=lazy") {
  Runtime runtime;
  void* pointer = allocate(runtime, 100);
  GIVES(runtime.memset(pointer, 1, 100), 0);
  GIVES(runtime.free(pointer), 0);
  GIVES(runtime.synchronize(), 700);
  GIVES(runtime.lastError(), 700);
  GIVES(runtime.lastError(), 700);
  GIVES(runtime.malloc(&pointer, 10), 700);
}

RULE("not being ready is an error to the last error too", "CUDA_SIMULATOR_DELAY=lazy") {
  Runtime runtime;
  CUstream stream = nullptr;
  GIVES(runtime.streamCreate(&stream), 0);
  void* pointer = allocate(runtime, 100);
  GIVES(runtime.memsetAsync(pointer, 1, 100, stream), 0);
  GIVES(runtime.streamQuery(stream), 600);
  GIVES(runtime.lastError(), 600);
  GIVES(runtime.lastError(), 0);
}

PAGE("https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html");

RULE("a copy whose direction doesn't fit its pointers is an error", STRICTER("it is undefined")) {
  Runtime runtime;
  void* pointer = allocate(runtime, 100);
  char host[100] = {};
  GIVES(runtime.memcpy(pointer, host, 100, 2), 1);
  GIVES(runtime.memcpy(host, pointer, 100, 1), 1);
  GIVES(runtime.memcpy(host, pointer, 100, 3), 1);
  GIVES(runtime.memcpy(host, pointer, 100, 0), 1);
  GIVES(runtime.memcpy(host, pointer, 100, 9), 21);
  GIVES(runtime.memcpy(host, pointer, 100, 4), 0);
  GIVES(runtime.memcpy(host, pointer, 101, 2), 1);
}

PAGE("https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__DEVICE.html");

RULE("a device is a thread's own choice", DEVICES(2)) {
  Runtime runtime;
  int device = -1, count = 0;
  GIVES(runtime.getDeviceCount(&count), 0);
  HOLDS(simulated() ? count == 2 : count >= 2);
  GIVES(runtime.getDevice(&device), 0);
  GIVES(device, 0);
  GIVES(runtime.setDevice(1), 0);
  CUcontext context = nullptr;
  WORKS(cuda.cuCtxGetCurrent(&context));  // the primary context, which the driver's functions then use
  HOLDS(context != nullptr);
  std::thread([&] {
    GIVES(runtime.getDevice(&device), 0);
    GIVES(device, 0);
  }).join();
  GIVES(runtime.getDevice(&device), 0);
  GIVES(device, 1);
  int ordinal = -1;
  WORKS(cuda.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   reinterpret_cast<uint64_t>(allocate(runtime, 10))));
  GIVES(ordinal, 1);
}

PAGE("https://docs.nvidia.com/cuda/cuda-runtime-api/driver-vs-runtime-api.html");

RULE("the runtime and the driver share contexts") {
  Runtime runtime;
  CUcontext own = start();
  void* pointer = allocate(runtime, 100);  // in the current context, though it isn't the primary one
  CUcontext context = nullptr;
  WORKS(cuda.cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, reinterpret_cast<uint64_t>(pointer)));
  GIVES(context, own);
}

PAGE("https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__DEVICE.html");

RULE("after a reset the runtime begins anew") {
  Runtime runtime;
  void* pointer = allocate(runtime, 100);
  GIVES(runtime.reset(), 0);
  GIVES(runtime.memset(pointer, 1, 100), 1);
  GIVES(runtime.lastError(), 1);
  allocate(runtime, 100);
}

ROLE(exports) {
  Runtime runtime;
  void* pointer = allocate(runtime, 1000);
  GIVES(runtime.memset(pointer, 42, 1000), 0);
  GIVES(runtime.synchronize(), 0);
  CUipcMemHandle handle{};
  GIVES(runtime.getHandle(&handle, static_cast<char*>(pointer) + 10), 0);
  tell(handle);
  hear<int>();
}

PAGE("https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html");

RULE("handles go by value") {
  Runtime runtime;
  Peer other("exports");
  auto handle = other.receive<CUipcMemHandle>();
  void* pointer = nullptr;
  GIVES(runtime.open(&pointer, handle, 1), 0);
  unsigned char host[1000] = {};
  GIVES(runtime.memcpy(host, pointer, 1000, 2), 0);
  GIVES(host[999], 42);
  GIVES(runtime.close(pointer), 0);
  GIVES(runtime.close(pointer), 1);
}

RULE("faults reach the runtime's functions", "CUDA_SIMULATOR_FAULTS=cudaMalloc@2=2") {
  Runtime runtime;
  allocate(runtime, 10);
  void* pointer = nullptr;
  GIVES(runtime.malloc(&pointer, 10), 2);
  GIVES(runtime.lastError(), 2);
}
