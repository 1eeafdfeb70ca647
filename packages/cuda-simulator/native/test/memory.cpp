// Memory, copies, sets, pointers, page-locked memory, devices, peers.
#include <cstring>

#include "rules.h"

using namespace rules;

constexpr size_t kMiB = 1 << 20;

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html");

RULE("a device pointer is no host pointer") {
  start();
  CUdeviceptr pointer = allocate(100);
  HOLDS(faults(pointer));
  HOLDS(faults(pointer + 99));
  if (!simulated()) return;  // other drivers may find out what a pointer is
  char host = 0;
  GIVES(cuda.cuMemcpyHtoD_v2(pointer, reinterpret_cast<void*>(pointer), 1), CUDA_ERROR_INVALID_VALUE);
  GIVES(cuda.cuMemcpyDtoH_v2(&host, reinterpret_cast<uint64_t>(&host), 1), CUDA_ERROR_INVALID_VALUE);
}

RULE("allocations are aligned, apart, and not of nothing") {
  start();
  CUdeviceptr first = allocate(1), second = allocate(1);
  unsigned alignment = simulated() ? 512 : 256;  // "at least 256 bytes", the programming guide says
  GIVES(first % alignment, 0u);
  GIVES(second % alignment, 0u);
  HOLDS(first + 1 != second);
  CUdeviceptr none = 7;
  GIVES(cuda.cuMemAlloc_v2(&none, 0), CUDA_ERROR_INVALID_VALUE);
  GIVES(cuda.cuMemAlloc_v2(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
}

RULE("fresh memory isn't zeros", STRICTER("\"the memory is not cleared\"")) {
  start();
  HOLDS(all(read(allocate(5000), 5000), 0xCD));
}

RULE("a device has the memory that it was given, and no more", "CUDA_SIMULATOR_MEMORY=8MiB") {
  start();
  size_t free = 0, total = 0;
  WORKS(cuda.cuMemGetInfo_v2(&free, &total));
  GIVES(total, 8 * kMiB);
  GIVES(free, 8 * kMiB);
  size_t ofDevice = 0;
  WORKS(cuda.cuDeviceTotalMem_v2(&ofDevice, 0));
  GIVES(ofDevice, total);
  CUdeviceptr most = allocate(6 * kMiB), more = 0;
  GIVES(cuda.cuMemAlloc_v2(&more, 3 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
  GIVES(cuda.cuMemAlloc_v2(&more, ~size_t{0}), CUDA_ERROR_OUT_OF_MEMORY);
  WORKS(cuda.cuMemGetInfo_v2(&free, &total));
  GIVES(free, 2 * kMiB);
  WORKS(cuda.cuMemFree_v2(most));
  WORKS(cuda.cuMemFree_v2(allocate(8 * kMiB)));
}

ROLE(takesMemory) {
  start();
  allocate(6 * kMiB);
  tell(1);
  hear<int>();
}

RULE("processes share a device's memory", "CUDA_SIMULATOR_MEMORY=8MiB") {
  start();
  CUdeviceptr pointer = 0;
  {
    Peer other("takesMemory");
    other.receive<int>();
    GIVES(cuda.cuMemAlloc_v2(&pointer, 3 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
  }
  WORKS(cuda.cuMemAlloc_v2(&pointer, 3 * kMiB));
}

RULE("only the start of an allocation can be freed, and once") {
  start();
  CUdeviceptr pointer = allocate(1000);
  GIVES(cuda.cuMemFree_v2(pointer + 512), CUDA_ERROR_INVALID_VALUE);
  fill(pointer, 1, 1000);  // it is all still there
  HOLDS(all(read(pointer, 1000), 1));
  WORKS(cuda.cuMemFree_v2(pointer));
  GIVES(cuda.cuMemFree_v2(pointer), CUDA_ERROR_INVALID_VALUE);
  GIVES(cuda.cuMemFree_v2(0x1234), CUDA_ERROR_INVALID_VALUE);
  WORKS(cuda.cuMemFree_v2(0));
}

RULE("a copy must stay within one allocation", STRICTER("a GPU knows whole pages")) {
  start();
  CUdeviceptr pointer = allocate(100), other = allocate(5000);
  char host[6000] = {};
  GIVES(cuda.cuMemcpyHtoD_v2(pointer, host, 101), CUDA_ERROR_INVALID_VALUE);
  GIVES(cuda.cuMemcpyDtoH_v2(host, pointer + 50, 51), CUDA_ERROR_INVALID_VALUE);
  GIVES(cuda.cuMemcpyDtoD_v2(other, pointer, 101), CUDA_ERROR_INVALID_VALUE);
  GIVES(cuda.cuMemsetD8_v2(pointer + 99, 0, 2), CUDA_ERROR_INVALID_VALUE);
  GIVES(cuda.cuMemcpyDtoHAsync_v2(host, pointer, 101, nullptr), CUDA_ERROR_INVALID_VALUE);
  GIVES(cuda.cuMemcpyDtoH_v2(host, pointer + 100, 1), CUDA_ERROR_INVALID_VALUE);
  WORKS(cuda.cuMemcpyDtoH_v2(host, pointer + 50, 50));
  WORKS(cuda.cuMemcpyDtoH_v2(host, pointer, 0));
}

RULE("bytes come back as they went") {
  start();
  std::vector<unsigned char> bytes(300000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 256);
  CUdeviceptr pointer = allocate(bytes.size()), copy = allocate(bytes.size());
  WORKS(cuda.cuMemcpyHtoD_v2(pointer, bytes.data(), bytes.size()));
  HOLDS(read(pointer, bytes.size()) == bytes);
  WORKS(cuda.cuMemcpyDtoD_v2(copy, pointer, bytes.size()));
  HOLDS(read(copy, bytes.size()) == bytes);
  HOLDS(read(copy + 1000, 10) == std::vector<unsigned char>(bytes.begin() + 1000, bytes.begin() + 1010));
  std::vector<unsigned char> back(bytes.size());
  WORKS(cuda.cuMemcpy(reinterpret_cast<uint64_t>(back.data()), copy, back.size()));
  HOLDS(back == bytes);
}

RULE("sets write units, aligned") {
  start();
  CUdeviceptr pointer = allocate(64);
  WORKS(cuda.cuMemsetD8_v2(pointer, 0x11, 64));
  WORKS(cuda.cuMemsetD16_v2(pointer + 2, 0x2233, 1));
  WORKS(cuda.cuMemsetD32_v2(pointer + 8, 0x44556677, 2));
  std::vector<unsigned char> bytes = read(pointer, 20);
  std::vector<unsigned char> expected = {0x11, 0x11, 0x33, 0x22, 0x11, 0x11, 0x11, 0x11, 0x77, 0x66,
                                         0x55, 0x44, 0x77, 0x66, 0x55, 0x44, 0x11, 0x11, 0x11, 0x11};
  HOLDS(bytes == expected);
  GIVES(cuda.cuMemsetD32_v2(pointer + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
  GIVES(cuda.cuMemsetD16_v2(pointer + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
  GIVES(cuda.cuMemsetD32_v2(pointer, 0, ~size_t{0} / 2), CUDA_ERROR_INVALID_VALUE);
}

RULE("copies in two dimensions keep to their pitches") {
  start();
  CUdeviceptr pointer = 0;
  size_t pitch = 0;
  WORKS(cuda.cuMemAllocPitch_v2(&pointer, &pitch, 10, 3, 4));
  GIVES(pitch % 512, 0u);
  unsigned char host[3][16];
  for (int i = 0; i < 48; ++i) host[i / 16][i % 16] = static_cast<unsigned char>(i);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host;
  copy.srcPitch = 16;
  copy.srcXInBytes = 2;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = pointer;
  copy.dstPitch = pitch;
  copy.WidthInBytes = 10;
  copy.Height = 3;
  WORKS(cuda.cuMemcpy2D_v2(&copy));
  WORKS(cuda.cuCtxSynchronize());
  for (unsigned row = 0; row < 3; ++row) {
    std::vector<unsigned char> bytes = read(pointer + row * pitch, 10);
    HOLDS(std::memcmp(bytes.data(), host[row] + 2, 10) == 0);
  }
  copy.Height = 4;
  if (simulated()) GIVES(cuda.cuMemcpy2D_v2(&copy), CUDA_ERROR_INVALID_VALUE);
}

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__UNIFIED.html");

RULE("pointers know what they are") {
  CUcontext context = start();
  CUdeviceptr pointer = allocate(1000), base = 0;
  size_t size = 0;
  WORKS(cuda.cuMemGetAddressRange_v2(&base, &size, pointer + 999));
  GIVES(base, pointer);
  HOLDS(simulated() ? size == 1000 : size >= 1000);
  if (simulated()) GIVES(cuda.cuMemGetAddressRange_v2(&base, &size, pointer + 1000), CUDA_ERROR_INVALID_VALUE);
  unsigned type = 0, legacy = 0;
  int device = -1;
  CUcontext owner = nullptr;
  WORKS(cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer + 5));
  GIVES(type, 2u);
  WORKS(cuda.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer));
  GIVES(device, 0);
  WORKS(cuda.cuPointerGetAttribute(&legacy, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, pointer));
  GIVES(legacy, 1u);
  WORKS(cuda.cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, pointer));
  GIVES(owner, context);
  CUdeviceptr start = 0;
  WORKS(cuda.cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, pointer + 5));
  GIVES(start, pointer);
  int local = 0;
  auto host = reinterpret_cast<uint64_t>(&local);
  GIVES(cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host), CUDA_ERROR_INVALID_VALUE);
  CUpointer_attribute both[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void* data[] = {&type, &size};
  WORKS(cuda.cuPointerGetAttributes(2, both, data, host));  // "will not return an error"
  GIVES(type, 0u);
  WORKS(cuda.cuPointerGetAttributes(2, both, data, pointer));
  HOLDS(simulated() ? size == 1000 : size >= 1000);
}

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html");

RULE("page-locked memory is known to the driver") {
  start();
  void* pinned = nullptr;
  WORKS(cuda.cuMemHostAlloc(&pinned, 1000, CU_MEMHOSTALLOC_DEVICEMAP));
  std::memset(pinned, 1, 1000);
  unsigned type = 0;
  WORKS(cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<uint64_t>(pinned) + 9));
  GIVES(type, 1u);
  CUdeviceptr device = 0;
  WORKS(cuda.cuMemHostGetDevicePointer_v2(&device, pinned, 0));
  HOLDS(all(read(device, 1000), 1));
  GIVES(cuda.cuMemHostUnregister(pinned), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  WORKS(cuda.cuMemFreeHost(pinned));
  GIVES(cuda.cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
  std::vector<char> own(10000);
  WORKS(cuda.cuMemHostRegister_v2(own.data(), own.size(), 0));
  GIVES(cuda.cuMemHostRegister_v2(own.data() + 100, 10, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  GIVES(cuda.cuMemFreeHost(own.data()), CUDA_ERROR_INVALID_VALUE);
  WORKS(cuda.cuMemHostUnregister(own.data()));
}

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html");

RULE("devices have attributes, names and UUIDs of their own", DEVICES(2)) {
  WORKS(cuda.cuInit(0));
  int devices = 0, value = 0;
  WORKS(cuda.cuDeviceGetCount(&devices));
  HOLDS(simulated() ? devices == 2 : devices >= 2);
  CUuuid one{}, other{};
  WORKS(cuda.cuDeviceGetUuid_v2(&one, 0));
  WORKS(cuda.cuDeviceGetUuid_v2(&other, 1));
  HOLDS(std::memcmp(&one, &other, 16) != 0);
  GIVES(cuda.cuDeviceGetUuid_v2(&one, devices), CUDA_ERROR_INVALID_DEVICE);
  CUdevice device = 0;
  GIVES(cuda.cuDeviceGet(&device, devices), CUDA_ERROR_INVALID_DEVICE);
  for (int attribute : {41, 102, 103, 115, 122}) {  // unified addressing, virtual memory and its descriptors, pools, events
    WORKS(cuda.cuDeviceGetAttribute(&value, attribute, 0));
    GIVES(value, 1);
  }
  GIVES(cuda.cuDeviceGetAttribute(&value, 99999, 0), CUDA_ERROR_INVALID_VALUE);
  char name[64] = {};
  WORKS(cuda.cuDeviceGetName(name, sizeof name, 1));
  HOLDS(std::strlen(name) > 0);
  WORKS(cuda.cuDeviceCanAccessPeer(&value, 0, 1));
  if (simulated()) GIVES(value, 0);
}

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html");

RULE("memory is its device's", DEVICES(2)) {
  start(0);
  CUdeviceptr onFirst = allocate(1 << 16);
  fill(onFirst, 9, 1 << 16);
  start(1);
  size_t free = 0, total = 0;
  WORKS(cuda.cuMemGetInfo_v2(&free, &total));
  if (simulated()) GIVES(free, total);
  int device = -1;
  CUdeviceptr onSecond = allocate(1 << 16);
  WORKS(cuda.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, onSecond));
  GIVES(device, 1);
  WORKS(cuda.cuMemcpyDtoD_v2(onSecond, onFirst, 1 << 16));  // through the host, where they aren't peers
  HOLDS(all(read(onSecond, 1 << 16), 9));
}

PAGE("https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PEER__ACCESS.html");

RULE("peers are peers only if the machine says so", DEVICES(2), "CUDA_SIMULATOR_PEERS=1") {
  CUcontext first = start(0), second = start(1);
  int can = 0;
  WORKS(cuda.cuDeviceCanAccessPeer(&can, 0, 1));
  GIVES(can, 1);
  WORKS(cuda.cuCtxEnablePeerAccess(first, 0));
  GIVES(cuda.cuCtxEnablePeerAccess(first, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  WORKS(cuda.cuCtxDisablePeerAccess(first));
  GIVES(cuda.cuCtxDisablePeerAccess(first), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  GIVES(cuda.cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_INVALID_CONTEXT);
}
