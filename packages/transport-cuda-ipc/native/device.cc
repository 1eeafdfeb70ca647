#include "device.h"

#include <array>
#include <cstring>

#include "held.h"
#include "result.h"

namespace cuda_ipc {

namespace {

std::string uuidText(const CUuuid& uuid) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits[uuid.bytes[i] >> 4];
    text += digits[uuid.bytes[i] & 15];
  }
  return text;
}

DeviceInfo infoOf(const Library& library, int ordinal) {
  DeviceInfo info{};
  info.ordinal = ordinal;
  CUdevice device = 0;
  call(library.cuDeviceGet, &device, ordinal);
  std::array<char, 256> name{};
  call(library.cuDeviceGetName, name.data(), static_cast<int>(name.size() - 1), device);
  info.name = name.data();
  CUuuid uuid{}, whole{};
  call(library.cuDeviceGetUuid_v2, &uuid, device);
  info.uuid = uuidText(uuid);
  // "If the device is in MIG mode, returns its MIG UUID" (cuDeviceGetUuid_v2), while the first version gives the GPU's.
  call(library.cuDeviceGetUuid, &whole, device);
  info.mig = std::memcmp(&uuid, &whole, sizeof uuid) != 0;
  call(library.cuDeviceTotalMem, &info.totalMemory, device);
  std::array<char, 64> bus{};
  call(library.cuDeviceGetPCIBusId, bus.data(), static_cast<int>(bus.size() - 1), device);
  info.pciBusId = bus.data();
  call(library.cuDeviceGetAttribute, &info.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  call(library.cuDeviceGetAttribute, &info.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  int supported = 0;
  call(library.cuDeviceGetAttribute, &supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device);
  info.virtualMemory = supported != 0;
  call(library.cuDeviceGetAttribute, &supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device);
  info.memoryPools = supported != 0;
  return info;
}

}  // namespace

std::vector<DeviceInfo> devicesOf(const Library& library) {
  int count = 0;
  call(library.cuDeviceGetCount, &count);
  std::vector<DeviceInfo> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) devices.push_back(infoOf(library, ordinal));
  return devices;
}

CUcontext Contexts::of(int ordinal) {
  std::lock_guard lock(mutex_);
  auto found = retained_.find(ordinal);
  if (found != retained_.end()) return found->second;
  CUdevice device = 0;
  call(library_.cuDeviceGet, &device, ordinal);
  CUcontext context = nullptr;
  call(library_.cuDevicePrimaryCtxRetain, &context, device);
  retained_.emplace(ordinal, context);
  return context;
}

void Contexts::releaseUnused(const Held& held) {
  std::lock_guard lock(mutex_);
  for (auto entry = retained_.begin(); entry != retained_.end();) {
    CUdevice device = 0;
    bool unused = !held.any(entry->first) && library_.cuDeviceGet(&device, entry->first) == CUDA_SUCCESS;
    // Its result says nothing that could be acted on: the environment ends.
    if (unused) library_.cuDevicePrimaryCtxRelease(device);
    entry = unused ? retained_.erase(entry) : std::next(entry);
  }
}

CurrentContext::CurrentContext(const Library& library, CUcontext context) : library_(library) {
  call(library.cuCtxPushCurrent, context);
}

CurrentContext::~CurrentContext() {
  CUcontext popped = nullptr;
  library_.cuCtxPopCurrent(&popped);  // fails only if nothing is current, which is what it is for
}

OwnStream::OwnStream(Contexts& contexts, int ordinal) : library_(contexts.library()), context_(contexts.of(ordinal)) {
  CurrentContext current(library_, context_);
  call(library_.cuStreamCreate, &stream_, CU_STREAM_NON_BLOCKING);
  CUresult result = library_.cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING);
  if (result == CUDA_SUCCESS) return;
  library_.cuStreamDestroy(stream_);
  throw Failure{result, library_.cuEventCreate.name};
}

OwnStream::~OwnStream() {
  // Without a current context there is none that these could still be in.
  if (library_.cuCtxPushCurrent(context_) != CUDA_SUCCESS) return;
  // There is no one who could be told of a failure; the context takes along what is left.
  library_.cuEventDestroy(event_);
  library_.cuStreamDestroy(stream_);
  CUcontext popped = nullptr;
  library_.cuCtxPopCurrent(&popped);
}

}  // namespace cuda_ipc
