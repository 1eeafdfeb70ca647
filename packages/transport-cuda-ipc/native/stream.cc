// Streams, events, and waiting for them.
#include <algorithm>

#include "queue.h"

namespace cuda_ipc {

void Queue::settle() {
  if (!outstanding_) return;
  outstanding_ = false;
  CUresult result = library.cuStreamSynchronize(stream);
  if (result == CUDA_SUCCESS) return;
  // Whether the work has ended isn't certain now, and what it uses is about to be freed. This waits for it, or fails
  // because the context has failed, in which nothing runs any more.
  library.cuCtxSynchronize();
  throw Failure{result, library.cuStreamSynchronize.name};
}

void Queue::waitFor(uint64_t producer) {
  if (std::find(waitedFor_.begin(), waitedFor_.end(), producer) != waitedFor_.end()) return;
  if (producer == CU_STREAM_PER_THREAD) {
    // Here that handle would name the default stream of this native thread. Whose was meant isn't known, so everything
    // on the device is waited for.
    call(library.cuCtxSynchronize);
    outstanding_ = false;
  } else {
    call(library.cuEventRecord, event_, reinterpret_cast<CUstream>(producer));
    call(library.cuStreamWaitEvent, stream, event_, 0u);
    queued();
  }
  waitedFor_.push_back(producer);
}

CUstream createStream(Queue& queue) {
  CUstream stream = nullptr;
  call(queue.library.cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  queue.held.streams.add(stream, {queue.ordinal});
  return stream;
}

void destroyStream(Queue& queue, CUstream stream) {
  std::optional<Handle> handle = queue.held.streams.take(stream, queue.ordinal);
  if (!handle) {
    throw Failure{CUDA_ERROR_INVALID_VALUE, queue.library.cuStreamDestroy.name,
                  "this is no stream of this device and thread"};
  }
  try {
    call(queue.library.cuStreamDestroy, stream);
  } catch (const Failure&) {
    queue.held.streams.add(stream, *handle);
    throw;
  }
}

void synchronizeStream(Queue& queue, CUstream stream) { call(queue.library.cuStreamSynchronize, stream); }

bool queryStream(Queue& queue, CUstream stream) {
  CUresult result = queue.library.cuStreamQuery(stream);
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY) throw Failure{result, queue.library.cuStreamQuery.name};
  return result == CUDA_SUCCESS;
}

CUevent createEvent(Queue& queue) {
  CUevent event = nullptr;
  call(queue.library.cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  queue.held.events.add(event, {queue.ordinal});
  return event;
}

void destroyEvent(Queue& queue, CUevent event) {
  std::optional<Handle> handle = queue.held.events.take(event, queue.ordinal);
  if (!handle) {
    throw Failure{CUDA_ERROR_INVALID_VALUE, queue.library.cuEventDestroy.name,
                  "this is no event of this device and thread"};
  }
  try {
    call(queue.library.cuEventDestroy, event);
  } catch (const Failure&) {
    queue.held.events.add(event, *handle);
    throw;
  }
}

void recordEvent(Queue& queue, CUevent event, CUstream stream) {
  call(queue.library.cuEventRecord, event, stream == nullptr ? queue.stream : stream);
}

void waitForEvent(Queue& queue, CUevent event) {
  call(queue.library.cuStreamWaitEvent, queue.stream, event, 0u);
  queue.queued();
}

void synchronizeEvent(Queue& queue, CUevent event) { call(queue.library.cuEventSynchronize, event); }

bool queryEvent(Queue& queue, CUevent event) {
  CUresult result = queue.library.cuEventQuery(event);
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY) throw Failure{result, queue.library.cuEventQuery.name};
  return result == CUDA_SUCCESS;
}

}  // namespace cuda_ipc
