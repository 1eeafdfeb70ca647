// Streams and host functions. https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html,
// group__CUDA__EXEC.html (cuLaunchHostFunc)
#include "entry.h"

using namespace simulator;

namespace {

CUresult create(CUstream* handle, unsigned flags, int priority) {
  given(handle);
  Context& context = currentContext();
  require((flags & ~CU_STREAM_NON_BLOCKING) == 0, CUDA_ERROR_INVALID_VALUE);
  StreamKind kind = flags == CU_STREAM_NON_BLOCKING ? StreamKind::kNonBlocking : StreamKind::kBlocking;
  // "If priority is outside the numerical range ... it will automatically be clamped."
  auto stream = std::make_shared<Stream>(kind, flags, std::max(-5, std::min(0, priority)));
  process().schedule.open(context, stream);
  stream->handle = process().streams.add(stream);
  *handle = stream->handle;
  return CUDA_SUCCESS;
}

// The stream, and its context healthy.
std::shared_ptr<Stream> healthy(CUstream handle) {
  currentContext();
  return findStream(handle);
}

void checkContextOf(const Stream& stream) {
  if (auto context = stream.context.lock()) context->check();
}

}  // namespace

CUDA_SIMULATOR_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return call("cuStreamCreate", [&](Call&) { return create(stream, flags, 0); });
}

CUDA_SIMULATOR_EXPORT CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return call("cuStreamCreateWithPriority", [&](Call&) { return create(stream, flags, priority); });
}

CUDA_SIMULATOR_EXPORT CUresult cuStreamDestroy_v2(CUstream handle) {
  return call("cuStreamDestroy", [&](Call& call) {
    call.address("stream", handle);
    std::shared_ptr<Stream> stream = process().streams.take(handle);
    require(stream != nullptr, CUDA_ERROR_INVALID_HANDLE);
    // "In case the device is still doing work in the stream when cuStreamDestroy() is called, the function will return
    // immediately and the resources ... will be released automatically once the device has completed all work."
    process().schedule.close(stream);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuStreamQuery(CUstream handle) {
  return call("cuStreamQuery", [&](Call& call) {
    call.address("stream", handle);
    std::shared_ptr<Stream> stream = healthy(handle);
    if (!process().schedule.idle(stream)) return CUDA_ERROR_NOT_READY;
    checkContextOf(*stream);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuStreamSynchronize(CUstream handle) {
  return call("cuStreamSynchronize", [&](Call& call) {
    call.address("stream", handle);
    std::shared_ptr<Stream> stream = healthy(handle);
    process().schedule.waitForStream(stream);
    checkContextOf(*stream);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuStreamWaitEvent(CUstream handle, CUevent eventHandle, unsigned flags) {
  return call("cuStreamWaitEvent", [&](Call& call) {
    call.address("stream", handle);
    call.address("event", eventHandle);
    require(flags == 0, CUDA_ERROR_INVALID_VALUE);
    std::shared_ptr<Stream> stream = healthy(handle);
    std::shared_ptr<Event> event = process().events.find(eventHandle);
    require(event != nullptr, CUDA_ERROR_INVALID_HANDLE);
    event->makeWait(stream);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  return call("cuStreamGetFlags", [&](Call&) {
    given(flags) = healthy(handle)->flags;
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  return call("cuStreamGetPriority", [&](Call&) {
    given(priority) = healthy(handle)->priority;
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  return call("cuStreamGetCtx", [&](Call&) {
    given(context);
    std::shared_ptr<Context> found = healthy(handle)->context.lock();
    require(found != nullptr, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    *context = found->handle;
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* userData) {
  return call("cuLaunchHostFunc", [&](Call& call) {
    call.address("stream", handle);
    require(function != nullptr, CUDA_ERROR_INVALID_VALUE);
    std::shared_ptr<Stream> stream = healthy(handle);
    auto operation = std::make_shared<Operation>();
    // "The function will not be called in the event of an error in the CUDA context."
    operation->work = [=, failure = call.workFailure()]() -> CUresult {
      if (failure) return *failure;
      return runHostFunction([&] { function(userData); });
    };
    process().schedule.queue(stream, operation);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* userData,
                                                   unsigned flags) {
  return call("cuStreamAddCallback", [&](Call& call) {
    call.address("stream", handle);
    require(callback != nullptr && flags == 0, CUDA_ERROR_INVALID_VALUE);
    std::shared_ptr<Stream> stream = healthy(handle);
    std::weak_ptr<Context> weak = stream->context;
    auto operation = std::make_shared<Operation>();
    // "In the event of a device error, all subsequently executed callbacks will receive an appropriate CUresult."
    operation->evenAfterFailure = true;
    operation->work = [=] {
      std::shared_ptr<Context> context = weak.lock();
      int status = context ? context->error.load() : CUDA_SUCCESS;
      return runHostFunction([&] { callback(handle, status, userData); });
    };
    process().schedule.queue(stream, operation);
    return CUDA_SUCCESS;
  });
}
