// Where a batch has its work done: a stream of one device, and whether something on it hasn't been waited for.
#pragma once
#include <optional>
#include <vector>

#include "device.h"
#include "held.h"
#include "result.h"

namespace cuda_ipc {

class Queue {
 public:
  Queue(Contexts& contexts, Held& held, int ordinal, CUstream stream, CUevent event)
      : library(contexts.library()), contexts(contexts), held(held), ordinal(ordinal), stream(stream), event_(event) {}

  // Something was queued.
  void queued() { outstanding_ = true; }
  bool outstanding() const { return outstanding_; }
  // Waits for what was queued, if anything was. Throws a Failure, but only after nothing runs any more.
  void settle();

  // What comes now waits for what is on `stream` by now (stream.cc).
  void waitFor(uint64_t stream);

  const Library& library;
  Contexts& contexts;
  Held& held;
  const int ordinal;
  const CUstream stream;

 private:
  const CUevent event_;
  bool outstanding_ = false;
  std::vector<uint64_t> waitedFor_;
};

// memory.cc. Sizes are in bytes; all throw a Failure.
CUdeviceptr allocate(Queue& queue, size_t bytes, MemoryKind kind);
void release(Queue& queue, CUdeviceptr pointer);
void copy(Queue& queue, CUdeviceptr to, CUdeviceptr from, size_t bytes);
void copyRows(Queue& queue, CUdeviceptr to, size_t toPitch, CUdeviceptr from, size_t fromPitch, size_t width,
              size_t height);
void copyPeer(Queue& queue, CUdeviceptr to, int toDevice, CUdeviceptr from, int fromDevice, size_t bytes);
void copyFromHost(Queue& queue, CUdeviceptr to, const void* from, size_t bytes);
void copyToHost(Queue& queue, void* to, CUdeviceptr from, size_t bytes);
void fill(Queue& queue, CUdeviceptr pointer, unsigned char value, size_t bytes);
void memoryInfo(Queue& queue, uint64_t* words);
void addressRange(Queue& queue, CUdeviceptr pointer, uint64_t* words);
void attributes(Queue& queue, CUdeviceptr pointer, uint64_t* words);

// vmm.cc
size_t granularity(Queue& queue);
CUdeviceptr allocateVirtual(Queue& queue, size_t bytes, Allocation& allocation);
void releaseVirtual(const Library& library, CUdeviceptr pointer, Allocation& allocation, bool& ended);

// ipc.cc
void exportHandle(Queue& queue, CUdeviceptr pointer, uint64_t* words);
CUdeviceptr openHandle(Queue& queue, const uint64_t* words);
void closeHandle(Queue& queue, CUdeviceptr base);

// stream.cc
CUstream createStream(Queue& queue);
void destroyStream(Queue& queue, CUstream stream);
void synchronizeStream(Queue& queue, CUstream stream);
bool queryStream(Queue& queue, CUstream stream);
CUevent createEvent(Queue& queue);
void destroyEvent(Queue& queue, CUevent event);
void recordEvent(Queue& queue, CUevent event, CUstream stream);
void waitForEvent(Queue& queue, CUevent event);
void synchronizeEvent(Queue& queue, CUevent event);
bool queryEvent(Queue& queue, CUevent event);

}  // namespace cuda_ipc
