// What calls and copies cost: `costs LIBRARY` prints a table, and fails if a call that does nothing costs a microsecond or
// more, or a large copy runs at less than 80 % of memcpy.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "../src/driver.h"

namespace {

void* library;

template <class Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}
#define DRIVER(name) auto* name = find<decltype(::name)>(#name)

// The best of several rounds, in seconds for one.
template <class Work>
double best(int rounds, int repeats, Work work) {
  double least = 1e9;
  for (int round = 0; round < rounds; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) work();
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    least = std::min(least, took.count() / repeats);
  }
  return least;
}

}  // namespace

using HostMemory = std::unique_ptr<unsigned char, decltype(&std::free)>;

HostMemory pageAligned(size_t size, int value) {
  HostMemory memory(static_cast<unsigned char*>(std::aligned_alloc(4096, size)), &std::free);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory.get(), value, size);
  return memory;
}

int main(int count, char** arguments) {
  setenv("CUDA_SIMULATOR_MACHINE", "costs", 0);
  library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : nullptr;
  if (library == nullptr) return 2;
  DRIVER(cuInit);
  DRIVER(cuCtxCreate_v2);
  DRIVER(cuCtxGetCurrent);
  DRIVER(cuDriverGetVersion);
  DRIVER(cuCtxSynchronize);
  DRIVER(cuMemAlloc_v2);
  DRIVER(cuMemFree_v2);
  DRIVER(cuMemAllocHost_v2);
  DRIVER(cuMemFreeHost);
  DRIVER(cuMemcpyHtoD_v2);
  DRIVER(cuMemcpyDtoH_v2);
  DRIVER(cuMemcpyDtoD_v2);
  DRIVER(cuMemcpyHtoDAsync_v2);
  DRIVER(cuMemcpyDtoHAsync_v2);
  DRIVER(cuMemcpyDtoDAsync_v2);
  DRIVER(cuPointerGetAttribute);
  CUcontext context = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS) return 2;
  bool good = true;
  auto nothing = [&](const char* name, double seconds) {
    std::printf("%-36s %9.0f ns\n", name, seconds * 1e9);
    return seconds;
  };
  int version = 0;
  good = nothing("cuCtxGetCurrent", best(5, 100000, [&] { cuCtxGetCurrent(&context); })) < 1e-6 && good;
  good = nothing("cuDriverGetVersion", best(5, 100000, [&] { cuDriverGetVersion(&version); })) < 1e-6 && good;
  nothing("cuCtxSynchronize, nothing queued", best(5, 100000, [&] { cuCtxSynchronize(); }));
  CUdeviceptr small = 0;
  nothing("cuMemAlloc and cuMemFree, 4 KiB", best(5, 1000, [&] { cuMemAlloc_v2(&small, 4096), cuMemFree_v2(small); }));
  cuMemAlloc_v2(&small, 4096);
  unsigned type = 0;
  nothing("cuPointerGetAttribute",
          best(5, 100000, [&] { cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, small); }));
  char bytes[4096] = {};
  nothing("cuMemcpyDtoH, 4 KiB", best(5, 10000, [&] { cuMemcpyDtoH_v2(bytes, small, 4096); }));
  nothing("cuMemcpyDtoD and cuCtxSynchronize",
          best(5, 2000, [&] { cuMemcpyDtoD_v2(small, small, 4096), cuCtxSynchronize(); }));

  for (size_t size : {size_t{64} << 20, size_t{256} << 20}) {
    // On page boundaries, as device memory is: where source and destination lie 16 bytes apart within their pages, glibc's
    // memcpy of this size takes up to three times as long, whoever calls it.
    HostMemory one = pageAligned(size, 1), other = pageAligned(size, 2);
    CUdeviceptr first = 0, second = 0;
    void* pinned = nullptr;
    if (cuMemAlloc_v2(&first, size) != 0 || cuMemAlloc_v2(&second, size) != 0 || cuMemAllocHost_v2(&pinned, size) != 0) return 2;
    std::memset(pinned, 1, size);
    // In turns with memcpy, so that both meet the same noise.
    auto copy = [&](const char* name, auto&& work) {
      double plain = 1e9, ours = 1e9;
      for (int round = 0; round < 15; ++round) {
        plain = std::min(plain, best(1, 1, [&] { std::memcpy(one.get(), other.get(), size); }));
        ours = std::min(ours, best(1, 1, [&] { work(), cuCtxSynchronize(); }));
      }
      std::printf("%3zu MiB: %-27s %9.2f GB/s, %3.0f %% of memcpy\n", size >> 20, name, size / ours / 1e9, 100 * plain / ours);
      good = plain / ours >= 0.8 && good;
    };
    copy("cuMemcpyHtoD", [&] { cuMemcpyHtoD_v2(first, one.get(), size); });
    copy("cuMemcpyHtoD, pinned", [&] { cuMemcpyHtoD_v2(first, pinned, size); });
    copy("cuMemcpyHtoDAsync", [&] { cuMemcpyHtoDAsync_v2(first, one.get(), size, nullptr); });
    copy("cuMemcpyHtoDAsync, pinned", [&] { cuMemcpyHtoDAsync_v2(first, pinned, size, nullptr); });
    copy("cuMemcpyDtoH", [&] { cuMemcpyDtoH_v2(one.get(), first, size); });
    copy("cuMemcpyDtoHAsync, pinned", [&] { cuMemcpyDtoHAsync_v2(pinned, first, size, nullptr); });
    copy("cuMemcpyDtoD", [&] { cuMemcpyDtoD_v2(second, first, size); });
    copy("cuMemcpyDtoDAsync", [&] { cuMemcpyDtoDAsync_v2(second, first, size, nullptr); });
    cuMemFree_v2(first);
    cuMemFree_v2(second);
    cuMemFreeHost(pinned);
  }
  return good ? 0 : 1;
}
