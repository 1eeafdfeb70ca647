// Streams: what is asynchronous, and what waits for what. Most rules run with lazy delays: what nothing waits for has then
// certainly not happened.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "rules.h"

using namespace rules;

#define LAZY "CUDA_SIMULATOR_DELAY=lazy"

namespace {

struct Pinned {
  explicit Pinned(size_t size, int value = 0) {
    WORKS(cuda.cuMemAllocHost_v2(&pointer, size));
    std::memset(pointer, value, size);
  }
  unsigned char* bytes() { return static_cast<unsigned char*>(pointer); }
  void* pointer = nullptr;
};

CUstream makeStream(unsigned flags = CU_STREAM_DEFAULT) {
  CUstream stream = nullptr;
  WORKS(cuda.cuStreamCreate(&stream, flags));
  return stream;
}

}  // namespace

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/api-sync-behavior.html");

RULE("an asynchronous copy from pinned memory happens later, and reads the memory then", LAZY) {
  start();
  CUstream stream = makeStream();
  CUdeviceptr pointer = allocate(100);
  Pinned host(100, 1);
  WORKS(cuda.cuMemcpyHtoDAsync_v2(pointer, host.pointer, 100, stream));
  std::memset(host.pointer, 2, 100);
  GIVES(cuda.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  WORKS(cuda.cuStreamSynchronize(stream));
  WORKS(cuda.cuStreamQuery(stream));
  HOLDS(all(read(pointer, 100), 2));
}

RULE("an asynchronous copy from pageable memory takes the bytes at the call", IF_SIMULATED(LAZY)) {
  start();
  CUstream stream = makeStream();
  CUdeviceptr pointer = allocate(100);
  std::vector<unsigned char> host(100, 1);
  WORKS(cuda.cuMemcpyHtoDAsync_v2(pointer, host.data(), 100, stream));
  std::memset(host.data(), 2, 100);
  WORKS(cuda.cuStreamSynchronize(stream));
  HOLDS(all(read(pointer, 100), 1));
}

RULE("an asynchronous copy to pageable memory returns when it is done, to pinned memory before", IF_SIMULATED(LAZY)) {
  start();
  CUstream stream = makeStream();
  CUdeviceptr pointer = allocate(100);
  WORKS(cuda.cuMemsetD8Async(pointer, 3, 100, stream));
  std::vector<unsigned char> pageable(100);
  WORKS(cuda.cuMemcpyDtoHAsync_v2(pageable.data(), pointer, 100, stream));
  HOLDS(all(pageable, 3));
  Pinned pinned(100);
  WORKS(cuda.cuMemcpyDtoHAsync_v2(pinned.pointer, pointer, 100, stream));
  if (simulated()) GIVES(pinned.bytes()[0], 0);
  WORKS(cuda.cuCtxSynchronize());
  GIVES(pinned.bytes()[99], 3);
}

RULE("a synchronous copy between device memory doesn't wait for the copy", LAZY) {
  start();
  CUstream other = makeStream(CU_STREAM_NON_BLOCKING);
  CUdeviceptr from = allocate(100), to = allocate(100);
  fill(from, 5, 100);
  WORKS(cuda.cuMemcpyDtoD_v2(to, from, 100));
  // A non-blocking stream isn't ordered after the legacy stream, and so sees that nothing has happened.
  std::vector<unsigned char> seen(100);
  WORKS(cuda.cuMemcpyDtoHAsync_v2(seen.data(), to, 100, other));
  HOLDS(all(seen, 0xCD));
  WORKS(cuda.cuCtxSynchronize());
  HOLDS(all(read(to, 100), 5));
}

RULE("a set doesn't wait for the device", LAZY) {
  start();
  CUstream other = makeStream(CU_STREAM_NON_BLOCKING);
  CUdeviceptr pointer = allocate(100);
  WORKS(cuda.cuMemsetD8_v2(pointer, 5, 100));
  std::vector<unsigned char> seen(100);
  WORKS(cuda.cuMemcpyDtoHAsync_v2(seen.data(), pointer, 100, other));
  HOLDS(all(seen, 0xCD));
  HOLDS(all(read(pointer, 100), 5));  // the legacy stream's own copy comes after it
}

RULE("the end of a synchronous copy from pageable memory is still on its way when it returns", LAZY) {
  start();
  CUstream other = makeStream(CU_STREAM_NON_BLOCKING);
  CUdeviceptr pointer = allocate(200000);
  std::vector<unsigned char> host(200000, 4), seen(200000);
  WORKS(cuda.cuMemcpyHtoD_v2(pointer, host.data(), host.size()));
  std::memset(host.data(), 9, host.size());  // the caller's memory is free again
  WORKS(cuda.cuMemcpyDtoHAsync_v2(seen.data(), pointer, seen.size(), other));
  GIVES(seen.front(), 4);
  GIVES(seen.back(), 0xCD);
  WORKS(cuda.cuCtxSynchronize());
  HOLDS(all(read(pointer, host.size()), 4));
}

RULE("a large asynchronous copy from pageable memory waits for no one, keeps its order, and isn't complete either", LAZY) {
  start();
  constexpr size_t kLarge = 40 << 20;
  CUstream stream = makeStream(CU_STREAM_NON_BLOCKING), other = makeStream(CU_STREAM_NON_BLOCKING);
  CUdeviceptr pointer = allocate(kLarge);
  std::vector<unsigned char> host(kLarge, 4), seen(kLarge);
  WORKS(cuda.cuMemcpyHtoDAsync_v2(pointer, host.data(), kLarge, stream));
  std::memset(host.data(), 5, kLarge);  // the caller's memory is free again
  WORKS(cuda.cuMemcpyDtoHAsync_v2(seen.data(), pointer, kLarge, other));
  GIVES(seen.back(), 0xCD);
  // Now something is before it: it takes the bytes at the call, and nothing happens.
  CUevent before = nullptr;
  WORKS(cuda.cuEventCreate(&before, CU_EVENT_DISABLE_TIMING));
  WORKS(cuda.cuEventRecord(before, stream));
  WORKS(cuda.cuMemcpyHtoDAsync_v2(pointer, host.data(), kLarge, stream));
  std::memset(host.data(), 6, kLarge);
  GIVES(cuda.cuEventQuery(before), CUDA_ERROR_NOT_READY);
  GIVES(cuda.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  WORKS(cuda.cuStreamSynchronize(stream));
  HOLDS(all(read(pointer, kLarge), 5));
}

RULE("a synchronous copy from pinned memory is complete when it returns", IF_SIMULATED(LAZY)) {
  start();
  CUstream other = makeStream(CU_STREAM_NON_BLOCKING);
  CUdeviceptr pointer = allocate(100);
  Pinned host(100, 6);
  WORKS(cuda.cuMemcpyHtoD_v2(pointer, host.pointer, 100));
  std::vector<unsigned char> seen(100);
  WORKS(cuda.cuMemcpyDtoHAsync_v2(seen.data(), pointer, 100, other));
  HOLDS(all(seen, 6));
}

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/stream-sync-behavior.html");

RULE("the legacy default stream and blocking streams wait for each other", IF_SIMULATED(LAZY)) {
  start();
  CUstream blocking = makeStream();
  CUdeviceptr pointer = allocate(100);
  WORKS(cuda.cuMemsetD8Async(pointer, 1, 100, blocking));
  HOLDS(all(read(pointer, 100), 1));  // the legacy stream waited
  WORKS(cuda.cuMemsetD8_v2(pointer, 2, 100));
  std::vector<unsigned char> seen(100);
  WORKS(cuda.cuMemcpyDtoHAsync_v2(seen.data(), pointer, 100, blocking));
  HOLDS(all(seen, 2));  // the blocking stream waited
  WORKS(cuda.cuMemsetD8Async(pointer, 3, 100, CU_STREAM_PER_THREAD));
  HOLDS(all(read(pointer, 100), 3));
}

RULE("non-blocking streams wait for no one", LAZY) {
  start();
  CUstream one = makeStream(CU_STREAM_NON_BLOCKING);
  CUdeviceptr pointer = allocate(100);
  WORKS(cuda.cuMemsetD8Async(pointer, 1, 100, one));
  HOLDS(all(read(pointer, 100), 0xCD));  // the legacy stream didn't wait for it
  WORKS(cuda.cuStreamSynchronize(nullptr));
  GIVES(cuda.cuStreamQuery(one), CUDA_ERROR_NOT_READY);
  WORKS(cuda.cuStreamSynchronize(one));
  HOLDS(all(read(pointer, 100), 1));
}

RULE("blocking streams don't wait for one another", LAZY) {
  start();
  CUstream one = makeStream(), other = makeStream();
  CUdeviceptr pointer = allocate(100);
  WORKS(cuda.cuMemsetD8Async(pointer, 1, 100, one));
  std::vector<unsigned char> seen(100);
  WORKS(cuda.cuMemcpyDtoHAsync_v2(seen.data(), pointer, 100, other));
  HOLDS(all(seen, 0xCD));
  WORKS(cuda.cuCtxSynchronize());
}

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html");

RULE("work in a stream runs in its order", IF_SIMULATED("CUDA_SIMULATOR_DELAY=0..2ms"), IF_SIMULATED("CUDA_SIMULATOR_SEED=7")) {
  start();
  CUstream stream = makeStream();
  static std::vector<int> order;
  static int numbers[20];
  for (int i = 0; i < 20; ++i) {
    numbers[i] = i;
    WORKS(cuda.cuLaunchHostFunc(stream, [](void* number) { order.push_back(*static_cast<int*>(number)); }, &numbers[i]));
  }
  WORKS(cuda.cuStreamSynchronize(stream));
  GIVES(order.size(), 20u);
  for (size_t i = 0; i < order.size(); ++i) GIVES(order[i], static_cast<int>(i));
}

RULE("work that nothing waits for is done once its delay has passed", "CUDA_SIMULATOR_DELAY=30ms") {
  start();
  CUstream stream = makeStream();
  static std::atomic<int> ran{0};
  WORKS(cuda.cuLaunchHostFunc(stream, [](void*) { ++ran; }, nullptr));
  usleep(5000);
  GIVES(ran.load(), 0);
  for (int i = 0; i < 500 && ran == 0; ++i) usleep(2000);
  GIVES(ran.load(), 1);
}

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html");

RULE("waiting hurries work on", "CUDA_SIMULATOR_DELAY=60s") {
  start();
  CUstream stream = makeStream();
  CUdeviceptr pointer = allocate(100);
  auto before = std::chrono::steady_clock::now();
  WORKS(cuda.cuMemsetD8Async(pointer, 1, 100, stream));
  WORKS(cuda.cuStreamSynchronize(stream));
  WORKS(cuda.cuMemsetD8_v2(pointer, 2, 100));
  HOLDS(all(read(pointer, 100), 2));
  HOLDS(std::chrono::steady_clock::now() - before < std::chrono::seconds(10));
}

RULE("polling a lazy stream gets on after a while", LAZY) {
  start();
  CUstream stream = makeStream();
  static std::atomic<int> ran{0};
  WORKS(cuda.cuLaunchHostFunc(stream, [](void*) { ++ran; }, nullptr));
  GIVES(cuda.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  GIVES(ran.load(), 0);
  for (int i = 0; i < 1000 && cuda.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY; ++i) usleep(1000);
  GIVES(ran.load(), 1);
}

RULE("a destroyed stream still finishes its work", IF_SIMULATED("CUDA_SIMULATOR_DELAY=10ms")) {
  start();
  CUstream stream = makeStream();
  CUdeviceptr pointer = allocate(100);
  WORKS(cuda.cuMemsetD8Async(pointer, 1, 100, stream));
  WORKS(cuda.cuStreamDestroy_v2(stream));
  HOLDS(all(read(pointer, 100), 1));  // it was a blocking stream
  if (!simulated()) return;           // using the handle again is undefined elsewhere
  GIVES(cuda.cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
  GIVES(cuda.cuStreamDestroy_v2(stream), CUDA_ERROR_INVALID_HANDLE);
}

RULE("an event orders streams", IF_SIMULATED(LAZY)) {
  start();
  CUstream one = makeStream(CU_STREAM_NON_BLOCKING), other = makeStream(CU_STREAM_NON_BLOCKING);
  CUevent event = nullptr;
  WORKS(cuda.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CUdeviceptr pointer = allocate(100);
  WORKS(cuda.cuMemsetD8Async(pointer, 1, 100, one));
  WORKS(cuda.cuEventRecord(event, one));
  WORKS(cuda.cuStreamWaitEvent(other, event, 0));
  std::vector<unsigned char> seen(100);
  WORKS(cuda.cuMemcpyDtoHAsync_v2(seen.data(), pointer, 100, other));
  HOLDS(all(seen, 1));
}

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html");

RULE("memory freed before queued work runs is a fault that stays with the context", LAZY) {
  CUcontext context = start();
  CUstream stream = makeStream();
  CUdeviceptr pointer = allocate(100);
  WORKS(cuda.cuMemsetD8Async(pointer, 1, 100, stream));
  WORKS(cuda.cuMemFree_v2(pointer));
  GIVES(cuda.cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  GIVES(cuda.cuMemAlloc_v2(&pointer, 100), CUDA_ERROR_ILLEGAL_ADDRESS);
  GIVES(cuda.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  start();  // another context is well
  WORKS(cuda.cuMemAlloc_v2(&pointer, 100));
  WORKS(cuda.cuCtxDestroy_v2(context));
}

RULE("pinned memory freed before queued work runs is a fault too", LAZY) {
  start();
  CUstream stream = makeStream();
  CUdeviceptr pointer = allocate(100);
  Pinned host(100);
  WORKS(cuda.cuMemcpyHtoDAsync_v2(pointer, host.pointer, 100, stream));
  WORKS(cuda.cuMemFreeHost(host.pointer));
  GIVES(cuda.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html");

RULE("after a failure host functions don't run, and callbacks learn of it", LAZY) {
  start();
  CUstream stream = makeStream();
  static int ran = 0, told = 0;
  CUdeviceptr pointer = allocate(100);
  WORKS(cuda.cuMemsetD8Async(pointer, 1, 100, stream));
  WORKS(cuda.cuLaunchHostFunc(stream, [](void*) { ++ran; }, nullptr));
  WORKS(cuda.cuStreamAddCallback(stream, [](CUstream, int status, void*) { told = status; }, nullptr, 0));
  WORKS(cuda.cuMemFree_v2(pointer));
  GIVES(cuda.cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  GIVES(ran, 0);
  GIVES(told, 700);
}

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html");

RULE("streams tell what they are") {
  CUcontext context = start(), of = nullptr;
  CUstream stream = nullptr;
  WORKS(cuda.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -100));
  unsigned flags = 0;
  int priority = 0;
  WORKS(cuda.cuStreamGetFlags(stream, &flags));
  GIVES(flags, CU_STREAM_NON_BLOCKING);
  WORKS(cuda.cuStreamGetPriority(stream, &priority));
  int least = 0, greatest = 0;  // "lower numbers represent higher priorities"
  WORKS(cuda.cuCtxGetStreamPriorityRange(&least, &greatest));
  GIVES(priority, greatest);
  HOLDS(greatest <= least);
  WORKS(cuda.cuStreamGetCtx(stream, &of));
  GIVES(of, context);
  GIVES(cuda.cuStreamCreate(&stream, 8), CUDA_ERROR_INVALID_VALUE);
  if (simulated()) GIVES(cuda.cuStreamSynchronize(reinterpret_cast<CUstream>(0x4444)), CUDA_ERROR_INVALID_HANDLE);
}

RULE("many threads may share a stream", IF_SIMULATED("CUDA_SIMULATOR_DELAY=0..200us")) {
  CUcontext context = start();
  CUstream stream = makeStream();
  CUdeviceptr pointer = allocate(16 * 64);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 8; ++i) {
    threads.emplace_back([=] {
      WORKS(cuda.cuCtxSetCurrent(context));
      for (unsigned round = 0; round < 50; ++round) {
        std::vector<unsigned char> host(64);
        WORKS(cuda.cuMemsetD8Async(pointer + i * 64, static_cast<unsigned char>(round), 64, stream));
        WORKS(cuda.cuMemcpyDtoHAsync_v2(host.data(), pointer + i * 64, 64, stream));
        HOLDS(all(host, static_cast<unsigned char>(round)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}
