// What is there for tests: faults, trace, leak report.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "rules.h"

using namespace rules;

#define TRACE "CUDA_SIMULATOR_TRACE=@"

PAGE("README.md#faults", "is about the simulator itself");

RULE("the n-th call of a function fails with a code", "CUDA_SIMULATOR_FAULTS=cuMemAlloc@2=2,cuMemFree@*=999") {
  start();
  CUdeviceptr pointer = 0;
  WORKS(cuda.cuMemAlloc_v2(&pointer, 10));
  GIVES(cuda.cuMemAlloc_v2(&pointer, 10), CUDA_ERROR_OUT_OF_MEMORY);
  WORKS(cuda.cuMemAlloc_v2(&pointer, 10));
  GIVES(cuda.cuMemFree_v2(pointer), CUDA_ERROR_UNKNOWN);
  GIVES(cuda.cuMemFree_v2(pointer), CUDA_ERROR_UNKNOWN);
  char byte = 0;
  WORKS(cuda.cuMemcpyDtoH_v2(&byte, pointer, 1));  // it wasn't freed
}

RULE("a call stalls", "CUDA_SIMULATOR_FAULTS=cuCtxSynchronize@1=stall:100ms") {
  start();
  auto before = std::chrono::steady_clock::now();
  WORKS(cuda.cuCtxSynchronize());
  HOLDS(std::chrono::steady_clock::now() - before >= std::chrono::milliseconds(100));
}

PAGE("README.md#the-trace", "is about the simulator itself");

RULE("the trace has how long a call took", TRACE, "CUDA_SIMULATOR_FAULTS=cuCtxSynchronize@1=stall:100ms") {
  start();
  auto before = std::chrono::steady_clock::now();
  WORKS(cuda.cuCtxSynchronize());
  auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - before).count();
  std::vector<std::string> lines = traceLines();
  GIVES(count(lines, {"\"type\":\"call\""}), count(lines, {"\"duration\":"}));
  int found = 0;
  for (const std::string& line : lines) {
    if (line.find("\"cuCtxSynchronize\"") == std::string::npos) continue;
    ++found;
    long long duration = std::atoll(line.c_str() + line.find("\"duration\":") + 11);
    HOLDS(duration >= 100'000'000 && duration <= took);
  }
  GIVES(found, 1);
}

PAGE("README.md#faults", "is about the simulator itself");

ROLE(copiesTwice) {
  start();
  CUdeviceptr pointer = allocate(10);
  char byte = 0;
  WORKS(cuda.cuMemcpyDtoH_v2(&byte, pointer, 1));
  tell(1);
  WORKS(cuda.cuMemcpyHtoD_v2(pointer, &byte, 1));
  tell(2);
}

RULE("a process dies in a call") {
  start();
  Peer other("copiesTwice", {"CUDA_SIMULATOR_FAULTS=cuMemcpy*@2=die"});
  GIVES(other.receive<int>(), 1);
  int status = other.wait();
  HOLDS(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  allocate(1);  // buries it
}

RULE("queued work fails later, and the failure stays", "CUDA_SIMULATOR_FAULTS=async:cuMemsetD8Async@2=719", "CUDA_SIMULATOR_DELAY=lazy", TRACE) {
  start();
  CUdeviceptr pointer = allocate(10);
  WORKS(cuda.cuMemsetD8Async(pointer, 1, 10, nullptr));
  WORKS(cuda.cuMemsetD8Async(pointer, 2, 10, nullptr));
  CUevent event = nullptr;
  WORKS(cuda.cuEventCreate(&event, 0));
  GIVES(cuda.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  GIVES(cuda.cuMemFree_v2(pointer), CUDA_ERROR_LAUNCH_FAILED);
  GIVES(cuda.cuEventQuery(event), CUDA_ERROR_LAUNCH_FAILED);
  GIVES(count(traceLines(), {"\"type\":\"failure\"", "\"result\":719"}), 1);
}

PAGE("README.md#the-trace", "is about the simulator itself");

RULE("the trace has every call, its bytes and its direction", TRACE) {
  start();
  CUdeviceptr one = allocate(100), other = allocate(100);
  char host[100] = {};
  WORKS(cuda.cuMemcpyHtoD_v2(one, host, 100));
  WORKS(cuda.cuMemcpyDtoDAsync_v2(other, one, 60, nullptr));
  WORKS(cuda.cuMemcpyDtoH_v2(host, other, 40));
  GIVES(cuda.cuMemFree_v2(1), CUDA_ERROR_INVALID_VALUE);
  std::vector<std::string> lines = traceLines();
  GIVES(count(lines, {"\"type\":\"begin\"", "\"devices\":1"}), 1);
  GIVES(count(lines, {"\"type\":\"call\"", "cuMemAlloc", "\"bytes\":100", "\"result\":0"}), 2);
  GIVES(count(lines, {"cuMemcpyHtoD", "\"bytes\":100", "\"direction\":\"HtoD\"", "\"async\":false"}), 1);
  GIVES(count(lines, {"cuMemcpyDtoDAsync", "\"bytes\":60", "\"direction\":\"DtoD\"", "\"async\":true"}), 1);
  GIVES(count(lines, {"\"direction\":\"DtoH\"", "\"bytes\":40"}), 1);
  GIVES(count(lines, {"cuMemFree", "\"result\":1", "\"pid\":" + std::to_string(getpid())}), 1);
}

ROLE(leaks) {
  start();
  CUdeviceptr kept = allocate(1234), freed = allocate(99);
  WORKS(cuda.cuMemFree_v2(freed));
  CUstream stream = nullptr;
  WORKS(cuda.cuStreamCreate(&stream, 0));
  tell(kept);
}

RULE("the end of a process tells what it still had", TRACE) {
  CUdeviceptr kept = 0;
  {
    Peer other("leaks");
    kept = other.receive<CUdeviceptr>();
  }
  std::vector<std::string> lines = traceLines();
  char pointer[32];
  std::snprintf(pointer, sizeof pointer, "\"0x%llx\"", kept);
  GIVES(count(lines, {"\"type\":\"leak\"", "\"kind\":\"memory\"", "\"bytes\":1234", pointer}), 1);
  GIVES(count(lines, {"\"type\":\"leak\"", "\"kind\":\"stream\""}), 1);
  GIVES(count(lines, {"\"type\":\"end\"", "\"leaks\":2", "\"leakedBytes\":1234"}), 1);
}

RULE("a program that frees all has no leaks", TRACE) {
  {
    Peer other("copiesTwice", {"CUDA_SIMULATOR_FAULTS="});
    other.receive<int>();
    other.receive<int>();
  }
  GIVES(count(traceLines(), {"\"type\":\"end\"", "\"leaks\":1"}), 1);  // the one that it keeps
}
