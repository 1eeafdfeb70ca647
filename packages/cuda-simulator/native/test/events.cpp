// Events, also between processes.
#include <unistd.h>

#include <cstring>

#include "rules.h"

using namespace rules;

#define LAZY "CUDA_SIMULATOR_DELAY=lazy"

namespace {

constexpr unsigned kShared = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

CUevent makeEvent(unsigned flags = CU_EVENT_DEFAULT) {
  CUevent event = nullptr;
  WORKS(cuda.cuEventCreate(&event, flags));
  return event;
}

}  // namespace

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html");

RULE("an event is done when the work before it is", LAZY) {
  start();
  CUevent event = makeEvent();
  WORKS(cuda.cuEventQuery(event));  // never recorded
  WORKS(cuda.cuEventSynchronize(event));
  CUdeviceptr pointer = allocate(100);
  WORKS(cuda.cuMemsetD8_v2(pointer, 1, 100));
  WORKS(cuda.cuEventRecord(event, nullptr));
  GIVES(cuda.cuEventQuery(event), CUDA_ERROR_NOT_READY);
  WORKS(cuda.cuEventSynchronize(event));
  WORKS(cuda.cuEventQuery(event));
  WORKS(cuda.cuEventDestroy_v2(event));
  GIVES(cuda.cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
}

RULE("polling a lazy event gets on after a while", LAZY) {
  start();
  CUevent event = makeEvent();
  WORKS(cuda.cuEventRecord(event, nullptr));
  int polls = 0;
  while (cuda.cuEventQuery(event) == CUDA_ERROR_NOT_READY && polls < 1000) {
    ++polls;
    usleep(1000);
  }
  HOLDS(polls >= 2 && polls < 1000);
}

RULE("events measure time, unless told not to") {
  start();
  CUevent first = makeEvent(), second = makeEvent(), untimed = makeEvent(CU_EVENT_DISABLE_TIMING);
  float milliseconds = -1;
  GIVES(cuda.cuEventElapsedTime(&milliseconds, first, second), CUDA_ERROR_INVALID_HANDLE);  // not recorded
  WORKS(cuda.cuEventRecord(first, nullptr));
  WORKS(cuda.cuEventSynchronize(first));
  usleep(20000);
  WORKS(cuda.cuEventRecord(second, nullptr));
  WORKS(cuda.cuEventRecord(untimed, nullptr));
  WORKS(cuda.cuCtxSynchronize());
  WORKS(cuda.cuEventElapsedTime(&milliseconds, first, second));
  HOLDS(milliseconds >= 15 && milliseconds < 10000);
  GIVES(cuda.cuEventElapsedTime(&milliseconds, first, untimed), CUDA_ERROR_INVALID_HANDLE);
}

RULE("elapsed time isn't known before both are done", LAZY) {
  start();
  CUevent first = makeEvent(), second = makeEvent();
  WORKS(cuda.cuEventRecord(first, nullptr));
  WORKS(cuda.cuEventRecord(second, nullptr));
  float milliseconds = 0;
  GIVES(cuda.cuEventElapsedTime(&milliseconds, first, second), CUDA_ERROR_NOT_READY);
}

RULE("an event is recorded in its own context's streams only") {
  start();
  CUevent event = makeEvent();
  start();
  GIVES(cuda.cuEventRecord(event, nullptr), CUDA_ERROR_INVALID_HANDLE);
}

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html");

RULE("an interprocess event takes no times, and only such a one has a handle") {
  start();
  CUevent event = nullptr;
  GIVES(cuda.cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
  CUipcEventHandle handle{};
  GIVES(cuda.cuIpcGetEventHandle(&handle, makeEvent(CU_EVENT_DISABLE_TIMING)), CUDA_ERROR_INVALID_HANDLE);
  WORKS(cuda.cuIpcGetEventHandle(&handle, makeEvent(kShared)));
  GIVES(cuda.cuIpcOpenEventHandle(&event, handle), CUDA_ERROR_INVALID_CONTEXT);  // its own process
  if (!simulated()) return;  // what is in a handle is the driver's business
  handle.reserved[30] ^= 1;
  GIVES(cuda.cuIpcOpenEventHandle(&event, handle), CUDA_ERROR_INVALID_HANDLE);
}

ROLE(waitsForEvent) {
  start();
  auto memory = hear<CUipcMemHandle>();
  auto handle = hear<CUipcEventHandle>();
  CUdeviceptr pointer = 0;
  CUevent event = nullptr;
  WORKS(cuda.cuIpcOpenMemHandle_v2(&pointer, memory, 1));
  WORKS(cuda.cuIpcOpenEventHandle(&event, handle));
  GIVES(cuda.cuEventQuery(event), CUDA_ERROR_NOT_READY);
  HOLDS(all(read(pointer, 100), 0xCD));
  CUstream stream = nullptr;
  WORKS(cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  WORKS(cuda.cuStreamWaitEvent(stream, event, 0));
  std::vector<unsigned char> seen(100);
  WORKS(cuda.cuMemcpyDtoHAsync_v2(seen.data(), pointer, 100, stream));
  HOLDS(all(seen, 7));
  WORKS(cuda.cuEventSynchronize(event));
  WORKS(cuda.cuEventQuery(event));
  WORKS(cuda.cuEventDestroy_v2(event));
  WORKS(cuda.cuIpcCloseMemHandle(pointer));
  tell(1);
}

static void eventAcrossProcesses() {
  start();
  CUevent event = makeEvent(kShared);
  CUdeviceptr pointer = allocate(100);
  CUipcMemHandle memory{};
  CUipcEventHandle handle{};
  WORKS(cuda.cuIpcGetMemHandle(&memory, pointer));
  WORKS(cuda.cuIpcGetEventHandle(&handle, event));
  WORKS(cuda.cuMemsetD8_v2(pointer, 7, 100));
  WORKS(cuda.cuEventRecord(event, nullptr));
  Peer other("waitsForEvent");
  other.send(memory);
  other.send(handle);
  GIVES(other.receive<int>(), 1);
}

RULE("another process waits for an event, though nothing here waits", LAZY) { eventAcrossProcesses(); }
RULE("another process hurries on the work before an event", "CUDA_SIMULATOR_DELAY=60s") { eventAcrossProcesses(); }

ROLE(recordsAndDies) {
  start();
  CUevent event = makeEvent(kShared);
  CUipcEventHandle handle{};
  WORKS(cuda.cuIpcGetEventHandle(&handle, event));
  static int forever = 0;
  WORKS(cuda.cuLaunchHostFunc(nullptr, [](void*) { pause(); }, &forever));
  WORKS(cuda.cuEventRecord(event, nullptr));
  tell(handle);
  hear<int>();
}

RULE("no one waits forever for a process that died", STRICTER("what becomes of its events isn't documented")) {
  start();
  Peer other("recordsAndDies");
  auto handle = other.receive<CUipcEventHandle>();
  CUevent event = nullptr;
  WORKS(cuda.cuIpcOpenEventHandle(&event, handle));
  GIVES(cuda.cuEventQuery(event), CUDA_ERROR_NOT_READY);
  other.kill();
  WORKS(cuda.cuEventSynchronize(event));
}
