// Devices. https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html, group__CUDA__PEER__ACCESS.html
#include <cstdio>
#include <cstring>

#include "entry.h"

using namespace simulator;

namespace {

struct Attribute {
  int number;
  int value;
};

// Numbers of CUdevice_attribute. The device is one of compute capability 8.0 with what the simulator has of it; an
// attribute that isn't here is CUDA_ERROR_INVALID_VALUE.
constexpr Attribute kAttributes[] = {
    {1, 1024},         // MAX_THREADS_PER_BLOCK
    {2, 1024},         // MAX_BLOCK_DIM_X
    {3, 1024},         // MAX_BLOCK_DIM_Y
    {4, 64},           // MAX_BLOCK_DIM_Z
    {5, 2147483647},   // MAX_GRID_DIM_X
    {6, 65535},        // MAX_GRID_DIM_Y
    {7, 65535},        // MAX_GRID_DIM_Z
    {8, 49152},        // MAX_SHARED_MEMORY_PER_BLOCK
    {9, 65536},        // TOTAL_CONSTANT_MEMORY
    {10, 32},          // WARP_SIZE
    {11, 2147483647},  // MAX_PITCH
    {13, 1410000},     // CLOCK_RATE
    {14, 512},         // TEXTURE_ALIGNMENT
    {15, 1},           // GPU_OVERLAP
    {16, 1},           // MULTIPROCESSOR_COUNT
    {17, 0},           // KERNEL_EXEC_TIMEOUT
    {18, 0},           // INTEGRATED
    {19, 1},           // CAN_MAP_HOST_MEMORY
    {20, 0},           // COMPUTE_MODE: default
    {31, 0},           // CONCURRENT_KERNELS: there are none
    {32, 0},           // ECC_ENABLED
    {33, 1},           // PCI_BUS_ID; one more for each device
    {34, 0},           // PCI_DEVICE_ID
    {35, 0},           // TCC_DRIVER
    {40, 1},           // ASYNC_ENGINE_COUNT
    {41, 1},           // UNIFIED_ADDRESSING
    {50, 0},           // PCI_DOMAIN_ID
    {75, 8},           // COMPUTE_CAPABILITY_MAJOR
    {76, 0},           // COMPUTE_CAPABILITY_MINOR
    {78, 1},           // STREAM_PRIORITIES_SUPPORTED
    {83, 0},           // MANAGED_MEMORY
    {84, 0},           // MULTI_GPU_BOARD
    {88, 0},           // PAGEABLE_MEMORY_ACCESS
    {89, 0},           // CONCURRENT_MANAGED_ACCESS
    {91, 1},           // CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
    {102, 1},          // VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    {103, 1},          // HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
    {104, 0},          // HANDLE_TYPE_WIN32_HANDLE_SUPPORTED
    {105, 0},          // HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED
    {115, 1},          // MEMORY_POOLS_SUPPORTED
    {116, 0},          // GPU_DIRECT_RDMA_SUPPORTED
    {119, 0},          // MEMPOOL_SUPPORTED_HANDLE_TYPES: a pool can't be shared
    {122, 1},          // IPC_EVENT_SUPPORTED
    {128, 0},          // HANDLE_TYPE_FABRIC_SUPPORTED
    {132, 0},          // MULTICAST_SUPPORTED
};

constexpr int kPciBusId = 33;

CUresult uuidOf(CUuuid* uuid, CUdevice device) {
  given(uuid) = process().device(device).uuid;
  return CUDA_SUCCESS;
}

bool peers(CUdevice one, CUdevice other) { return one != other && config().peers; }

}  // namespace

CUDA_SIMULATOR_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return call("cuDeviceGet", [&](Call&) {
    given(device);
    process().device(ordinal);
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuDeviceGetCount(int* count) {
  return call("cuDeviceGetCount", [&](Call&) {
    given(count) = static_cast<int>(process().devices().size());
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return call("cuDeviceGetName", [&](Call&) {
    require(name != nullptr && length > 0, CUDA_ERROR_INVALID_VALUE);
    process().device(device);
    std::snprintf(name, static_cast<size_t>(length), "CUDA Simulator");
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return call("cuDeviceGetUuid", [&](Call&) { return uuidOf(uuid, device); });
}

CUDA_SIMULATOR_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return call("cuDeviceGetUuid", [&](Call&) { return uuidOf(uuid, device); });
}

CUDA_SIMULATOR_EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return call("cuDeviceTotalMem", [&](Call&) {
    given(bytes);
    process().device(device);
    *bytes = process().machine().memory();
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
  return call("cuDeviceGetAttribute", [&](Call&) {
    given(value);
    int index = process().device(device).index;
    for (const Attribute& known : kAttributes) {
      if (known.number != attribute) continue;
      *value = known.value + (attribute == kPciBusId ? index : 0);
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  return call("cuDeviceGetPCIBusId", [&](Call&) {
    require(text != nullptr && length > 0, CUDA_ERROR_INVALID_VALUE);
    std::snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", 1 + process().device(device).index);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return call("cuDeviceCanAccessPeer", [&](Call&) {
    given(can);
    process().device(device);
    process().device(peer);
    *can = peers(device, peer) ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  return call("cuCtxEnablePeerAccess", [&](Call&) {
    Context& context = currentContext();
    require(flags == 0, CUDA_ERROR_INVALID_VALUE);
    std::shared_ptr<Context> other = findContext(peer);
    require(other.get() != &context, CUDA_ERROR_INVALID_CONTEXT);
    require(peers(context.device, other->device), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    require(context.enablePeer(peer), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    return CUDA_SUCCESS;
  });
}

CUDA_SIMULATOR_EXPORT CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  return call("cuCtxDisablePeerAccess", [&](Call&) {
    Context& context = currentContext();
    require(context.disablePeer(peer), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    return CUDA_SUCCESS;
  });
}
