// Events. https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html
#include "entry.h"

using namespace simulator;

namespace {

std::shared_ptr<Event> find(CUevent handle) {
  std::shared_ptr<Event> event = process().events.find(handle);
  require(event != nullptr, CUDA_ERROR_INVALID_HANDLE);
  return event;
}

void checkContextOf(const Event& event) {
  if (auto context = event.context().lock()) context->check();
}

}  // namespace

CUDA_SIMULATOR_EXPORT CUresult cuEventCreate(CUevent* handle, unsigned flags) {
  return call("cuEventCreate", [&](Call&) {
    given(handle);
    std::shared_ptr<Event> event = Event::create(currentContext().shared_from_this(), flags);
    event->handle = process().events.add(event);
    *handle = event->handle;
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuEventDestroy_v2(CUevent handle) {
  return call("cuEventDestroy", [&](Call& call) {
    call.address("event", handle);
    require(process().events.take(handle) != nullptr, CUDA_ERROR_INVALID_HANDLE);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuEventRecord(CUevent handle, CUstream streamHandle) {
  return call("cuEventRecord", [&](Call& call) {
    call.address("event", handle);
    call.address("stream", streamHandle);
    currentContext();
    std::shared_ptr<Event> event = find(handle);
    std::shared_ptr<Stream> stream = findStream(streamHandle);
    // "The call will fail if hEvent and hStream are from different contexts."
    require(event->context().lock() == stream->context.lock(), CUDA_ERROR_INVALID_HANDLE);
    event->record(stream, call.workFailure());
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuEventQuery(CUevent handle) {
  return call("cuEventQuery", [&](Call& call) {
    call.address("event", handle);
    std::shared_ptr<Event> event = find(handle);
    checkContextOf(*event);
    if (!event->complete()) return CUDA_ERROR_NOT_READY;
    checkContextOf(*event);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuEventSynchronize(CUevent handle) {
  return call("cuEventSynchronize", [&](Call& call) {
    call.address("event", handle);
    std::shared_ptr<Event> event = find(handle);
    checkContextOf(*event);
    event->wait();
    checkContextOf(*event);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return call("cuEventElapsedTime", [&](Call&) {
    given(milliseconds) = Event::elapsed(*find(start), *find(end));
    return CUDA_SUCCESS;
  });
}
