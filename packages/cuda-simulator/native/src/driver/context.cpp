// Contexts. https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html, group__CUDA__PRIMARY__CTX.html
#include "entry.h"

using namespace simulator;

namespace {

constexpr unsigned kApiVersion = 3020;  // of every context that cuCtxCreate_v2 makes

CUresult create(CUcontext* context, unsigned flags, CUdevice device) {
  given(context);
  require((flags & ~CU_CTX_FLAGS_MASK) == 0, CUDA_ERROR_INVALID_VALUE);
  process().device(device);
  std::shared_ptr<Context> created = Context::create(device, flags, false);
  contextStack().push_back(created);
  *context = created->handle;
  return CUDA_SUCCESS;
}

}  // namespace

CUDA_SIMULATOR_EXPORT CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  return call("cuCtxCreate", [&](Call&) { return create(context, flags, device); });
}

CUDA_SIMULATOR_EXPORT CUresult cuCtxDestroy_v2(CUcontext handle) {
  return call("cuCtxDestroy", [&](Call& call) {
    call.address("context", handle);
    std::shared_ptr<Context> context = findContext(handle);
    require(!context->primary, CUDA_ERROR_INVALID_CONTEXT);  // those are released
    context->destroy();
    // "If ctx is current to the calling thread then ctx will also be popped from the current thread's context stack."
    auto& stack = contextStack();
    if (!stack.empty() && stack.back() == context) stack.pop_back();
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  return call("cuCtxPushCurrent", [&](Call& call) {
    call.address("context", handle);
    contextStack().push_back(findContext(handle));
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* handle) {
  return call("cuCtxPopCurrent", [&](Call&) {
    auto& stack = contextStack();
    require(!stack.empty(), CUDA_ERROR_INVALID_CONTEXT);
    if (handle != nullptr) *handle = stack.back()->handle;
    stack.pop_back();
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuCtxSetCurrent(CUcontext handle) {
  return call("cuCtxSetCurrent", [&](Call& call) {
    call.address("context", handle);
    auto& stack = contextStack();
    std::shared_ptr<Context> context = handle == nullptr ? nullptr : findContext(handle);
    // "This will replace the top of that stack ... If ctx is NULL then this will be equivalent to popping the top."
    if (!stack.empty()) stack.pop_back();
    if (context) stack.push_back(std::move(context));
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuCtxGetCurrent(CUcontext* handle) {
  return call("cuCtxGetCurrent", [&](Call&) {
    auto& stack = contextStack();
    given(handle) = stack.empty() ? nullptr : stack.back()->handle;
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuCtxGetDevice(CUdevice* device) {
  return call("cuCtxGetDevice", [&](Call&) {
    auto& stack = contextStack();
    require(!stack.empty(), CUDA_ERROR_INVALID_CONTEXT);
    require(!stack.back()->destroyed.load(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    given(device) = stack.back()->device;
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuCtxSynchronize() {
  return call("cuCtxSynchronize", [&](Call&) {
    Context& context = currentContext();
    process().schedule.waitForContext(context);
    context.check();
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuCtxGetFlags(unsigned* flags) {
  return call("cuCtxGetFlags", [&](Call&) {
    given(flags) = currentContext().flags;
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuCtxGetApiVersion(CUcontext handle, unsigned* version) {
  return call("cuCtxGetApiVersion", [&](Call&) {
    given(version);
    if (handle == nullptr) currentContext();
    else findContext(handle);
    *version = kApiVersion;
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return call("cuCtxGetStreamPriorityRange", [&](Call&) {
    currentContext();
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* handle, CUdevice device) {
  return call("cuDevicePrimaryCtxRetain", [&](Call&) {
    given(handle);
    process().device(device);
    *handle = process().primaries.retain(device)->handle;
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return call("cuDevicePrimaryCtxRelease", [&](Call&) {
    process().device(device);
    process().primaries.release(device);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return call("cuDevicePrimaryCtxReset", [&](Call&) {
    process().device(device);
    process().primaries.reset(device);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return call("cuDevicePrimaryCtxGetState", [&](Call&) {
    process().device(device);
    bool isActive = false;
    process().primaries.state(device, given(flags), isActive);
    given(active) = isActive ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  return call("cuDevicePrimaryCtxSetFlags", [&](Call&) {
    process().device(device);
    require((flags & ~CU_CTX_FLAGS_MASK) == 0, CUDA_ERROR_INVALID_VALUE);
    process().primaries.setFlags(device, flags);
    return CUDA_SUCCESS;
  });
}
