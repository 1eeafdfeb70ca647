// Memory and events between processes. https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html (cuIpc…)
#include "../ipc_handle.h"

#include "entry.h"

using namespace simulator;

namespace {

// One opening at a time, so that two threads that open the same handle get one mapping.
std::mutex& openingMutex() {
  static std::mutex mutex;  // trivially destructible on Linux, and so usable to the end
  return mutex;
}

// The mapping that this process has of an allocation, in whichever context.
std::shared_ptr<Range> mappingOf(uint64_t id) {
  for (const std::shared_ptr<Range>& range : process().addresses.all()) {
    if (range->openings > 0 && range->storage->name().id == id) return range;
  }
  return nullptr;
}

std::shared_ptr<Range> open(Context& context, const SharedName& name) {
  Machine& machine = process().machine();
  std::lock_guard lock(openingMutex());
  std::shared_ptr<Range> mapping = mappingOf(name.id);
  std::optional<Machine::Found> found = machine.map(name);
  require(found.has_value(), CUDA_ERROR_INVALID_VALUE);
  require(!found->own, CUDA_ERROR_INVALID_CONTEXT);
  if (mapping) {
    machine.unmap(name);  // it is mapped already, and counted once
    // "Handles from each device in a given process may only be opened by one context per device per other process."
    require(mapping->context.lock().get() == &context, CUDA_ERROR_INVALID_CONTEXT);
    ++mapping->openings;
    return mapping;
  }
  std::shared_ptr<Storage> storage;
  try {
    int device = process().ordinal(found->device);
    require(device >= 0, CUDA_ERROR_INVALID_VALUE);
    // From another device only if the two are peers, as cuCtxEnablePeerAccess would say.
    require(device == context.device || config().peers, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    storage = Storage::adopt(machine, *found);
  } catch (const Failure&) {
    machine.unmap(name);
    throw;
  }
  mapping = std::make_shared<Range>();
  mapping->size = storage->size();
  mapping->reservation = std::make_shared<Reservation>(storage->size());
  mapping->base = mapping->reservation->base();
  mapping->device = process().ordinal(storage->device());
  mapping->storage = std::move(storage);
  mapping->context = context.weak_from_this();
  mapping->contextHandle = context.handle;
  mapping->openings = 1;
  process().addresses.add(mapping);
  return mapping;
}

}  // namespace

CUDA_SIMULATOR_EXPORT CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr pointer) {
  return call("cuIpcGetMemHandle", [&](Call& call) {
    call.address("pointer", pointer);
    given(handle);
    currentContext();
    std::shared_ptr<Range> range = process().addresses.find(pointer);
    // Only memory of cuMemAlloc has one: not virtual memory, not a pool's, not what is itself opened from a handle.
    bool has = range != nullptr && range->storage->kind() == MemoryKind::kPlain && !range->storage->imported();
    require(has, CUDA_ERROR_INVALID_VALUE);
    call.bytes(range->size);
    writeHandle(handle->reserved, Shares::kMemory, process().machine(), range->storage->name());
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned flags) {
  return call("cuIpcOpenMemHandle", [&](Call& call) {
    given(pointer);
    Context& context = currentContext();
    // "Flags for this operation. Must be specified as CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS."
    require(flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, CUDA_ERROR_INVALID_VALUE);
    SharedName name = readHandle(handle.reserved, Shares::kMemory, process().machine(), CUDA_ERROR_INVALID_VALUE);
    std::shared_ptr<Range> mapping = open(context, name);
    *pointer = mapping->base;
    call.bytes(mapping->size);
    call.address("pointer", *pointer);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
  return call("cuIpcCloseMemHandle", [&](Call& call) {
    call.address("pointer", pointer);
    currentContext();
    std::lock_guard lock(openingMutex());
    std::shared_ptr<Range> mapping = process().addresses.find(pointer);
    bool closable = mapping != nullptr && mapping->openings > 0 && mapping->base == pointer;
    require(closable, CUDA_ERROR_INVALID_VALUE);
    if (--mapping->openings > 0) return CUDA_SUCCESS;
    mapping->storage->release(false);
    process().addresses.remove(pointer);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent eventHandle) {
  return call("cuIpcGetEventHandle", [&](Call& call) {
    call.address("event", eventHandle);
    given(handle);
    std::shared_ptr<Event> event = process().events.find(eventHandle);
    require(event != nullptr && event->shared().has_value() && !event->opened(), CUDA_ERROR_INVALID_HANDLE);
    writeHandle(handle->reserved, Shares::kEvent, process().machine(), *event->shared());
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuIpcOpenEventHandle(CUevent* eventHandle, CUipcEventHandle handle) {
  return call("cuIpcOpenEventHandle", [&](Call&) {
    given(eventHandle);
    Context& context = currentContext();
    SharedName name = readHandle(handle.reserved, Shares::kEvent, process().machine(), CUDA_ERROR_INVALID_HANDLE);
    std::shared_ptr<Event> event = Event::open(context.shared_from_this(), name);
    event->handle = process().events.add(event);
    *eventHandle = event->handle;
    return CUDA_SUCCESS;
  });
}
